#ifndef SHORTLIST_ROUTER_PASS_TIME_H_
#define SHORTLIST_ROUTER_PASS_TIME_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shortlist {

/// Learned duration of a model's passes: a fixed part (reading the weights) plus a time per token.
/// Least squares over recent passes; older ones have less weight.
class PassTime {
 public:
  /// A pass of this few tokens takes hardly longer than one of a single token: it reads the
  /// weights. Without this minimum, slow passes of one short input each, on a busy machine, would
  /// never reveal the fixed part.
  static constexpr int64_t kFewest = 32;

  /// Records that a pass of `num_tokens` (at least 1) took `seconds`.
  void Add(int64_t num_tokens, double seconds) {
    const double n = static_cast<double>(num_tokens), t = std::max(seconds, 0.0);
    count_ = kDecay * count_ + 1.0;
    n_ = kDecay * n_ + n;
    t_ = kDecay * t_ + t;
    nn_ = kDecay * nn_ + n * n;
    nt_ = kDecay * nt_ + n * t;
  }

  /// Maximum tokens of a pass of `seconds`. At least so many that the fixed part is at most half of
  /// the pass, at least kFewest, and at most `most`. Returns `most` before any pass.
  int64_t TokensIn(double seconds, int64_t most) const {
    if (!(t_ > 0.0)) return most;
    // Passes of equal length do not reveal the fixed part.
    const double spread = count_ * nn_ - n_ * n_;
    double per_token = t_ / n_, fixed = 0.0;
    if (spread > 1e-3 * n_ * n_) {
      const double slope = (count_ * nt_ - n_ * t_) / spread;
      // Neither part may be negative, whatever the noise.
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
