#ifndef SHORTLIST_CLI_FLAGS_FOREIGN_FLAGS_H_
#define SHORTLIST_CLI_FLAGS_FOREIGN_FLAGS_H_

namespace CLI {
class App;
}

namespace shortlist {

/// Adds flags of other servers (FastChat, SGLang, vLLM), hidden. Each raises a CLI::ValidationError
/// that names the alternative here.
void AnswerForeignFlags(CLI::App& command);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_FOREIGN_FLAGS_H_
