#include "kernels/elementwise.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/kernel_table.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

constexpr int64_t kSizes[] = {1, 2, 7, 8, 15, 16, 17, 33, 64, 130, 199};

/// Calls body() on every instruction set.
template <typename Body>
void ForEachIsa(Body&& body) {
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    SCOPED_TRACE(IsaName(isa));
    ASSERT_NO_FATAL_FAILURE(body());
  }
}

TEST(ElementwiseTest, RmsNormMatchesDoublePrecision) {
  std::mt19937 rng(1);
  ForEachIsa([&] {
    for (const int64_t hidden : kSizes) {
      for (const int64_t num_tokens : {0, 1, 3, 17}) {
        std::vector<float> x = RandomFloats(rng, num_tokens * hidden);
        const std::vector<float> weight = RandomFloats(rng, hidden);
        std::vector<float> y(x.size());
        ThreadPool pool(2);
        RmsNormCpu(x.data(), weight.data(), /*epsilon=*/1e-5f, num_tokens, hidden, y.data(), pool);
        for (int64_t t = 0; t < num_tokens; ++t) {
          double squares = 0;
          for (int64_t i = 0; i < hidden; ++i) squares += std::pow(x[t * hidden + i], 2.0);
          for (int64_t i = 0; i < hidden; ++i) {
            const double exact = x[t * hidden + i] / std::sqrt(squares / hidden + 1e-5) * weight[i];
            ASSERT_NEAR(y[t * hidden + i], exact, 2e-6 * std::abs(exact) + 1e-12) << hidden;
          }
        }
        RmsNormCpu(x.data(), weight.data(), 1e-5f, num_tokens, hidden, x.data(), pool);
        ASSERT_TRUE(SameBits(x, y)) << "in place, hidden " << hidden;
      }
    }
  });
}

TEST(ElementwiseTest, AddedRmsNormIsSumOfBoth) {
  std::mt19937 rng(7);
  ForEachIsa([&] {
    for (const int64_t hidden : kSizes) {
      for (const int64_t num_tokens : {0, 1, 17}) {
        std::vector<float> x = RandomFloats(rng, num_tokens * hidden);
        const std::vector<float> weight = RandomFloats(rng, hidden);
        std::vector<float> y = RandomFloats(rng, num_tokens * hidden);
        std::vector<float> sum(x.size());
        ThreadPool pool(2);
        RmsNormCpu(x.data(), weight.data(), 1e-5f, num_tokens, hidden, sum.data(), pool);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += y[i];
        AddRmsNormCpu(x.data(), weight.data(), 1e-5f, num_tokens, hidden, y.data(), pool);
        ASSERT_TRUE(SameBits(y, sum)) << hidden;
      }
    }
  });
}

TEST(ElementwiseTest, LayerNormMatchesDoublePrecision) {
  std::mt19937 rng(5);
  constexpr float kEpsilon = 1e-5f;
  ForEachIsa([&] {
    for (const int64_t hidden : kSizes) {
      const std::vector<float> weight = RandomFloats(rng, hidden);
      const std::vector<float> bias = RandomFloats(rng, hidden);
      const std::vector<float> addend = RandomFloats(rng, hidden);
      for (const bool with_extras : {false, true}) {
        const LayerNorm norm = {weight.data(), with_extras ? bias.data() : nullptr, kEpsilon};
        const float* const added = with_extras ? addend.data() : nullptr;
        for (const int64_t num_tokens : {0, 1, 3, 300}) {
          std::vector<float> x = RandomFloats(rng, num_tokens * hidden);
          for (float& value : x) value += 2.0f;  // a mean to take away
          std::vector<float> y(x.size());
          ThreadPool pool(2);
          LayerNormCpu(x.data(), added, norm, num_tokens, hidden, y.data(), pool);
          for (int64_t t = 0; t < num_tokens; ++t) {
            std::vector<double> row(hidden);
            double mean = 0, variance = 0;
            for (int64_t i = 0; i < hidden; ++i) {
              row[i] = x[t * hidden + i] + (with_extras ? addend[i] : 0.0f);
              mean += row[i] / static_cast<double>(hidden);
            }
            for (const double value : row) {
              variance += (value - mean) * (value - mean) / static_cast<double>(hidden);
            }
            const double deviation = std::sqrt(variance + kEpsilon);
            for (int64_t i = 0; i < hidden; ++i) {
              const double exact =
                  (row[i] - mean) / deviation * weight[i] + (with_extras ? bias[i] : 0.0f);
              ASSERT_NEAR(y[t * hidden + i], exact,
                          2e-6 * (std::abs(weight[i]) * (1.0 + 1.0 / deviation) + std::abs(exact)))
                  << hidden;
            }
          }
          LayerNormCpu(x.data(), added, norm, num_tokens, hidden, x.data(), pool);
          ASSERT_TRUE(SameBits(x, y)) << "in place, hidden " << hidden;
        }
      }
    }
  });
}

