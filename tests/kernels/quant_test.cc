#include "kernels/quant.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/head.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

constexpr DType kQuantDTypes[] = {DType::kInt8, DType::kInt4};
constexpr QuantLayout kQuantLayouts[] = {QuantLayout::kHeadRow, QuantLayout::kPanel};

/// Weights of all sizes, groups of zeros and of tiny and huge numbers among them.
std::vector<float> MixedWeights(std::mt19937& rng, int64_t width) {
  std::vector<float> row = RandomFloats(rng, width);
  for (int64_t k = 0; k < width; k += 16) {
    const float size = std::vector<float>{1.0f, 0.0f, 1e-3f, 1e-37f, 1e36f}[RandomInt(rng, 0, 4)];
    for (int64_t i = k; i < std::min(width, k + 16); ++i) row[i] *= size;
  }
  return row;
}

TEST(QuantTest, GroupsCoverRowAndFillLanes) {
  for (const DType dtype : kQuantDTypes) {
    const int64_t max_len = dtype == DType::kInt4 ? 32 : 64;
    for (int64_t width = 1; width <= 9000; ++width) {
      for (const QuantLayout layout : kQuantLayouts) {
        const QuantShape shape = QuantShape::Of(dtype, width, layout);
        ASSERT_EQ(shape.group_len % (dtype == DType::kInt4 ? 8 : 4), 0) << width;
        ASSERT_GT(shape.group_len, 0) << width;
        ASSERT_LE(shape.group_len, max_len) << width;
        ASSERT_GE(shape.num_groups * shape.group_len, width);
        ASSERT_LT((shape.num_groups - 1) * shape.group_len, width);
      }
      ASSERT_EQ(QuantShape::Of(dtype, width, QuantLayout::kPanel).num_groups,
                (width + max_len - 1) / max_len);
    }
  }
  EXPECT_EQ(QuantShape::Of(DType::kInt8, 896, QuantLayout::kHeadRow).group_len, 56);
  EXPECT_EQ(QuantShape::Of(DType::kInt8, 896, QuantLayout::kPanel).group_len, 64);
  EXPECT_EQ(QuantShape::Of(DType::kInt4, 896, QuantLayout::kHeadRow).group_len, 32);
  EXPECT_EQ(RowBytes(DType::kInt8, 896), 896 + 2 * 16);
  EXPECT_EQ(RowBytes(DType::kInt4, 896), 448 + 2 * 28);
  EXPECT_EQ(RowBytes(DType::kBf16, 896), 2 * 896);
}

TEST(QuantTest, CodesAreNearestWithinBound) {
  const uint32_t seed = 1;
  SCOPED_TRACE(seed);
  std::mt19937 rng(seed);
  for (int round = 0; round < 300; ++round) {
    const int64_t width = RandomInt(rng, 1, 1500);
    const std::vector<float> row = MixedWeights(rng, width);
    for (const DType dtype : kQuantDTypes) {
      const QuantShape shape = QuantShape::Of(dtype, width, kQuantLayouts[RandomInt(rng, 0, 1)]);
      std::vector<int8_t> codes(shape.num_groups * shape.group_len, 99);
      std::vector<uint16_t> scales(shape.num_groups, 99);
      QuantizeRow(row.data(), dtype, shape, codes.data(), scales.data());
      const int low = dtype == DType::kInt4 ? -8 : -127;
      const int high = dtype == DType::kInt4 ? 7 : 127;
      for (int64_t k = 0; k < shape.num_groups * shape.group_len; ++k) {
        if (k >= width) {
          ASSERT_EQ(codes[k], 0);
          continue;
        }
        const double scale = Bf16ToFloat(scales[k / shape.group_len]);
        ASSERT_GE(codes[k], low);
        ASSERT_LE(codes[k], high);
        const double error = std::abs(codes[k] * scale - row[k]);
        const bool clipped = dtype == DType::kInt4 && (codes[k] == low || codes[k] == high);
        ASSERT_LE(error, std::abs(scale) * (clipped ? 1.5 : 0.5) * (1 + 1e-2) + 1e-40)
            << DTypeName(dtype) << " column " << k << " of " << width << ": " << row[k] << " as "
            << int{codes[k]} << " * " << scale;
      }
    }
  }
}

