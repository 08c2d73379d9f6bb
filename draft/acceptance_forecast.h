#ifndef SHORTLIST_DRAFT_ACCEPTANCE_FORECAST_H_
#define SHORTLIST_DRAFT_ACCEPTANCE_FORECAST_H_

namespace shortlist {

/// What speaks for a drafted token. Each has a forecast of its own.
enum class DraftSource {
  kDraft,         // the draft
  kDraftAndText,  // the draft, and what followed earlier in the request's text
  kText,          // the text alone
};

/// How likely the target takes a drafted token, learned from what it took of this request so far.
///
/// A draft's probability is no such likelihood: the best of two flat distributions may well be the
/// same token, and in a text that repeats itself it nearly always is. So the likelihood is taken to
/// be probability^e, and every verdict moves e a little: a calibration (Platt 1999) with one
/// weight, fitted online.
class AcceptanceForecast {
 public:
  /// In [0, 1] for a `probability` in [0, 1], and rising with it; NaN for NaN.
  double Of(double probability) const;

  /// Tells of the target's verdict on a token that the draft gave `probability`.
  void Learn(double probability, bool accepted);

 private:
  double exponent_ = 0.5;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_ACCEPTANCE_FORECAST_H_
