#include "serve/http/auth.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "serve/http/target.h"

namespace shortlist {
namespace {

constexpr size_t kMaxKeyBytes = 512, kMaxNameBytes = 64, kMaxKeys = 1000;
constexpr int64_t kMaxFileBytes = 8 << 20;

bool IsVisible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

/// Takes a time that depends on `given` alone. Precondition: neither is empty.
bool SameKey(std::string_view key, std::string_view given) {
  size_t difference = key.size() ^ given.size();
  for (size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(key[i % key.size()] ^ given[i]);
  }
  return difference == 0;
}

/// Removes spaces, tabs and carriage returns at both ends.
std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// Returns the token in the value of an Authorization header; nullopt: another scheme.
std::optional<std::string_view> BearerToken(std::string_view value) {
  constexpr std::string_view kBearer = "bearer ";
  if (!absl::StartsWithIgnoreCase(absl::string_view(value.data(), value.size()),
                                  absl::string_view(kBearer.data(), kBearer.size()))) {
    return std::nullopt;
  }
  return Trimmed(value.substr(kBearer.size()));
}

/// Returns the key of the request; empty: none. InvalidArgument for two different keys or two
/// headers of one name.
absl::StatusOr<std::string_view> GivenKey(const HttpRequest& request) {
  std::string_view given;
  bool has_authorization = false, has_api_key = false;
  for (const auto& [name, value] : request.headers) {
    std::optional<std::string_view> key;
    if (absl::EqualsIgnoreCase(name, "Authorization")) {
      if (std::exchange(has_authorization, true)) {
        return absl::InvalidArgumentError("two Authorization headers");
      }
      key = BearerToken(value);
    } else if (absl::EqualsIgnoreCase(name, "X-Api-Key")) {
      if (std::exchange(has_api_key, true)) {
        return absl::InvalidArgumentError("two X-Api-Key headers");
      }
      key = Trimmed(value);
    }
    if (!key.has_value() || key->empty()) continue;
    if (!given.empty() && given != *key) {
      return absl::InvalidArgumentError("Authorization and X-Api-Key bring different keys");
    }
    given = *key;
  }
  return given;
}

}  // namespace

absl::Status CheckKey(std::string_view key) {
  if (key.empty()) return absl::InvalidArgumentError("the key is empty");
  if (key.size() > kMaxKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key of ", key.size(), " bytes, more than ", kMaxKeyBytes));
  }
  if (IsVisible(key)) return absl::OkStatus();
  return absl::InvalidArgumentError("a key is visible ASCII characters, without white space");
}

absl::StatusOr<std::vector<NamedKey>> ReadKeyFile(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  std::vector<NamedKey> keys;
  std::string_view rest = text;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = Trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    const auto failed = [&](std::string_view why) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", line ", number, ": ", std::string(why)));
    };
    NamedKey key;
    const size_t gap = line.find_first_of(" \t");
    if (gap != line.npos) key.name = line.substr(0, gap);
    key.key = gap == line.npos ? line : Trimmed(line.substr(gap));
    if (key.name.size() > kMaxNameBytes || !IsVisible(key.name)) {
      return failed(absl::StrCat("a name is 1 to ", kMaxNameBytes, " visible ASCII characters"));
    }
    if (absl::Status sound = CheckKey(key.key); !sound.ok()) {
      return failed(std::string(sound.message()));
    }
    if (keys.size() == kMaxKeys) return failed(absl::StrCat("more than ", kMaxKeys, " keys"));
    keys.push_back(std::move(key));
  }
  if (keys.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": no key in it"));
  return keys;
}

absl::StatusOr<Authorizer> Authorizer::Create(const Keys& keys) {
  Authorizer authorizer;
  for (size_t i = 0; i < keys.api.size(); ++i) {
    const NamedKey& api = keys.api[i];
    std::string name = api.name.empty() ? absl::StrCat("key ", i + 1) : api.name;
    SHORTLIST_RETURN_IF_ERROR(authorizer.Add(api.key, std::move(name), /*is_admin=*/false));
  }
  if (!keys.admin.empty()) {
    SHORTLIST_RETURN_IF_ERROR(authorizer.Add(keys.admin, "admin key", /*is_admin=*/true));
  }
  authorizer.has_api_ = !keys.api.empty();
  authorizer.has_admin_ = !keys.admin.empty();
  return authorizer;
}

absl::Status Authorizer::Add(const std::string& key, std::string name, bool is_admin) {
  if (absl::Status sound = CheckKey(key); !sound.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", std::string(sound.message())));
  }
  for (const Entry& other : entries_) {
    if (other.client.name == name) {
      return absl::InvalidArgumentError(absl::StrCat("two API keys are called \"", name, "\""));
    }
    if (other.key == key) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", other.client.name, "\" and \"", name, "\" are the same key"));
    }
  }
  entries_.push_back({.key = key,
                      .client = {.name = std::move(name), .cache_salt = NewRequestId()},
                      .is_admin = is_admin});
  return absl::OkStatus();
}

/// Compares with all keys, so that the time does not depend on which one matches.
const Authorizer::Entry* Authorizer::Find(std::string_view given) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (SameKey(entry.key, given)) found = &entry;
  }
  return given.empty() ? nullptr : found;
}

absl::Status Authorizer::Authorize(const Route& route, HttpRequest& request) const {
  const absl::StatusOr<std::string_view> given = GivenKey(request);
  const Entry* const entry = given.ok() ? Find(*given) : nullptr;
  request.client =
      entry != nullptr ? entry->client : Client{.name = absl::StrCat("addr ", request.peer)};
  if (route.access == Access::kPublic) return absl::OkStatus();
  if (route.access == Access::kAdmin && !has_admin_) {
    return absl::PermissionDeniedError("administration is off: the server has no --admin-key");
  }
  if (!given.ok() && !entries_.empty()) {
    return absl::UnauthenticatedError(given.status().message());
  }
  if (entry != nullptr && entry->is_admin) return absl::OkStatus();
  if (route.access == Access::kAdmin) {
    return absl::UnauthenticatedError("this route wants the admin key as a bearer token");
  }
  if (!has_api_ || entry != nullptr) return absl::OkStatus();
  const bool brings_none = given.ok() && given->empty();
  return absl::UnauthenticatedError(brings_none ? "no API key: send it as a bearer token"
                                                : "the API key is not known here");
}

}  // namespace shortlist
