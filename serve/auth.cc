#include "serve/auth.h"

#include <string_view>

#include "absl/strings/match.h"

namespace shortlist {
namespace {

bool SameKey(std::string_view key, std::string_view given) {
  if (key.empty() || key.size() != given.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < key.size(); ++i) {
    difference |= static_cast<unsigned char>(key[i]) ^ static_cast<unsigned char>(given[i]);
  }
  return difference == 0;
}

std::string_view GivenKey(const HttpRequest& request) {
  constexpr std::string_view kBearer = "bearer ";
  const std::string_view header = request.Header("Authorization");
  if (header.size() > kBearer.size() &&
      absl::StartsWithIgnoreCase(absl::string_view(header.data(), header.size()),
                                 absl::string_view(kBearer.data(), kBearer.size()))) {
    return header.substr(kBearer.size());
  }
  return request.Header("X-Api-Key");
}

}  // namespace

absl::Status Authorize(const Keys& keys, const Route& route, const HttpRequest& request) {
  if (route.access == Access::kPublic) return absl::OkStatus();
  const std::string_view given = GivenKey(request);
  const bool is_admin = SameKey(keys.admin, given);
  if (route.access == Access::kAdmin) {
    if (keys.admin.empty()) {
      return absl::PermissionDeniedError("administration is off: the server has no --admin-key");
    }
    if (is_admin) return absl::OkStatus();
    return absl::UnauthenticatedError("this route wants the admin key as a bearer token");
  }
  if (keys.api.empty() || is_admin || SameKey(keys.api, given)) return absl::OkStatus();
  return absl::UnauthenticatedError(given.empty() ? "no API key: send it as a bearer token"
                                                  : "the API key is not known here");
}

}  // namespace shortlist
