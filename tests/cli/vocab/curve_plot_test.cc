#include "cli/vocab/curve_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace shortlist {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

TEST(RoundTicksTest, AreMultiplesOfRoundStepAroundValues) {
  const auto ticks = [](double low, double high, std::vector<double> expected) {
    EXPECT_THAT(RoundTicks(low, high), Pointwise(DoubleNear(1e-9), expected))
        << low << " to " << high;
  };
  ticks(812, 16384, {0, 5000, 10000, 15000, 20000});
  ticks(62.1, 99.8, {60, 70, 80, 90, 100});
  ticks(0, 1, {0, 0.2, 0.4, 0.6, 0.8, 1});
  ticks(-3, 3, {-3, -2, -1, 0, 1, 2, 3});
  ticks(0.00121, 0.00134, {0.0012, 0.00122, 0.00124, 0.00126, 0.00128, 0.0013, 0.00132, 0.00134});
}

TEST(RoundTicksTest, HoldForAnyRange) {
  for (int exponent = -9; exponent <= 12; ++exponent) {
    for (double width = 1; width < 10; width += 0.37) {
      const double low = 0.3 * width * std::pow(10, exponent);
      const double high = low + width * std::pow(10, exponent);
      const std::vector<double> ticks = RoundTicks(low, high);
      EXPECT_GE(ticks.size(), 3u);
      EXPECT_LE(ticks.size(), 9u);
      EXPECT_LE(ticks.front(), low * (1 + 1e-9));
      EXPECT_GE(ticks.back(), high * (1 - 1e-9));
      const double step = ticks[1] - ticks[0];
      const double digit = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
      EXPECT_TRUE(std::abs(digit - 1) < 1e-6 || std::abs(digit - 2) < 1e-6 ||
                  std::abs(digit - 5) < 1e-6 || std::abs(digit - 10) < 1e-6)
          << step;
    }
  }
}

TEST(RoundTicksTest, SingleValueHasMargin) {
  for (const double value : {0.0, 5.0, -2.5, 1e9}) {
    const std::vector<double> ticks = RoundTicks(value, value);
    EXPECT_LT(ticks.front(), value);
    EXPECT_GT(ticks.back(), value);
  }
}

TEST(CurvePlotTest, HasTitlesAndRoundTicks) {
  const std::string svg = CurvePlot({.plot = "Speed & size", .x = "rows", .y = "tokens/s"},
                                    {{"a", {{812, 62.1}, {16384, 99.8}}}});
  EXPECT_THAT(svg, HasSubstr("<title>Speed &amp; size</title>"));
  for (const char* text : {">rows<", ">tokens/s<", ">15000<", ">70<", ">100<", ">a<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_THAT(CurvePlot({.plot = "Empty", .x = "x", .y = "y"}, {}), HasSubstr(">0.2<"));
}

}  // namespace
}  // namespace shortlist
