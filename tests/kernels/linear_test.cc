#include "kernels/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/elementwise.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

std::vector<float> Apply(const PackedLinear& weight, const std::vector<float>& x,
                         int64_t num_tokens, int num_threads = 1) {
  ThreadPool pool(num_threads);
  std::vector<float> y(num_tokens * weight.out_features(), -7.0f);
  LinearCpu(weight, {x.data()}, num_tokens, y.data(), /*accumulate=*/false, pool);
  return y;
}

PackedLinear Pack(const StoredRows& weight, int64_t in_features) {
  ThreadPool pool(2);
  const int64_t num_rows = static_cast<int64_t>(weight.values.size()) / in_features;
  const MatrixView block{weight.source.data(), weight.source.dtype, num_rows};
  return PackedLinear::Pack({&block, 1}, in_features, weight.dtype, pool);
}

TEST(LinearTest, MatchesDoublePrecisionOverOddShapes) {
  const uint32_t seed = 1;
  SCOPED_TRACE(seed);
  std::mt19937 rng(seed);
  for (int round = 0; round < 60; ++round) {
    const int64_t in_features = RandomInt(rng, 1, 200);
    const int64_t out_features = RandomInt(rng, 1, 300);
    const int64_t num_tokens = round < 18 ? round : RandomInt(rng, 1, 40);
    const std::vector<float> x = RandomFloats(rng, num_tokens * in_features);
    const std::vector<float> w = RandomFloats(rng, out_features * in_features);
    for (const DType dtype : kWeightDTypes) {
      const StoredRows stored(w, dtype, in_features, QuantLayout::kPanel);
      for (const Isa isa : SupportedIsas()) {
        const ScopedIsa scoped(isa);
        const std::vector<float> y = Apply(Pack(stored, in_features), x, num_tokens);
        for (int64_t m = 0; m < num_tokens; ++m) {
          for (int64_t n = 0; n < out_features; ++n) {
            const ExactDot exact =
                DotOracle(&x[m * in_features], &stored.values[n * in_features], in_features, dtype,
                          /*num_epsilons=*/8, QuantLayout::kPanel);
            ASSERT_NEAR(y[m * out_features + n], exact.value, exact.tolerance)
                << Describe(isa, dtype) << " [" << num_tokens << ", " << in_features << "] -> "
                << out_features << " at " << m << ", " << n;
          }
        }
      }
    }
  }
}

TEST(LinearTest, RowBitsAreIndependentOfBatchAndThreads) {
  std::mt19937 rng(2);
  for (const int64_t in_features : {1, 31, 64, 129, 1027}) {
    const int64_t out_features = 323;
    const int64_t max_tokens = 150;
    const std::vector<float> x = RandomFloats(rng, max_tokens * in_features);
    const std::vector<float> w = RandomFloats(rng, out_features * in_features);
    for (const DType dtype : kWeightDTypes) {
      for (const Isa isa : SupportedIsas()) {
        if (isa == Isa::kScalar && in_features > 200) continue;
        const ScopedIsa scoped(isa);
        const PackedLinear weight = Pack(StoredRows(w, dtype, in_features), in_features);
        const std::vector<float> all = Apply(weight, x, max_tokens);
        for (const int num_threads : {2, 3, 5}) {
          ASSERT_TRUE(SameBits(all, Apply(weight, x, max_tokens, num_threads)))
              << Describe(isa, dtype) << " threads " << num_threads;
        }
        for (int64_t num_tokens = 1; num_tokens <= 26; ++num_tokens) {
          const int64_t first = RandomInt(rng, 0, max_tokens - num_tokens);
          const std::vector<float> part(x.begin() + first * in_features,
                                        x.begin() + (first + num_tokens) * in_features);
          const std::vector<float> expected(all.begin() + first * out_features,
                                            all.begin() + (first + num_tokens) * out_features);
          ASSERT_TRUE(SameBits(expected, Apply(weight, part, num_tokens, /*num_threads=*/2)))
              << Describe(isa, dtype) << " tokens " << num_tokens << " in " << in_features;
        }
      }
    }
  }
}

