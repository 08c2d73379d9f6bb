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

/// The system's resolver; blocks as long as that takes, which may be minutes.
absl::StatusOr<Endpoints> ResolveHost(const std::string& host, const std::string& port);

/// Looks one host up without ever making anybody wait: a thread of its own asks the system, and is
/// left behind where the answer does not come (Asio's resolver would hold up the end of its
/// io_context). There is one such thread at a time. Used on the I/O thread.
class HostLookup {
 public:
  using Resolve =
      std::function<absl::StatusOr<Endpoints>(const std::string& host, const std::string& port)>;

  HostLookup(std::string host, std::string port, Resolve resolve = ResolveHost)
      : host_(std::move(host)), port_(std::move(port)), resolve_(std::move(resolve)) {}

  /// DeadlineExceeded when there is no answer within `timeout`; the next call goes on waiting for
  /// the same one, as does a call beside this one.
  boost::asio::awaitable<absl::StatusOr<Endpoints>> Run(std::chrono::milliseconds timeout);

 private:
  struct Answer;

  const std::string host_, port_;
  const Resolve resolve_;
  std::shared_ptr<Answer> answer_;  // that is awaited; the thread owns it too
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_HOST_LOOKUP_H_
