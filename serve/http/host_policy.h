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

/// "localhost", or a loopback address.
bool IsLoopback(std::string_view host);

/// Keeps pages of other sites from using the server through the browser of somebody who may: those
/// that reach it under a name of their own (DNS rebinding) by the Host header, and those that call
/// it where it is by Origin. Constant.
class HostPolicy {
 public:
  struct Options {
    /// Only known hosts are served: on a loopback address without a key, where being able to
    /// connect is all that is asked for, and wherever --allowed-host says which they are.
    bool judges_hosts = false;
    /// Known ones beside "localhost" and loopback addresses; a port behind them does not count.
    std::vector<std::string> hosts;
    /// Whose pages may call the server and read its replies (CORS). As browsers send them,
    /// "https://example.org:8443", or "null".
    std::vector<std::string> origins;
  };

  /// InvalidArgument names a host or an origin that is none.
  static absl::Status Validate(const Options& options);

  HostPolicy() = default;
  explicit HostPolicy(Options options) : options_(std::move(options)) {}

  /// PermissionDenied for a host that is not known. An Origin, where there is one, must be that of
  /// Host or an allowed one, unless the request brings a key, which a browser adds to no request
  /// of another site's page without asking, or the route only tells what anybody may read: GET and
  /// HEAD of routes that are not the administrator's and generate nothing.
  absl::Status Check(const Route& route, const HttpRequest& request) const;

  /// What a reply says to the browser of a page from elsewhere: that one of an allowed origin may
  /// read it, and, to a preflight (OPTIONS), which of the methods in `allow` and which headers it
  /// may send. Empty where no origin is allowed.
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