TEST(LinearTest, BlocksOfAnyDtypeStackAndConvert) {
  std::mt19937 rng(3);
  const int64_t in_features = 45;
  const std::vector<float> x = RandomFloats(rng, 3 * in_features);
  const Stored first(RandomFloats(rng, 7 * in_features), DType::kF32);
  const Stored second(RandomFloats(rng, 70 * in_features), DType::kF16);
  const Stored third(RandomFloats(rng, 33 * in_features), DType::kBf16);
  const std::vector<MatrixView> blocks = {
      {first.data(), first.dtype, 7},
      {nullptr, DType::kF32, /*num_rows=*/0},
      {second.data(), second.dtype, 70},
      {third.data(), third.dtype, 33},
  };
  std::vector<float> stacked;
  for (const Stored* block : {&first, &second, &third}) {
    stacked.insert(stacked.end(), block->values.begin(), block->values.end());
  }
  ThreadPool pool(2);
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    for (const DType dtype : kWeightDTypes) {
      const PackedLinear mixed = PackedLinear::Pack(blocks, in_features, dtype, pool);
      EXPECT_EQ(mixed.out_features(), 110);
      EXPECT_EQ(mixed.in_features(), in_features);
      EXPECT_EQ(mixed.dtype(), dtype);
      const PackedLinear whole = Pack(StoredRows(stacked, dtype, in_features), in_features);
      EXPECT_TRUE(SameBits(Apply(mixed, x, 3), Apply(whole, x, 3))) << Describe(isa, dtype);
    }
  }
}

TEST(LinearTest, AccumulateAddsSameProduct) {
  std::mt19937 rng(4);
  const int64_t in_features = 37;
  const int64_t out_features = 45;
  const std::vector<float> x = RandomFloats(rng, 5 * in_features);
  const std::vector<float> before = RandomFloats(rng, 5 * out_features);
  ThreadPool pool(2);
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    for (const DType dtype : kWeightDTypes) {
      const PackedLinear weight =
          Pack(StoredRows(RandomFloats(rng, out_features * in_features), dtype, in_features),
               in_features);
      std::vector<float> y = before;
      LinearCpu(weight, {x.data()}, /*num_tokens=*/5, y.data(), /*accumulate=*/true, pool);
      std::vector<float> expected = Apply(weight, x, 5);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += before[i];
      EXPECT_TRUE(SameBits(y, expected)) << Describe(isa, dtype);
    }
  }
}

TEST(LinearTest, FusedInputNormMatchesRmsNorm) {
  std::mt19937 rng(7);
  const float epsilon = 1e-3f;
  ThreadPool pool(3);
  for (const int64_t in_features : {1, 37, 300}) {
    for (const int64_t num_tokens : {1, 5, 64}) {  // 64 * 300 elements are shared between threads
      const std::vector<float> x = RandomFloats(rng, num_tokens * in_features);
      const std::vector<float> norm = RandomFloats(rng, in_features);
      for (const Isa isa : SupportedIsas()) {
        const ScopedIsa scoped(isa);
        std::vector<float> normed(x.size());
        RmsNormCpu(x.data(), norm.data(), epsilon, num_tokens, in_features, normed.data(), pool);
        for (const DType dtype : kWeightDTypes) {
          const PackedLinear weight = Pack(
              StoredRows(RandomFloats(rng, 70 * in_features), dtype, in_features), in_features);
          std::vector<float> y(num_tokens * 70);
          LinearCpu(weight, {x.data(), norm.data(), epsilon}, num_tokens, y.data(),
                    /*accumulate=*/false, pool);
          EXPECT_TRUE(SameBits(y, Apply(weight, normed, num_tokens))) << Describe(isa, dtype);
        }
      }
    }
  }
}

