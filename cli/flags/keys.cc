#include "cli/flags/keys.h"

#include <sys/stat.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

/// Returns the key in an environment variable; empty if it is not set.
absl::StatusOr<std::string> KeyOf(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::string();
  if (*value == '\0') {
    return absl::InvalidArgumentError(
        absl::StrCat(variable, " is set, but empty: unset it to serve without this key"));
  }
  if (absl::Status sound = CheckKey(value); !sound.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(variable, ": ", std::string(sound.message())));
  }
  return std::string(value);
}

}  // namespace

absl::StatusOr<Keys> ReadKeys(const ServeFlags& flags) {
  Keys keys{.admin = flags.admin_key};
  for (const std::string& key : flags.api_keys) keys.api.push_back({.key = key});
  if (keys.api.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(std::string key, KeyOf("SHORTLIST_API_KEY"));
    if (!key.empty()) keys.api.push_back({.key = std::move(key)});
  }
  if (keys.admin.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(keys.admin, KeyOf("SHORTLIST_ADMIN_KEY"));
  }
  if (!flags.api_key_file.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<NamedKey> more, ReadKeyFile(flags.api_key_file));
    keys.api.insert(keys.api.end(), more.begin(), more.end());
    struct stat status {};
    if (stat(flags.api_key_file.c_str(), &status) == 0 && (status.st_mode & 077) != 0) {
      std::cerr << absl::StrFormat(
          "warning: %s is open to others than its owner (mode %o): chmod 600\n", flags.api_key_file,
          status.st_mode & 0777);
    }
  }
  SHORTLIST_RETURN_IF_ERROR(Authorizer::Create(keys).status());
  return keys;
}

}  // namespace shortlist
