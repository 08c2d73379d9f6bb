#ifndef SHORTLIST_CLI_GENERATE_H_
#define SHORTLIST_CLI_GENERATE_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist generate`: continues the prompts, with the draft where there is one. Writes to `out`
/// nothing before all input is checked. Progress goes to stderr, and in the end tokens per second
/// of the decode steps and the accept length.
absl::Status Generate(const RunFlags& flags, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_GENERATE_H_
