#ifndef SHORTLIST_ROUTER_MODEL_TURNS_H_
#define SHORTLIST_ROUTER_MODEL_TURNS_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace shortlist {

/// Whose pass is next where several models share one thread: of those that have work, whoever has
/// had least time for its share. While model i has work, over any time it gets at least
/// share[i] / (sum of the shares of all) of it, less one pass of each; who had nothing to do saves
/// nothing up.
class ModelTurns {
 public:
  /// Shares are above 0.
  explicit ModelTurns(std::vector<double> shares)
      : shares_(std::move(shares)), used_(shares_.size(), 0.0), had_work_(shares_.size(), false) {}

  /// has_work(i) tells whether model i has any; at least one has.
  template <typename HasWork>
  size_t Next(HasWork has_work) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < used_.size(); ++i) {
      if (had_work_[i] && has_work(i)) least = std::min(least, used_[i]);
    }
    size_t next = used_.size();
    for (size_t i = 0; i < used_.size(); ++i) {
      const bool works = has_work(i);
      if (works && !had_work_[i] && least < std::numeric_limits<double>::infinity()) {
        used_[i] = std::max(used_[i], least);
      }
      had_work_[i] = works;
      if (works && (next == used_.size() || used_[i] < used_[next])) next = i;
    }
    return next;
  }

  /// Model i computed for `seconds`.
  void Took(size_t i, double seconds) { used_[i] += std::max(seconds, 0.0) / shares_[i]; }

 private:
  const std::vector<double> shares_;
  std::vector<double> used_;  // time for a share of 1
  std::vector<bool> had_work_;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_MODEL_TURNS_H_
