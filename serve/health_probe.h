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

/// Sees whether the engine moves, by a token generated for nobody, or encoded where no model
/// generates. Whoever asks while that is under
/// way, or within `kept` of it, gets its answer: a flood of questions costs a token a second. Owned
/// by a shared_ptr; used on the I/O thread.
class HealthProbe : public std::enable_shared_from_this<HealthProbe> {
 public:
  struct Options {
    std::chrono::milliseconds timeout{20'000};  // for the token
    std::chrono::milliseconds kept{1'000};
  };

  /// `generator` must outlive the coroutines of `executor`.
  HealthProbe(Generator& generator, Options options) : generator_(generator), options_(options) {}

  /// Ok when a token came; also where none came of this but tokens come of other requests: a server
  /// that is busy is not ill. Unavailable says what else is the matter.
  boost::asio::awaitable<absl::Status> Ask();

 private:
  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<absl::Status> Generate();
  boost::asio::awaitable<absl::Status> Encode();

  Generator& generator_;
  const Options options_;
  // Those who wait for the token wait for it, and own it: their waits may be cancelled for another
  // reason after its end.
  std::shared_ptr<boost::asio::steady_timer> running_;
  absl::Status answer_;
  std::chrono::steady_clock::time_point answered_at_;
  bool has_answer_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HEALTH_PROBE_H_
