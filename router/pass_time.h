#ifndef SHORTLIST_ROUTER_PASS_TIME_H_
#define SHORTLIST_ROUTER_PASS_TIME_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shortlist {

/// How long a model's passes take, learned from those it ran: a fixed part, its weights being read,
/// and so much for each token. Least squares over the last passes, older ones counting less.
class PassTime {
 public:
  /// So few take hardly longer than one: the weights are read. Without it, slow passes of one short
  /// input each, on a machine that is busy otherwise, would never show that there is a fixed part.
  static constexpr int64_t kFewest = 32;

  /// A pass of `num_tokens`, at least 1, took `seconds`.
  void Add(int64_t num_tokens, double seconds) {
    const double n = static_cast<double>(num_tokens), t = std::max(seconds, 0.0);
    count_ = kDecay * count_ + 1.0;
    n_ = kDecay * n_ + n;
    t_ = kDecay * t_ + t;
    nn_ = kDecay * nn_ + n * n;
    nt_ = kDecay * nt_ + n * t;
  }

  /// The most tokens that a pass of `seconds` may have; but enough that half of its time is not the
  /// fixed part, at least kFewest, and at most `most`, which is the answer as long as nothing is
  /// known.
  int64_t TokensIn(double seconds, int64_t most) const {
    if (!(t_ > 0.0)) return most;
    // Passes of one length tell nothing of a fixed part.
    const double spread = count_ * nn_ - n_ * n_;
    double per_token = t_ / n_, fixed = 0.0;
    if (spread > 1e-3 * n_ * n_) {
      const double slope = (count_ * nt_ - n_ * t_) / spread;
      // Neither part is below 0, whatever the noise says.
      if (slope > 0.01 * per_token && slope < per_token) {
        per_token = slope;
        fixed = (t_ - slope * n_) / count_;
      }
    }
    const double tokens = std::max(seconds - fixed, fixed) / per_token;
    if (!(tokens < static_cast<double>(most))) return most;
    return std::min(std::max(static_cast<int64_t>(tokens), kFewest), most);
  }

 private:
  static constexpr double kDecay = 0.9;
  // Sums over passes: 1, tokens, seconds, tokens^2, tokens * seconds.
  double count_ = 0.0, n_ = 0.0, t_ = 0.0, nn_ = 0.0, nt_ = 0.0;
};

}  // namespace shortlist

#endif  // SHORTLIST_ROUTER_PASS_TIME_H_
