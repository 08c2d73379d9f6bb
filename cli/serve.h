#ifndef SHORTLIST_CLI_SERVE_H_
#define SHORTLIST_CLI_SERVE_H_

#include "absl/status/status.h"
#include "cli/flags/flags.h"

namespace shortlist {

/// `shortlist serve`: serves HTTP until SIGTERM or SIGINT, then finishes the requests in progress.
/// Without any model, serves the demo pair with its list, found at or above the executable's
/// directory. The log goes to stderr or a file; a slow reader of the log cannot block the server.
/// Permanently changes signal handling and std::cerr writes of the process.
absl::Status Serve(const ServeFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SERVE_H_
