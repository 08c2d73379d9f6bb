#ifndef SHORTLIST_ROUTER_RUNNING_CLOCK_H_
#define SHORTLIST_ROUTER_RUNNING_CLOCK_H_

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

#include "base/clock.h"

namespace shortlist {

/// Seconds of processor time that all threads of this process have used.
inline double ProcessCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A clock that never goes back and stands still while the whole process does: after SIGSTOP, in a
/// paused container, on a machine that is being migrated. A pause is then charged to no model, and
/// no deadline passes in it.
///
/// The caller reads it before and after each pass. Between two readings it advances by the wall
/// time. If that is more than kLongestGap seconds, it advances by the processor time that the
/// process used instead, but by at least kLongestGap and at most the wall time. So it may also
/// stand still while the caller waits for something to do.
///
/// Used by one thread.
class RunningClock {
 public:
  static constexpr double kLongestGap = 0.1;

  /// Both return seconds of a clock that never goes back.
  explicit RunningClock(std::function<double()> wall = SteadySeconds,
                        std::function<double()> cpu = ProcessCpuSeconds)
      : wall_(std::move(wall)), cpu_(std::move(cpu)), last_wall_(wall_()), last_cpu_(cpu_()) {}

  double Now() {
    const double wall = wall_(), cpu = cpu_();
    const double gap = wall - last_wall_;
    seconds_ += std::min(gap, std::max(cpu - last_cpu_, kLongestGap));
    last_wall_ = wall;
    last_cpu_ = cpu;
    return seconds_;
  }

 private:
  const std::function<double()> wall_, cpu_;
  double last_wall_, last_cpu_;
  double seconds_ = 0.0;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_RUNNING_CLOCK_H_
