#ifndef SHORTLIST_SERVE_HTTP_HOST_LOOKUP_H_
#define SHORTLIST_SERVE_HTTP_HOST_LOOKUP_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

/// Calls the system's resolver; blocks until that returns, which may take minutes.
absl::StatusOr<Endpoints> ResolveHost(const std::string& host, const std::string& port);

/// Looks up one host without blocking a thread of the server. A thread of its own calls the
/// resolver, and is abandoned if no answer comes. (Asio's resolver would delay the end of its
/// io_context.) There is at most one such thread at a time. Used on the I/O thread.
class HostLookup {
 public:
  using Resolve =
      std::function<absl::StatusOr<Endpoints>(const std::string& host, const std::string& port)>;

  HostLookup(std::string host, std::string port, Resolve resolve = ResolveHost)
      : host_(std::move(host)), port_(std::move(port)), resolve_(std::move(resolve)) {}

  /// DeadlineExceeded if there is no answer within `timeout`. The next call waits for the same
  /// answer, and so do concurrent calls.
  boost::asio::awaitable<absl::StatusOr<Endpoints>> Run(std::chrono::milliseconds timeout);

 private:
  struct Answer;

  const std::string host_, port_;
  const Resolve resolve_;
  std::shared_ptr<Answer> answer_;  // the awaited answer; shared with the thread
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_HOST_LOOKUP_H_
