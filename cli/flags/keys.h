#ifndef SHORTLIST_CLI_FLAGS_KEYS_H_
#define SHORTLIST_CLI_FLAGS_KEYS_H_

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "serve/http/auth.h"

namespace shortlist {

/// Returns the keys of `shortlist serve`. API keys come from the flags, else from
/// SHORTLIST_API_KEY; those of the key file follow. The admin key comes from its flag, else from
/// SHORTLIST_ADMIN_KEY. Warns on stderr if others than its owner may open the key file.
/// InvalidArgument for a variable that is set but empty or not a valid key, and as
/// Authorizer::Create; other errors are those of ReadKeyFile.
absl::StatusOr<Keys> ReadKeys(const ServeFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_KEYS_H_
