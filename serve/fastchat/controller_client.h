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

/// "http://host[:port][/path]", taken apart.
struct HttpUrl {
  std::string host;  // without the brackets of an IPv6 address
  std::string port;  // "80" where none is given
  std::string path;  // without a slash at its end; empty or beginning with one

  /// InvalidArgument names `url` and what is wrong with it: another scheme than http, no host, a
  /// port not in [1, 65535], a user, a query, or characters that no URL has.
  static absl::StatusOr<HttpUrl> Parse(std::string_view url);

  /// As the Host header has it.
  std::string Authority() const;
};

/// How a worker makes itself known to a FastChat controller.
struct ControllerOptions {
  HttpUrl controller;
  std::string worker_address;  // URL under which controller and API server reach this worker
  std::chrono::milliseconds heartbeat{5'000};  // between two reports, or attempts; FastChat's own
                                               // workers report every 45 s
  std::chrono::milliseconds timeout{5'000};    // of one request
  /// /worker_get_status's JSON text.
  std::function<std::string()> status;
  std::function<int64_t()> queue_length;
  /// Told of changes: "registered", "unreachable" with the reason, once each time.
  std::function<void(std::string_view what, const absl::Status& why)> on_change;
};

/// Registers the worker and reports its queue for ever: where the controller is not there yet, has
/// gone, was started anew, answers nonsense or forgot the worker, it tries again with the next
/// report. Ends only by cancellation. Runs on the executor that it is spawned on, whose one thread
/// calls the functions of `options`.
boost::asio::awaitable<void> KeepRegistered(ControllerOptions options);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_CONTROLLER_CLIENT_H_
