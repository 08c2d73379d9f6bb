#ifndef SHORTLIST_CLI_EXIT_CODE_H_
#define SHORTLIST_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace shortlist {

// Exit codes. A command that a signal ends exits with 128 plus the signal number, as the shell
// reports it. `serve` treats SIGTERM and SIGINT as a request to stop and exits with kExitOk.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitBadInput = 2;

// Descriptions for the manual page.
inline constexpr char kExitFailedMeaning[] =
    "A fault of the program, outputs that differ, or standard output that cannot be written.";
inline constexpr char kExitBadInputMeaning[] =
    "A usage error, bad input, or a machine that has not what was asked for: memory, threads, a "
    "free port, a file that can be read or written. A message on standard error names it.";

/// kExitFailed for Internal and Unknown; kExitBadInput for all other errors, which the caller can
/// fix.
inline int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  return absl::IsInternal(status) || absl::IsUnknown(status) ? kExitFailed : kExitBadInput;
}

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EXIT_CODE_H_
