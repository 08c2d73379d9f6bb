#include "base/clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace shortlist {
namespace {

/// Reads this thread's counts of the scheduler from a file that stays open: one reading takes a
/// microsecond.
class SchedulerCounts {
 public:
  SchedulerCounts() : fd_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ~SchedulerCounts() {
    if (fd_ >= 0) close(fd_);
  }
  SchedulerCounts(const SchedulerCounts&) = delete;
  SchedulerCounts& operator=(const SchedulerCounts&) = delete;

  /// Returns the second number of the file. The first is the time on a processor.
  int64_t ready_ns() const {
    char text[96];
    const ssize_t size = fd_ < 0 ? -1 : pread(fd_, text, sizeof text - 1, 0);
    if (size <= 0) return 0;
    text[size] = '\0';
    char* end = nullptr;
    std::strtoll(text, &end, 10);
    return std::strtoll(end, nullptr, 10);
  }

 private:
  const int fd_;
};

}  // namespace

double ProcessCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double ThreadReadySeconds() {
  thread_local const SchedulerCounts counts;
  return 1e-9 * static_cast<double>(counts.ready_ns());
}

}  // namespace shortlist
