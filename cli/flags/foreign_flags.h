#ifndef SHORTLIST_CLI_FLAGS_FOREIGN_FLAGS_H_
#define SHORTLIST_CLI_FLAGS_FOREIGN_FLAGS_H_

namespace CLI {
class App;
}

namespace shortlist {

/// Adds the flags of other servers (FastChat, SGLang, vLLM), hidden: each is a CLI::ValidationError
/// that says what to do here instead.
void AnswerForeignFlags(CLI::App& command);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_FOREIGN_FLAGS_H_