TEST(ElementwiseTest, BiasIsAddedToEveryRow) {
  std::mt19937 rng(9);
  for (const int64_t width : kSizes) {
    const std::vector<float> before = RandomFloats(rng, 300 * width);
    const std::vector<float> bias = RandomFloats(rng, width);
    std::vector<float> after = before;
    ThreadPool pool(2);
    AddBiasCpu(after.data(), bias.data(), /*num_tokens=*/300, width, pool);
    for (size_t i = 0; i < after.size(); ++i) {
      ASSERT_EQ(after[i], before[i] + bias[i % static_cast<size_t>(width)]);
    }
  }
}

TEST(ElementwiseTest, SigmoidGatesMultiply) {
  std::mt19937 rng(10);
  ForEachIsa([&] {
    for (const int64_t width : kSizes) {
      std::vector<float> gate = RandomFloats(rng, 30 * width);
      for (size_t i = 0; i < gate.size(); ++i) gate[i] *= static_cast<float>(i % 40);
      gate[0] = 1e30f;
      const std::vector<float> before = RandomFloats(rng, 30 * width);
      std::vector<float> after = before;
      ThreadPool pool(2);
      GateCpu(Activation::kSigmoid, gate.data(), /*num_tokens=*/30, width, after.data(), pool);
      for (size_t i = 0; i < after.size(); ++i) {
        const double exact = before[i] / (1.0 + std::exp(-static_cast<double>(gate[i])));
        ASSERT_NEAR(after[i], exact, 6e-7 * std::abs(exact) + 1e-37) << gate[i];
      }
    }
    const float gates[] = {-1e30f, std::numeric_limits<float>::quiet_NaN()};
    float x[] = {1.0f, 1.0f};
    ThreadPool pool(1);
    GateCpu(Activation::kSigmoid, gates, /*num_tokens=*/1, /*width=*/2, x, pool);
    EXPECT_NEAR(x[0], 0.0f, 1e-37f);
    EXPECT_TRUE(std::isnan(x[1]));
  });
}

TEST(ElementwiseTest, SumExpIsAccurateOverItsRange) {
  const float kInf = std::numeric_limits<float>::infinity();
  ForEachIsa([&] {
    for (float x = -87.0f; x <= 0.0f; x += 0.0137f) {
      const double exact = std::exp(static_cast<double>(x));
      ASSERT_NEAR(CurrentKernels().sum_exp(&x, 1, /*shift=*/0), exact, 3e-7 * exact) << x;
    }
    const float values[] = {-kInf, -200.0f, std::numeric_limits<float>::quiet_NaN(), -kInf};
    EXPECT_LT(CurrentKernels().sum_exp(values, 4, /*shift=*/0), 1e-38f);
    EXPECT_EQ(CurrentKernels().max(values, 4), -200.0f);
    EXPECT_EQ(CurrentKernels().max(values + 2, 1), -kInf);
    EXPECT_EQ(CurrentKernels().max(values, 0), -kInf);
  });
}

