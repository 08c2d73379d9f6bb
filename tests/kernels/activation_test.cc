#include "kernels/activation.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/kernel_table.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

struct Case {
  const char* name;
  Activation activation;
  double (*exact)(double x);
  double error;  // at most, relative to |x|
};

constexpr Case kCases[] = {
    {"Silu", Activation::kSilu, [](double x) { return x / (1 + std::exp(-x)); }, 3e-7},
    {"GeluErf", Activation::kGeluErf,
     [](double x) { return x * std::erfc(-x / std::numbers::sqrt2) / 2; }, 3e-7},
    {"GeluTanh", Activation::kGeluTanh,
     [](double x) {
       const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
       return x * (1 + std::tanh(u)) / 2;
     },
     6e-7},
    {"GeluQuick", Activation::kGeluQuick, [](double x) { return x / (1 + std::exp(-1.702 * x)); },
     6e-7},
};

class ActivationTest : public testing::TestWithParam<Case> {
 protected:
  static float Of(float x) {
    float out = 0;
    CurrentKernels().activate(GetParam().activation, &x, /*bias=*/nullptr, 1, &out);
    return out;
  }

  /// Calls body() on every instruction set.
  template <typename Body>
  static void ForEachIsa(Body&& body) {
    for (const Isa isa : SupportedIsas()) {
      const ScopedIsa scoped(isa);
      SCOPED_TRACE(IsaName(isa));
      ASSERT_NO_FATAL_FAILURE(body());
    }
  }
};

TEST_P(ActivationTest, MatchesDoublePrecision) {
  std::vector<float> x;
  for (float value = -30.0f; value <= 30.0f; value += 0.00137f) x.push_back(value);
  for (const float tiny : {0.0f, 1e-30f, -1e-30f, 1e-7f, -1e-7f}) x.push_back(tiny);
  const int64_t size = static_cast<int64_t>(x.size());
  ForEachIsa([&] {
    std::vector<float> out(x.size());
    CurrentKernels().activate(GetParam().activation, x.data(), nullptr, size, out.data());
    for (int64_t i = 0; i < size; ++i) {
      ASSERT_NEAR(out[i], GetParam().exact(x[i]), GetParam().error * std::abs(x[i]) + 1e-37)
          << x[i];
    }
  });
}

TEST_P(ActivationTest, ExtremesReachLimits) {
  ForEachIsa([] {
    EXPECT_EQ(Of(1e30f), 1e30f);
    EXPECT_EQ(Of(200.0f), 200.0f);
    EXPECT_NEAR(Of(-200.0f), 0.0f, 1e-35f);
    EXPECT_NEAR(Of(-88.5f), 0.0f, 1e-35f);
    EXPECT_NEAR(Of(-1e20f), 0.0f, 1e-17f);
    EXPECT_EQ(Of(0.0f), 0.0f);
    EXPECT_TRUE(std::isnan(Of(std::numeric_limits<float>::quiet_NaN())));
  });
}

TEST_P(ActivationTest, BiasAndProductApplyToEachElement) {
  std::mt19937 rng(4);
  ForEachIsa([&] {
    for (const int64_t size : {1, 7, 8, 16, 33, 64, 130}) {
      const std::vector<float> x = RandomFloats(rng, size);
      const std::vector<float> other = RandomFloats(rng, size);
      std::vector<float> biased = x, product(size);
      CurrentKernels().activate(GetParam().activation, biased.data(), other.data(), size,
                                biased.data());
      CurrentKernels().activate_mul(GetParam().activation, x.data(), other.data(), size,
                                    product.data());
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(biased[i], Of(x[i] + other[i]));
        ASSERT_EQ(product[i], Of(x[i]) * other[i]);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace shortlist
