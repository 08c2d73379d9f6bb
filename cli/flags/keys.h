#ifndef SHORTLIST_CLI_FLAGS_KEYS_H_
#define SHORTLIST_CLI_FLAGS_KEYS_H_

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "serve/http/auth.h"

namespace shortlist {

/// The keys of `shortlist serve`: those of the flags, where these name none that of the environment
/// (SHORTLIST_API_KEY, SHORTLIST_ADMIN_KEY), and behind them those of the file, which is warned of
/// on stderr where others than its owner may open it. InvalidArgument for a variable that is set,
/// but empty or no key, and as Authorizer::Create says; otherwise errors are those of ReadKeyFile.
absl::StatusOr<Keys> ReadKeys(const ServeFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_KEYS_H_
