#ifndef SHORTLIST_ROUTER_MODEL_TURNS_H_
#define SHORTLIST_ROUTER_MODEL_TURNS_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace shortlist {

/// Weighted fair scheduler for models on one thread. Next() picks the busy model with the least
/// time used per share. While model i is busy, it gets at least share[i] / (sum of all shares) of
/// any period, less one pass of each model. An idle model gains no credit, and a model that ran
/// alone incurs no debt.
class ModelTurns {
 public:
  /// Shares must be above 0.
  explicit ModelTurns(std::vector<double> shares)
      : shares_(std::move(shares)), used_(shares_.size(), 0.0), had_work_(shares_.size(), false) {}

  /// has_work(i): true if model i has work; at least one must have.
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

  /// Records that model i computed for `seconds`. These must exclude pauses of the process
  /// (RunningClock), for which the other models would otherwise be compensated.
  void Took(size_t i, double seconds) { used_[i] += std::max(seconds, 0.0) / shares_[i]; }

 private:
  const std::vector<double> shares_;
  std::vector<double> used_;  // time divided by share; an idle model catches up to now_
  std::vector<bool> had_work_;
  double now_ = 0.0;  // `used_` of the model picked last
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MODEL_TURNS_H_
