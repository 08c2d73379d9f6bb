#ifndef SHORTLIST_SERVE_HTTP_HOST_POLICY_H_
#define SHORTLIST_SERVE_HTTP_HOST_POLICY_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "serve/http/message.h"
#include "serve/http/route_table.h"

namespace shortlist {

/// True for "localhost" and loopback addresses.
bool IsLoopback(std::string_view host);

/// Keeps pages of other sites from using the server through the browser of a user with access. The
/// Host header reveals pages that reach the server under their own name (DNS rebinding); Origin
/// reveals pages that call the server directly. Constant.
class HostPolicy {
 public:
  struct Options {
    /// true: only known hosts are served. Used on a loopback address without a key, where any
    /// process that can connect has access, and wherever --allowed-host lists the hosts.
    bool judges_hosts = false;
    /// Known hosts in addition to "localhost" and loopback addresses; a port after the host is
    /// ignored.
    std::vector<std::string> hosts;
    /// Origins whose pages may call the server and read its replies (CORS), as browsers send them:
    /// "https://example.org:8443", or "null".
    std::vector<std::string> origins;
  };

  /// InvalidArgument names an invalid host or origin.
  static absl::Status Validate(const Options& options);

  HostPolicy() = default;
  explicit HostPolicy(Options options) : options_(std::move(options)) {}

  /// PermissionDenied if the host is not known. Also if there is an Origin that is neither that of
  /// Host nor allowed. Exceptions: the request has a key, which a browser does not add to requests
  /// of another site's page without a preflight; or the route is public information: GET and HEAD
  /// of routes that are not kAdmin and do not generate.
  absl::Status Check(const Route& route, const HttpRequest& request) const;

  /// Returns the CORS headers of a reply. They let a page of an allowed origin read it. For a
  /// preflight (OPTIONS) they also list the methods in `allow` and the headers that the page may
  /// send. Empty if no origin is allowed.
  std::vector<std::pair<std::string_view, std::string>> CorsHeaders(const HttpRequest& request,
                                                                    std::string_view allow) const;

 private:
  bool IsKnown(std::string_view host) const;
  bool IsOwn(std::string_view origin, std::string_view host) const;
  bool IsAllowed(std::string_view origin) const;

  Options options_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_HOST_POLICY_H_