TEST(GatedLinearTest, MatchesSiluTimesProduct) {
  const uint32_t seed = 8;
  SCOPED_TRACE(seed);
  std::mt19937 rng(seed);
  for (int round = 0; round < 12; ++round) {
    const int64_t in_features = RandomInt(rng, 1, 100);
    const int64_t out_features = RandomInt(rng, 1, 700);
    const int64_t num_tokens = RandomInt(rng, 0, 30);
    ThreadPool pool(static_cast<int>(RandomInt(rng, 1, 5)));
    const std::vector<float> x = RandomFloats(rng, num_tokens * in_features);
    for (const DType dtype : kWeightDTypes) {
      const StoredRows gate(RandomFloats(rng, out_features * in_features), dtype, in_features);
      const StoredRows up(RandomFloats(rng, out_features * in_features), dtype, in_features);
      const MatrixView blocks[] = {{gate.source.data(), gate.source.dtype, out_features},
                                   {up.source.data(), up.source.dtype, out_features}};
      for (const Isa isa : SupportedIsas()) {
        const ScopedIsa scoped(isa);
        std::vector<float> y(num_tokens * out_features);
        GatedLinearCpu(Pack(gate, in_features), Pack(up, in_features), {x.data()}, num_tokens,
                       Activation::kSilu, y.data(), pool);
        const std::vector<float> gate_up =
            Apply(PackedLinear::Pack(blocks, in_features, dtype, pool), x, num_tokens);
        std::vector<float> expected(y.size());
        for (int64_t t = 0; t < num_tokens; ++t) {
          const float* row = gate_up.data() + t * 2 * out_features;
          CurrentKernels().activate_mul(Activation::kSilu, row, row + out_features, out_features,
                                        expected.data() + t * out_features);
        }
        EXPECT_TRUE(SameBits(y, expected)) << Describe(isa, dtype) << " [" << num_tokens << ", "
                                           << in_features << "] -> " << out_features;
      }
    }
  }
}

TEST(LinearTest, ActivatedMatchesLinearThenBiasAndActivation) {
  std::mt19937 rng(9);
  for (int round = 0; round < 12; ++round) {
    const int64_t in_features = RandomInt(rng, 1, 100);
    const int64_t out_features = RandomInt(rng, 1, 700);
    const int64_t num_tokens = RandomInt(rng, 0, 30);
    ThreadPool pool(static_cast<int>(RandomInt(rng, 1, 5)));
    const std::vector<float> x = RandomFloats(rng, num_tokens * in_features);
    const std::vector<float> bias = RandomFloats(rng, out_features);
    for (const DType dtype : kWeightDTypes) {
      const StoredRows rows(RandomFloats(rng, out_features * in_features), dtype, in_features);
      for (const Isa isa : SupportedIsas()) {
        const ScopedIsa scoped(isa);
        const PackedLinear weight = Pack(rows, in_features);
        for (const float* added : {static_cast<const float*>(nullptr), bias.data()}) {
          std::vector<float> y(num_tokens * out_features);
          ActivatedLinearCpu(weight, added, {x.data()}, num_tokens, Activation::kGeluErf, y.data(),
                             pool);
          std::vector<float> expected = Apply(weight, x, num_tokens);
          for (int64_t t = 0; t < num_tokens; ++t) {
            float* const row = expected.data() + t * out_features;
            CurrentKernels().activate(Activation::kGeluErf, row, added, out_features, row);
          }
          EXPECT_TRUE(SameBits(y, expected)) << Describe(isa, dtype) << " [" << num_tokens << ", "
                                             << in_features << "] -> " << out_features;
        }
      }
    }
  }
}

// The same kernels over the unit and over loops (tests/kernels/tiles_test.cc).
TEST(LinearTest, AmxMatchesPlainTileBits) {
  if (DetectIsa() != Isa::kAmx) GTEST_SKIP() << "no AMX on this machine";
  std::mt19937 rng(10);
  const int64_t out_features = 75;
  for (const int64_t in_features : {1, 31, 64, 129, 700}) {
    for (const int64_t num_tokens : {1, 3, 8, 11, 16, 17, 45}) {
      const std::vector<float> x = RandomFloats(rng, num_tokens * in_features);
      const std::vector<float> w = RandomFloats(rng, out_features * in_features);
      for (const DType dtype : {DType::kBf16, DType::kInt8, DType::kInt4}) {
        const PackedLinear weight = Pack(StoredRows(w, dtype, in_features), in_features);
        const std::vector<float> unit = Apply(weight, x, num_tokens);
        const ScopedIsa plain(Isa::kAmxPlain);
        EXPECT_TRUE(SameBits(unit, Apply(weight, x, num_tokens)))
            << DTypeName(dtype) << " tokens " << num_tokens << " in " << in_features;
      }
    }
  }
}

