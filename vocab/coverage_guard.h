#ifndef SHORTLIST_VOCAB_COVERAGE_GUARD_H_
#define SHORTLIST_VOCAB_COVERAGE_GUARD_H_

namespace shortlist {

/// Detects when an active vocabulary no longer serves one request: the share of its latest tokens
/// that the draft could propose, averaged over about the last 32, falls below a floor. The
/// vocabulary serves the request again when the share is half of the way from the floor to 1, to
/// avoid oscillation. Owned by one request.
class CoverageGuard {
 public:
  /// Counts one more token. `held`: the vocabulary, in use or not, contained it.
  void Count(bool held, double floor) {
    share_ += ((held ? 1.0 : 0.0) - share_) / kWindow;
    if (share_ < floor) has_collapsed_ = true;
    if (share_ >= (1.0 + floor) / 2.0) has_collapsed_ = false;
  }

  /// Counts one more token emitted while the full head was scored, if it is unknown whether the
  /// vocabulary contains it: rows that a sketch would choose are not known then. After kRest such
  /// tokens the vocabulary is tried again.
  void Rest(double floor) {
    if (!has_collapsed_ || ++num_rested_ < kRest) return;
    num_rested_ = 0;
    has_collapsed_ = false;
    share_ = (1.0 + floor) / 2.0;
  }

  bool has_collapsed() const { return has_collapsed_; }
  double share() const { return share_; }

 private:
  static constexpr double kWindow = 32.0;
  static constexpr int kRest = 64;

  double share_ = 1.0;
  bool has_collapsed_ = false;
  int num_rested_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COVERAGE_GUARD_H_
