#ifndef SHORTLIST_ROUTER_MODEL_TURNS_H_
#define SHORTLIST_ROUTER_MODEL_TURNS_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace shortlist {

/// Whose pass is next where several models share one thread: of those that have work, whoever has
/// had least time for its share. While model i has work, over any time it gets at least
/// share[i] / (sum of the shares of all) of it, less one pass of each. Who had nothing to do saves
/// nothing up, and who computed alone owes nothing to those who come later.
class ModelTurns {
 public:
  /// Shares are above 0.
  explicit ModelTurns(std::vector<double> shares)
      : shares_(std::move(shares)), used_(shares_.size(), 0.0), had_work_(shares_.size(), false) {}

  /// has_work(i) tells whether model i has any; at least one has.
  template <typename HasWork>
  size_t Next(HasWork has_work) {
    size_t next = used_.size();
    for (size_t i = 0; i < used_.size(); ++i) {
      const bool works = has_work(i);
      if (works && !had_work_[i]) used_[i] = std::max(used_[i], now_);
      had_work_[i] = works;
      if (works && (next == used_.size() || used_[i] < used_[next])) next = i;
    }
    now_ = std::max(now_, used_[next]);
    return next;
  }

  /// Model i computed for `seconds`, pauses of the process not counted (RunningClock): the others
  /// would wait for as long again, and longer.
  void Took(size_t i, double seconds) { used_[i] += std::max(seconds, 0.0) / shares_[i]; }

 private:
  const std::vector<double> shares_;
  std::vector<double> used_;  // time for a share of 1, as if it had had work all the time
  std::vector<bool> had_work_;
  double now_ = 0.0;  // `used_` of whoever was next last
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MODEL_TURNS_H_