TEST(ElementwiseTest, EveryHalfPatternConvertsLikeReference) {
  std::vector<uint16_t> patterns(1 << 16);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  const int64_t count =
      static_cast<int64_t>(patterns.size()) - 3;  // a tail for every vector length
  for (const DType dtype : {DType::kF16, DType::kBf16}) {
    std::vector<float> expected(count);
    kReferenceKernels.to_f32(patterns.data(), dtype, count, expected.data());
    ForEachIsa([&] {
      std::vector<float> values(count);
      CurrentKernels().to_f32(patterns.data(), dtype, count, values.data());
      ASSERT_TRUE(SameBits(values, expected)) << DTypeName(dtype);
    });
  }
}

TEST(ElementwiseTest, NarrowingRoundsLikeReference) {
  std::mt19937 rng(5);
  std::vector<float> source(100003);
  for (float& value : source) value = std::bit_cast<float>(static_cast<uint32_t>(rng()));
  for (uint32_t i = 0; i < 60000; ++i) {  // midpoints of neighbours, the hard cases of rounding
    const float low = F16ToFloat(static_cast<uint16_t>(i));
    source[i] = low + (F16ToFloat(static_cast<uint16_t>(i + 1)) - low) / 2;
  }
  for (const DType dtype : {DType::kF16, DType::kBf16}) {
    std::vector<uint16_t> expected(source.size());
    kReferenceKernels.from_f32(source.data(), dtype, source.size(), expected.data());
    ForEachIsa([&] {
      std::vector<uint16_t> stored(source.size());
      CurrentKernels().from_f32(source.data(), dtype, source.size(), stored.data());
      ASSERT_EQ(stored, expected) << DTypeName(dtype);
    });
  }
}

TEST(ElementwiseTest, EmbeddingReadsRowsAndAddsThem) {
  std::mt19937 rng(6);
  for (const DType dtype : kAllDTypes) {
    ForEachIsa([&] {
      for (const int64_t hidden : kSizes) {
        const Stored table(RandomFloats(rng, 20 * hidden), dtype);
        const std::vector<int32_t> ids = {19, 0, 7, 7};
        std::vector<float> out(4 * hidden);
        ThreadPool pool(2);
        EmbeddingCpu(table.data(), dtype, hidden, ids.data(), /*num_tokens=*/4, out.data(), pool);
        for (int64_t t = 0; t < 4; ++t) {
          for (int64_t i = 0; i < hidden; ++i) {
            ASSERT_EQ(out[t * hidden + i], table.values[ids[t] * hidden + i]);
          }
        }
        const std::vector<int32_t> others = {3, 19, 0, 7};
        AddEmbeddingCpu(table.data(), dtype, hidden, others.data(), /*num_tokens=*/4, out.data(),
                        pool);
        for (int64_t t = 0; t < 4; ++t) {
          for (int64_t i = 0; i < hidden; ++i) {
            ASSERT_EQ(out[t * hidden + i],
                      table.values[ids[t] * hidden + i] + table.values[others[t] * hidden + i]);
          }
        }
        EmbeddingCpu(table.data(), dtype, hidden, nullptr, /*num_tokens=*/0, nullptr, pool);
        AddEmbeddingCpu(table.data(), dtype, hidden, nullptr, /*num_tokens=*/0, nullptr, pool);
      }
    });
  }
}

TEST(ElementwiseTest, AllFiniteFindsOneBadElementAnywhere) {
  std::mt19937 rng(7);
  ThreadPool pool(3);
  for (const DType dtype : kAllDTypes) {
    for (const int64_t count : {0, 1, 33, 40000}) {
      std::vector<float> values = RandomFloats(rng, count);
      for (int64_t i = 0; i < count; i += 5) values[i] = -60000.0f;
      EXPECT_TRUE(AllFiniteCpu(Stored(values, dtype).data(), dtype, count, pool));
      for (int trial = 0; trial < 10 && count > 0; ++trial) {
        const int64_t at = trial == 0 ? count - 1 : RandomInt(rng, 0, count - 1);
        const float kept = values[at];
        for (const float bad :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
              -std::numeric_limits<float>::infinity()}) {
          values[at] = bad;
          EXPECT_FALSE(AllFiniteCpu(Stored(values, dtype).data(), dtype, count, pool));
        }
        values[at] = kept;
      }
    }
  }
}

}  // namespace
}  // namespace shortlist