// Blocks of tokens that share a panel, and more tokens than a cache holds: sums go on from block to
// block of the input features.
TEST(LinearTest, TokenBitsAreIndependentOfBatch) {
  std::mt19937 rng(11);
  const int64_t in_features = 1040, out_features = 40;
  const std::vector<float> w = RandomFloats(rng, out_features * in_features);
  for (const int64_t num_tokens : {4, 8, 12, 16, 33, 70, 700}) {
    const std::vector<float> x = RandomFloats(rng, num_tokens * in_features);
    for (const DType dtype : {DType::kBf16, DType::kInt8, DType::kInt4}) {
      const PackedLinear weight = Pack(StoredRows(w, dtype, in_features), in_features);
      for (const Isa isa : SupportedIsas()) {
        if (isa <= Isa::kAmxPlain) continue;  // too slow
        const ScopedIsa scoped(isa);
        const std::vector<float> all = Apply(weight, x, num_tokens, /*num_threads=*/2);
        for (const int64_t token : {0, 15, 16, 32, 511, 512, 699}) {
          if (token >= num_tokens) continue;
          const std::vector<float> alone(x.begin() + token * in_features,
                                         x.begin() + (token + 1) * in_features);
          const std::vector<float> expected(all.begin() + token * out_features,
                                            all.begin() + (token + 1) * out_features);
          EXPECT_TRUE(SameBits(expected, Apply(weight, alone, 1)))
              << Describe(isa, dtype) << " token " << token << " of " << num_tokens;
        }
      }
    }
  }
}

// Where byte products are added up in 16 bits, a group of the largest codes must still fit.
TEST(LinearTest, LargestCodesDoNotSaturate) {
  const int64_t in_features = 64, out_features = 32;
  // The first weight of a group of 32 has code -8, the others 7: as stored, 0 and 15.
  std::vector<float> w(out_features * in_features, -0.875f);
  for (size_t i = 0; i < w.size(); i += 32) w[i] = 1.0f;
  const std::vector<float> x(in_features, 1.0f);
  const float expected = 2.0f * (1.0f - 31.0f * 0.875f);
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    const PackedLinear weight = Pack(StoredRows(w, DType::kInt4, in_features), in_features);
    for (const float y : Apply(weight, x, 1)) {
      EXPECT_NEAR(y, expected, 1e-4f) << Describe(isa, DType::kInt4);
    }
  }
}

TEST(LinearTest, NoTokensTouchNothing) {
  std::mt19937 rng(5);
  const PackedLinear weight =
      Pack(StoredRows(RandomFloats(rng, 6), DType::kF32, /*row_width=*/3), 3);
  ThreadPool pool(2);
  LinearCpu(weight, /*input=*/{}, /*num_tokens=*/0, /*y=*/nullptr, /*accumulate=*/false, pool);
}

// One NaN or infinity in a token spoils that token alone, in every tile.
TEST(LinearTest, NonFiniteInputsStayInTheirRow) {
  std::mt19937 rng(6);
  const int64_t in_features = 33;
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    for (const DType dtype : kWeightDTypes) {
      const PackedLinear weight =
          Pack(StoredRows(RandomFloats(rng, 40 * in_features), dtype, in_features), in_features);
      std::vector<float> x = RandomFloats(rng, 13 * in_features);
      const std::vector<float> clean = Apply(weight, x, 13);
      x[6 * in_features + 32] = std::numeric_limits<float>::quiet_NaN();
      const std::vector<float> y = Apply(weight, x, 13);
      for (int64_t m = 0; m < 13; ++m) {
        for (int64_t n = 0; n < 40; ++n) {
          if (m == 6) {
            EXPECT_TRUE(std::isnan(y[m * 40 + n])) << Describe(isa, dtype);
          } else {
            EXPECT_EQ(y[m * 40 + n], clean[m * 40 + n]) << Describe(isa, dtype);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace shortlist
