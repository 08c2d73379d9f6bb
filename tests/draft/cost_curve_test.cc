#include "draft/cost_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace shortlist {
namespace {

double Line(int64_t rows) { return 10.0 + 2.0 * static_cast<double>(rows); }

TEST(CostCurveTest, IsZeroBeforeAnyPass) {
  const CostCurve curve;
  EXPECT_TRUE(curve.empty());
  EXPECT_EQ(curve.Of(1), 0.0);
}

TEST(CostCurveTest, LearnsLineFromSomeRows) {
  CostCurve curve;
  for (int i = 0; i < 20; ++i) {
    for (const int64_t rows : {1, 2, 4, 8}) curve.Add(rows, Line(rows));
  }
  for (const int64_t rows : {1, 2, 3, 6, 8, 12, 16}) {
    EXPECT_NEAR(curve.Of(rows), Line(rows), 0.01 * Line(rows)) << rows;
  }
}

TEST(CostCurveTest, NeverFallsAsRowsGrow) {
  constexpr unsigned kSeed = 1;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  CostCurve curve;
  for (int i = 0; i < 1000; ++i) {
    curve.Add(1 + random() % 70, std::exponential_distribution<double>(0.1)(random));
    for (int64_t rows = 1; rows < 100; ++rows) ASSERT_LE(curve.Of(rows), curve.Of(rows + 1));
  }
}

TEST(CostCurveTest, InterruptedPassCountsLittle) {
  CostCurve curve;
  for (int i = 0; i < 100; ++i) curve.Add(1, 10.0);
  curve.Add(1, 30'000.0);
  EXPECT_LT(curve.Of(1), 12.0);
}

TEST(CostCurveTest, StaleRowsAreRelearnedFast) {
  CostCurve curve;
  for (int i = 0; i < 100; ++i) curve.Add(1, Line(1));
  for (int i = 0; i < 200; ++i) curve.Add(5, 2.0 * Line(5));
  for (int i = 0; i < 16; ++i) {
    curve.Add(1, 2.0 * Line(1));
    for (int step = 0; step < 63; ++step) curve.Add(5, 2.0 * Line(5));
  }
  EXPECT_NEAR(curve.Of(1), 2.0 * Line(1), 0.1 * Line(1));
}

TEST(CostCurveTest, IgnoresInvalidMeasurements) {
  CostCurve curve;
  curve.Add(0, 1.0);
  curve.Add(-1, 1.0);
  curve.Add(1, 0.0);
  curve.Add(1, -1.0);
  curve.Add(1, std::numeric_limits<double>::quiet_NaN());
  curve.Add(1, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(curve.empty());
}

}  // namespace
}  // namespace shortlist
