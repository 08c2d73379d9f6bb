#ifndef SHORTLIST_SERVE_HTTP_RUNNING_TIME_H_
#define SHORTLIST_SERVE_HTTP_RUNNING_TIME_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/running_clock.h"

namespace shortlist {

/// Clock for the deadlines of a server's connections. It stops while the process is paused
/// (RunningClock), and runs while the I/O thread waits. Owned by shared_ptr; used on the I/O
/// thread.
class RunningTime : public std::enable_shared_from_this<RunningTime> {
 public:
  /// While a Watch lives, the clock is read every kTick. This distinguishes a pause of the process
  /// from a wait.
  class Watch {
   public:
    explicit Watch(std::shared_ptr<RunningTime> time) : time_(std::move(time)) { time_->Begin(); }
    ~Watch() { --time_->num_watches_; }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    const std::shared_ptr<RunningTime> time_;
  };

  static constexpr std::chrono::milliseconds kTick{50};

  explicit RunningTime(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  /// Returns seconds. Only differences between readings during one Watch are meaningful.
  double Now() { return clock_.Now(); }

 private:
  void Begin();
  void Tick();

  boost::asio::steady_timer timer_;
  RunningClock clock_;
  int64_t num_watches_ = 0;
  bool is_ticking_ = false;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_RUNNING_TIME_H_
