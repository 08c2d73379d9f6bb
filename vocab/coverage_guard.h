#ifndef SHORTLIST_VOCAB_COVERAGE_GUARD_H_
#define SHORTLIST_VOCAB_COVERAGE_GUARD_H_

namespace shortlist {

/// Tells when an active vocabulary no longer serves one request: the share of its latest tokens
/// that the draft could propose, an average over the last 32 or so, has fallen below a floor. It
/// serves it again where the share is half of the way from the floor to 1, so that a request does
/// not go to and fro. Owned by one request.
class CoverageGuard {
 public:
  /// Tells of one more token whether the vocabulary, in use or not, held it.
  void Count(bool held, double floor) {
    share_ += ((held ? 1.0 : 0.0) - share_) / kWindow;
    if (share_ < floor) has_collapsed_ = true;
    if (share_ >= (1.0 + floor) / 2.0) has_collapsed_ = false;
  }

  /// Tells of one more token that came while the full head was scored, where nobody knows whether
  /// the vocabulary would have held it: rows that a sketch chooses are not known then. After
  /// kRest of them the vocabulary has another try.
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
