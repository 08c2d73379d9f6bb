#ifndef SHORTLIST_DRAFT_ACCEPTANCE_FORECAST_H_
#define SHORTLIST_DRAFT_ACCEPTANCE_FORECAST_H_

namespace shortlist {

/// Probability that the target accepts a drafted token, learned from this request's verdicts.
///
/// The draft's probability alone is a poor estimate. Two flat distributions may share their best
/// token, and in repetitive text they nearly always do. The estimate is therefore probability^e,
/// and every verdict adjusts e slightly: a calibration (Platt 1999) with one weight, fitted online.
class AcceptanceForecast {
 public:
  /// `exponent`: e before any verdict. 1 for a calibrated probability.
  explicit AcceptanceForecast(double exponent = 0.5) : exponent_(exponent) {}

  /// Returns a value in [0, 1] that rises with `probability` in [0, 1]; NaN for NaN.
  double Of(double probability) const;

  /// Records the target's verdict on a token to which the draft gave `probability`.
  void Learn(double probability, bool accepted);

 private:
  double exponent_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_ACCEPTANCE_FORECAST_H_
