#include "draft/acceptance_forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace shortlist {
namespace {

TEST(AcceptanceForecastTest, ConvergesToAcceptanceRate) {
  // Targets that take a token of probability p with probability p^truth: from one that repeats
  // itself (0.1) to one that is choosier than the draft (1.5).
  for (double truth : {0.1, 0.3, 0.7, 1.0, 1.5}) {
    const uint64_t seed = 11;
    SCOPED_TRACE(testing::Message() << "truth " << truth << ", seed " << seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    AcceptanceForecast forecast;
    const auto step = [&](double p) {
      forecast.Learn(p, uniform(random) < std::pow(p, truth));
      return forecast.Of(p) - std::pow(p, truth);
    };
    for (int i = 0; i < 50; ++i) step(uniform(random));
    double bias = 0.0;
    constexpr int kJudged = 4000;
    for (int i = 0; i < kJudged; ++i) bias += step(uniform(random));
    EXPECT_NEAR(bias / kJudged, 0.0, 0.04);
  }
}

TEST(AcceptanceForecastTest, StaysMonotonicInProbability) {
  for (bool accepted : {false, true}) {
    AcceptanceForecast forecast;
    for (int i = 0; i < 1000; ++i) forecast.Learn(0.5, accepted);
    EXPECT_EQ(forecast.Of(0.0), 0.0);
    EXPECT_EQ(forecast.Of(1.0), 1.0);
    for (double p = 0.1; p < 1.0; p += 0.1) {
      EXPECT_LT(forecast.Of(p - 0.1), forecast.Of(p));
    }
    EXPECT_EQ(forecast.Of(0.5) > 0.95, accepted);
    EXPECT_EQ(forecast.Of(0.5) < 0.3, !accepted);
  }
}

TEST(AcceptanceForecastTest, NanIsIgnored) {
  AcceptanceForecast forecast;
  const double before = forecast.Of(0.3);
  forecast.Learn(std::numeric_limits<double>::quiet_NaN(), true);
  EXPECT_EQ(forecast.Of(0.3), before);
  EXPECT_TRUE(std::isnan(forecast.Of(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace shortlist
