#include "router/pass_time.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

namespace shortlist {
namespace {

TEST(PassTimeTest, UnmeasuredTimeAllowsMaximum) {
  PassTime time;
  EXPECT_EQ(time.TokensIn(0.01, 512), 512);
  time.Add(100, 0.0);
  EXPECT_EQ(time.TokensIn(0.01, 512), 512);
}

TEST(PassTimeTest, EqualPassesGiveTimePerToken) {
  PassTime time;
  for (int i = 0; i < 50; ++i) time.Add(128, 0.0128);
  EXPECT_NEAR(static_cast<double>(time.TokensIn(0.01, 512)), 100.0, 1.0);
  EXPECT_EQ(time.TokensIn(1e-9, 512), PassTime::kFewest);
  EXPECT_EQ(time.TokensIn(1e-9, 20), 20);
  EXPECT_EQ(time.TokensIn(1e9, 512), 512);
}

/// The passes that follow each other, each as long as the ones before let it be.
int64_t SettlesAt(double fixed_s, double token_s, double bound_s, double noise) {
  const auto seed = static_cast<uint32_t>(std::random_device()());
  std::printf("seed %u\n", seed);
  std::mt19937 rng(seed);
  PassTime time;
  double sum = 0.0;
  for (int i = 0; i < 400; ++i) {
    // Inputs of 16 tokens, at least one.
    const int64_t tokens = std::max<int64_t>(time.TokensIn(bound_s, 512) / 16, 1) * 16;
    const double seconds = fixed_s + token_s * static_cast<double>(tokens);
    time.Add(tokens, seconds * std::uniform_real_distribution<>(1.0, 1.0 + noise)(rng));
    if (i >= 200) sum += static_cast<double>(tokens);
  }
  return static_cast<int64_t>(sum / 200);
}

TEST(PassTimeTest, FixedCostDoesNotShrinkPassesToZero) {
  // 20 ms to read the weights: no pass is shorter, and 400 tokens cost as much again.
  EXPECT_GE(SettlesAt(0.020, 50e-6, 0.010, 0.0), 350);
  EXPECT_GE(SettlesAt(0.020, 50e-6, 0.010, 0.2), 150);
  // 1 ms: what is left of 10 has room for 90.
  EXPECT_NEAR(static_cast<double>(SettlesAt(0.001, 100e-6, 0.010, 0.0)), 90.0, 16.0);
}

}  // namespace
}  // namespace shortlist
