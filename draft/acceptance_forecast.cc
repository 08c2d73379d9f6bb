#include "draft/acceptance_forecast.h"

#include <algorithm>
#include <cmath>

namespace shortlist {
namespace {

// Fitted on the demo pair, with some hundred verdicts per request.
constexpr double kRate = 0.25;
constexpr double kLowest = 0.05, kHighest = 2.0;

}  // namespace

double AcceptanceForecast::Of(double probability) const { return std::pow(probability, exponent_); }

void AcceptanceForecast::Learn(double probability, bool accepted) {
  const double surprise = (accepted ? 1.0 : 0.0) - Of(probability);
  if (std::isnan(surprise)) return;
  exponent_ = std::clamp(exponent_ * std::exp(-kRate * surprise), kLowest, kHighest);
}

}  // namespace shortlist
