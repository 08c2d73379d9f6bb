#ifndef SHORTLIST_CLI_SERVE_H_
#define SHORTLIST_CLI_SERVE_H_

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist serve`: serves HTTP until SIGTERM or SIGINT, then finishes what it serves. Without
/// any model, the demo pair with its list, found above the executable's directory. Its log goes
/// to stderr or a file; nobody who reads that can hold it up. Changes how the process takes signals
/// and writes to std::cerr, to its end.
absl::Status Serve(const ServeFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SERVE_H_
