#ifndef SHORTLIST_SERVE_FASTCHAT_CONTROLLER_CLIENT_H_
#define SHORTLIST_SERVE_FASTCHAT_CONTROLLER_CLIENT_H_

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// The parts of "http://host[:port][/path]".
struct HttpUrl {
  std::string host;  // without the brackets of an IPv6 address
  std::string port;  // "80" if the URL has none
  std::string path;  // empty, or begins with a slash; does not end with one

  /// InvalidArgument names `url` and the error: a scheme other than http, no host, a port not in
  /// [1, 65535], a user, a query, or characters that are invalid in a URL.
  static absl::StatusOr<HttpUrl> Parse(std::string_view url);

  /// Returns the value of the Host header.
  std::string Authority() const;
};

/// How a worker registers with a FastChat controller.
struct ControllerOptions {
  HttpUrl controller;
  std::string worker_address;  // URL at which controller and API server reach this worker
  // Between two reports, or attempts; FastChat's own workers report every 45 s.
  std::chrono::milliseconds heartbeat{5'000};
  std::chrono::milliseconds timeout{5'000};  // of one request
  /// Returns the JSON text of /worker_get_status.
  std::function<std::string()> status;
  std::function<int64_t()> queue_length;
  /// Called once per change: "registered", or "unreachable" with the reason.
  std::function<void(std::string_view what, const absl::Status& why)> on_change;
};

/// Registers the worker and reports its queue length forever. If the controller is not reachable,
/// was restarted, returns an invalid reply or forgot the worker, tries again with the next report.
/// Ends only by cancellation. Runs on the executor that it is spawned on, which has one thread.
/// That thread calls the functions of `options`.
boost::asio::awaitable<void> KeepRegistered(ControllerOptions options);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_CONTROLLER_CLIENT_H_
