#ifndef SHORTLIST_BASE_RUNNING_CLOCK_H_
#define SHORTLIST_BASE_RUNNING_CLOCK_H_

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"

namespace shortlist {

/// A clock that never goes back and stands still while the whole process does: after SIGSTOP, in a
/// paused container, during a migration of the machine. No model is charged for such a pause, and
/// no deadline passes during it.
///
/// The caller reads the clock often, such as before and after each pass of a model. Between two
/// readings the clock advances by the wall time. If that is more than kLongestGap seconds, it
/// advances by the time for which the process was busy, but by at least kLongestGap and at most the
/// wall time. So the clock may also stand still while the caller waits for work.
///
/// A process starved of processor time is not paused: the caller's thread is ready, and BusySeconds
/// counts its wait. On a system without that count, each long gap of a starved process counts as
/// kLongestGap, so a deadline is late, but passes.
///
/// Used by one thread.
class RunningClock {
 public:
  static constexpr double kLongestGap = 0.1;

  /// Both return seconds of a clock that never goes back.
  explicit RunningClock(std::function<double()> wall = SteadySeconds,
                        std::function<double()> busy = BusySeconds)
      : wall_(std::move(wall)), busy_(std::move(busy)), last_wall_(wall_()), last_busy_(busy_()) {}

  double Now() {
    const double wall = wall_(), busy = busy_();
    const double gap = wall - last_wall_;
    seconds_ += std::min(gap, std::max(busy - last_busy_, kLongestGap));
    last_wall_ = wall;
    last_busy_ = busy;
    return seconds_;
  }

 private:
  const std::function<double()> wall_, busy_;
  double last_wall_, last_busy_;
  double seconds_ = 0.0;
};

}  // namespace shortlist

#endif  // SHORTLIST_BASE_RUNNING_CLOCK_H_
