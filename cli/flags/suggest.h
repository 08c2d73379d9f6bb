#ifndef SHORTLIST_CLI_FLAGS_SUGGEST_H_
#define SHORTLIST_CLI_FLAGS_SUGGEST_H_

#include <string>

namespace CLI {
class App;
}

namespace shortlist {

/// What to say of the first argument that `app` did not expect, once parsing has failed: that there
/// is no such subcommand or flag, and which one may have been meant. Empty where it expected them
/// all.
std::string ExplainUnexpected(const CLI::App& app);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_SUGGEST_H_
