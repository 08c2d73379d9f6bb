#ifndef SHORTLIST_SERVE_HEALTH_PROBE_H_
#define SHORTLIST_SERVE_HEALTH_PROBE_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "absl/status/status.h"
#include "serve/generator.h"

namespace shortlist {

/// Checks that the engine makes progress by generating one token, or encoding one if no model
/// generates. Calls of Ask() during a probe, or within `kept` after it, share its result: any
/// number of calls costs at most one token per second. Owned by a shared_ptr; used on the I/O
/// thread.
class HealthProbe : public std::enable_shared_from_this<HealthProbe> {
 public:
  struct Options {
    std::chrono::milliseconds timeout{20'000};  // for one probe
    // How long a result is reused.
    std::chrono::milliseconds kept{1'000};
  };

  /// `generator` must outlive the coroutines of `executor`.
  HealthProbe(Generator& generator, Options options) : generator_(generator), options_(options) {}

  /// Returns ok if the probe succeeded. Also ok if the server is merely busy: the probe got no turn
  /// while other requests produce tokens, or the limits for encoding are reached. Otherwise returns
  /// Unavailable with the reason.
  boost::asio::awaitable<absl::Status> Ask();

 private:
  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<absl::Status> Generate();
  boost::asio::awaitable<absl::Status> Encode();

  Generator& generator_;
  const Options options_;
  // Callers of Ask() wait on this timer until the probe ends, and share its ownership: a caller's
  // wait may be cancelled for another reason after that. Null: no probe is running.
  std::shared_ptr<boost::asio::steady_timer> running_;
  absl::Status answer_;
  std::chrono::steady_clock::time_point answered_at_;
  bool has_answer_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HEALTH_PROBE_H_
