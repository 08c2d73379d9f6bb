#ifndef SHORTLIST_BASE_CLOCK_H_
#define SHORTLIST_BASE_CLOCK_H_

#include <chrono>

namespace shortlist {

/// Returns seconds of a clock that never goes back.
inline double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the seconds of processor time used by all threads of this process.
double ProcessCpuSeconds();

/// Returns the seconds for which this thread was ready to run while other threads had the
/// processors (/proc/thread-self/schedstat). Returns 0 if the system does not count them.
double ThreadReadySeconds();

/// Returns ProcessCpuSeconds() + ThreadReadySeconds(): the process ran, or this thread was ready to
/// run. Neither grows while the process is stopped or frozen.
inline double BusySeconds() { return ProcessCpuSeconds() + ThreadReadySeconds(); }

}  // namespace shortlist

#endif  // SHORTLIST_BASE_CLOCK_H_
