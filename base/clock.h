#ifndef SHORTLIST_BASE_CLOCK_H_
#define SHORTLIST_BASE_CLOCK_H_

#include <chrono>

namespace shortlist {

/// Seconds of a clock that never goes back.
inline double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace shortlist

#endif  // SHORTLIST_BASE_CLOCK_H_
