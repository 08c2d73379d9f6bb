#ifndef SHORTLIST_BASE_CLOCK_H_
#define SHORTLIST_BASE_CLOCK_H_

#include <chrono>

namespace shortlist {

/// Seconds of a clock that never goes back.
inline double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of processor time that all threads of this process have used.
double ProcessCpuSeconds();

/// Seconds for which this thread was ready to run while other threads had the processors
/// (/proc/thread-self/schedstat); 0 where the system does not count them.
double ThreadReadySeconds();

/// ProcessCpuSeconds and ThreadReadySeconds: the process ran, or this thread wanted to. While the
/// process is stopped or frozen neither grows.
inline double BusySeconds() { return ProcessCpuSeconds() + ThreadReadySeconds(); }

}  // namespace shortlist

#endif  // SHORTLIST_BASE_CLOCK_H_
