#ifndef SHORTLIST_CLI_FLAGS_SUGGEST_H_
#define SHORTLIST_CLI_FLAGS_SUGGEST_H_

#include <string>

namespace CLI {
class App;
}

namespace shortlist {

/// Explains the first argument that `app` did not expect, after parsing has failed: no such
/// subcommand or flag, and which one may have been meant. Empty if all arguments were expected.
std::string ExplainUnexpected(const CLI::App& app);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_SUGGEST_H_
