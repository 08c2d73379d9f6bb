#include "serve/http/host_policy.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

bool Same(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(View(a), View(b));
}

absl::string_view Shown(std::string_view text) { return View(text.substr(0, 100)); }

/// Returns "::1" for "[::1]:80" and "::1", and "example.org" for "example.org.:80".
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, std::min(host.find(']'), host.size()) - 1);
  const size_t colon = host.find(':');
  if (colon != host.npos && colon == host.rfind(':')) host = host.substr(0, colon);
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

/// Removes the default port of http or https.
std::string_view WithoutUsualPort(std::string_view host) {
  for (const std::string_view port : {":80", ":443"}) {
    if (host.ends_with(port)) return host.substr(0, host.size() - port.size());
  }
  return host;
}

/// Returns the text after "http://" or "https://"; empty for other origins.
std::string_view AuthorityOf(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

// Seconds for which a browser caches the reply to a preflight.
constexpr char kPreflightMaxAge[] = "600";

}  // namespace

bool IsLoopback(std::string_view host) {
  if (Same(host, "localhost")) return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  return !error && address.is_loopback();
}

absl::Status HostPolicy::Validate(const Options& options) {
  constexpr std::string_view kNotInHosts = "/@,?#* \t";
  for (const std::string& host : options.hosts) {
    if (!host.empty() && host.find_first_of(kNotInHosts) == host.npos) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("allowed host \"", Shown(host), "\" is not a name or an address"));
  }
  for (const std::string& origin : options.origins) {
    const std::string_view authority = AuthorityOf(origin);
    if (origin == "null") continue;
    if (!authority.empty() && authority.find_first_of(kNotInHosts) == authority.npos) continue;
    return absl::InvalidArgumentError(absl::StrCat("allowed origin \"", Shown(origin),
                                                   "\" is not like https://example.org:8443"));
  }
  return absl::OkStatus();
}

bool HostPolicy::IsKnown(std::string_view host) const {
  const std::string_view name = WithoutPort(host);
  return IsLoopback(name) ||
         std::any_of(options_.hosts.begin(), options_.hosts.end(),
                     [&](const std::string& known) { return Same(WithoutPort(known), name); });
}

bool HostPolicy::IsOwn(std::string_view origin, std::string_view host) const {
  const std::string_view authority = AuthorityOf(origin);
  // Both schemes match: a proxy may terminate TLS for this server.
  if (!authority.empty() && Same(WithoutUsualPort(authority), WithoutUsualPort(host))) return true;
  return IsAllowed(origin);
}

bool HostPolicy::IsAllowed(std::string_view origin) const {
  return std::any_of(options_.origins.begin(), options_.origins.end(),
                     [&](const std::string& allowed) { return Same(allowed, origin); });
}

std::vector<std::pair<std::string_view, std::string>> HostPolicy::CorsHeaders(
    const HttpRequest& request, std::string_view allow) const {
  std::vector<std::pair<std::string_view, std::string>> headers;
  if (options_.origins.empty()) return headers;
  // Also for rejected origins, so that caches keep replies apart.
  headers.emplace_back("Vary", "Origin");
  const std::string_view origin = request.Header("Origin");
  if (origin.empty() || !IsAllowed(origin)) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", origin);
  headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
  const bool is_preflight =
      request.method == "OPTIONS" && !request.Header("Access-Control-Request-Method").empty();
  if (!is_preflight) return headers;
  headers.emplace_back("Access-Control-Allow-Methods", allow);
  // Allows all requested headers: clients send headers of their own, and keys protect the routes.
  const std::string_view asked = request.Header("Access-Control-Request-Headers");
  if (!asked.empty()) headers.emplace_back("Access-Control-Allow-Headers", asked);
  headers.emplace_back("Access-Control-Max-Age", kPreflightMaxAge);
  return headers;
}

absl::Status HostPolicy::Check(const Route& route, const HttpRequest& request) const {
  // A browser always sends a Host.
  const bool has_host = std::any_of(request.headers.begin(), request.headers.end(),
                                    [](const auto& field) { return Same(field.first, "Host"); });
  const std::string_view host = request.Header("Host");
  if (options_.judges_hosts && has_host && !IsKnown(host)) {
    return absl::PermissionDeniedError(
        absl::StrCat("not served under the name \"", Shown(host), "\": see --allowed-host"));
  }
  const bool only_tells =
      route.method == "GET" && route.access != Access::kAdmin && route.path != "/health_generate";
  // A page cannot send a key without a preflight.
  const bool has_key =
      !request.Header("Authorization").empty() || !request.Header("X-Api-Key").empty();
  const std::string_view origin = request.Header("Origin");
  if (origin.empty() || has_key || only_tells || IsOwn(origin, host)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("not for pages of \"", Shown(origin), "\": see --allowed-origin"));
}

}  // namespace shortlist
