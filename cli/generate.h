#ifndef SHORTLIST_CLI_GENERATE_H_
#define SHORTLIST_CLI_GENERATE_H_

#include <ostream>

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist generate`: continues the prompts, with the draft if there is one. Writes nothing to
/// `out` before all input is checked. Progress goes to stderr, followed by tokens per second of the
/// decode steps and the accept length.
absl::Status Generate(const RunFlags& flags, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_GENERATE_H_
