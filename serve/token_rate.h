#ifndef SHORTLIST_SERVE_TOKEN_RATE_H_
#define SHORTLIST_SERVE_TOKEN_RATE_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include "base/clock.h"

namespace shortlist {

/// Counts tokens and reports the rate per second over the last ten whole seconds. Thread-safe.
class TokenRate {
 public:
  void Add(int64_t count) {
    const std::lock_guard lock(mutex_);
    const int64_t now = Second();
    if (counts_.empty() || counts_.back().first != now) counts_.emplace_back(now, 0);
    counts_.back().second += count;
    while (counts_.front().first + kSeconds < now) counts_.pop_front();
  }
  double PerSecond() const {
    const std::lock_guard lock(mutex_);
    const int64_t now = Second();
    int64_t sum = 0;
    for (const auto& [second, count] : counts_) {
      if (second < now && second + kSeconds >= now) sum += count;
    }
    return static_cast<double>(sum) / kSeconds;
  }

 private:
  static constexpr int64_t kSeconds = 10;
  static int64_t Second() { return static_cast<int64_t>(SteadySeconds()); }
  mutable std::mutex mutex_;
  std::deque<std::pair<int64_t, int64_t>> counts_;  // (second, count), in order
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_TOKEN_RATE_H_