TEST(QuantTest, HeadRowMatchesItsCodes) {
  const uint32_t seed = 2;
  SCOPED_TRACE(seed);
  std::mt19937 rng(seed);
  for (int round = 0; round < 200; ++round) {
    const int64_t hidden = round < 100 ? round + 1 : RandomInt(rng, 100, 5000);
    const std::vector<float> row = MixedWeights(rng, hidden);
    for (const DType dtype : kQuantDTypes) {
      const QuantShape shape = QuantShape::Of(dtype, hidden, QuantLayout::kHeadRow);
      std::vector<int8_t> codes(shape.num_groups * shape.group_len);
      std::vector<uint16_t> scales(shape.num_groups);
      QuantizeRow(row.data(), dtype, shape, codes.data(), scales.data());
      std::vector<char> bytes(RowBytes(dtype, hidden));
      QuantizeHeadRow(row.data(), dtype, hidden, bytes.data());
      std::vector<float> back(hidden);
      DequantizeHeadRow(bytes.data(), dtype, hidden, back.data());
      for (int64_t k = 0; k < hidden; ++k) {
        ASSERT_EQ(back[k], codes[k] * Bf16ToFloat(scales[k / shape.group_len]))
            << DTypeName(dtype) << " hidden " << hidden << " column " << k;
      }
    }
  }
}

TEST(QuantTest, RowsMatchQuantizerOnAnyThreads) {
  std::mt19937 rng(3);
  constexpr int64_t kRows = 70, kHidden = 93;
  const std::vector<float> numbers = RandomFloats(rng, kRows * kHidden);
  for (const DType from : kAllDTypes) {
    const Stored source(numbers, from);
    for (const DType dtype : kQuantDTypes) {
      const StoredRows expected(source.values, dtype, kHidden);
      for (const int num_threads : {1, 3}) {
        ThreadPool pool(num_threads);
        const QuantizedRows rows =
            QuantizedRows::Quantize(source.data(), from, kRows, kHidden, dtype, pool);
        ASSERT_EQ(std::memcmp(rows.data(), expected.bytes.data(), expected.bytes.size()), 0);
      }
    }
  }
}

TEST(QuantTest, InputsOfEverySizeAreScored) {
  std::mt19937 rng(4);
  constexpr int64_t kHidden = 200;
  const std::vector<float> weights = RandomFloats(rng, kHidden);
  for (const DType dtype : kQuantDTypes) {
    const StoredRows row(weights, dtype, kHidden);
    for (const Isa isa : SupportedIsas()) {
      const ScopedIsa scoped(isa);
      for (const float size : {0.0f, 1e-44f, 1e-31f, 1e-29f, 1e-10f, 1.0f, 1e30f, 1e36f}) {
        std::vector<float> x = RandomFloats(rng, kHidden);
        for (float& value : x) value *= size;
        const ExactDot exact = DotOracle(x.data(), row.values.data(), kHidden, dtype);
        EXPECT_NEAR(HeadDotCpu(row.row(0), dtype, x.data(), kHidden), exact.value, exact.tolerance)
            << Describe(isa, dtype) << " size " << size;
      }
    }
  }
}

TEST(QuantTest, NanInputsGiveNan) {
  std::mt19937 rng(5);
  constexpr int64_t kHidden = 77;
  const std::vector<float> weights = RandomFloats(rng, kHidden);
  for (const DType dtype : kQuantDTypes) {
    const StoredRows row(weights, dtype, kHidden);
    for (const Isa isa : SupportedIsas()) {
      const ScopedIsa scoped(isa);
      for (const float bad :
           {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
            std::numeric_limits<float>::quiet_NaN()}) {
        for (const int64_t at : {int64_t{0}, int64_t{40}, kHidden - 1}) {
          std::vector<float> x = RandomFloats(rng, kHidden);
          x[at] = bad;
          EXPECT_TRUE(std::isnan(HeadDotCpu(row.row(0), dtype, x.data(), kHidden)))
              << Describe(isa, dtype) << " " << bad << " at " << at;
        }
      }
    }
  }
}

}  // namespace
}  // namespace shortlist
