#include "kernels/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace shortlist {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// The race as its contract states it, in double and one racer at a time.
int64_t OracleRace(const std::vector<float>& logits, const std::vector<int32_t>& ids, uint64_t seed,
                   int64_t position, uint32_t stream, double* margin) {
  double best = std::numeric_limits<double>::infinity(), second = best;
  int64_t winner = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) continue;
    const double time =
        -std::log1p(-static_cast<double>(UniformNoise(seed, position, stream, ids[i]))) /
        std::exp(static_cast<double>(logits[i]));
    if (time < best) {
      second = best;
      best = time;
      winner = static_cast<int64_t>(i);
    } else if (time < second) {
      second = time;
    }
  }
  *margin = second / best - 1.0;
  return winner;
}

TEST(UniformNoiseTest, DependsOnEveryArgumentAndOnNothingElse) {
  const float noise = UniformNoise(/*seed=*/7, /*position=*/3, /*stream=*/0, /*id=*/11);
  EXPECT_EQ(noise, UniformNoise(7, 3, 0, 11));
  EXPECT_NE(noise, UniformNoise(8, 3, 0, 11));
  EXPECT_NE(noise, UniformNoise(7, 4, 0, 11));
  EXPECT_NE(noise, UniformNoise(7, 3, 1, 11));
  EXPECT_NE(noise, UniformNoise(7, 3, 0, 12));
}

TEST(UniformNoiseTest, IsUniformAlongEveryArgument) {
  constexpr int kBins = 64, kDraws = 64000;
  const auto chi_square = [&](auto draw) {
    std::vector<int> bins(kBins);
    for (int i = 0; i < kDraws; ++i) {
      const float noise = draw(i);
      EXPECT_GT(noise, 0.0f);
      EXPECT_LT(noise, 1.0f);
      ++bins[static_cast<int>(noise * kBins)];
    }
    double sum = 0.0;
    const double expected = static_cast<double>(kDraws) / kBins;
    for (int count : bins) sum += (count - expected) * (count - expected) / expected;
    return sum;
  };
  // 63 degrees of freedom: 0.9999 quantile 113.
  EXPECT_LT(chi_square([](int i) { return UniformNoise(1, 2, 0, i); }), 113.0);
  EXPECT_LT(chi_square([](int i) { return UniformNoise(1, i, 0, 42); }), 113.0);
  EXPECT_LT(chi_square([](int i) { return UniformNoise(i, 2, 0, 42); }), 113.0);
  EXPECT_LT(chi_square([](int i) { return UniformNoise(i, i, 1, i); }), 113.0);
}

TEST(SampleRaceTest, MatchesTheContractInDouble) {
  const uint64_t seed = 20260101;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 4.0f);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const int64_t count = 1 + random() % 1000;
    std::vector<float> logits(count);
    std::vector<int32_t> ids(count);
    for (int64_t i = 0; i < count; ++i) {
      logits[i] = random() % 10 == 0 ? (random() % 2 ? -kInfinity : kNaN) : normal(random);
      ids[i] = static_cast<int32_t>(3 * i + 1);
    }
    double margin = 0.0;
    const int64_t expected = OracleRace(logits, ids, round, 5, 0, &margin);
    const int64_t actual = SampleRaceCpu(logits.data(), ids.data(), count, round, 5, 0);
    if (margin > 1e-5) {  // nearer than that, rounding decides
      EXPECT_EQ(actual, expected);
    }
  }
}

TEST(SampleRaceTest, DrawsFromTheSoftmax) {
  const std::vector<float> logits = {0.0f, 1.0f, -1.0f, 2.0f, -3.0f, -kInfinity};
  double total = 0.0;
  for (float logit : logits) total += std::exp(logit);
  for (uint64_t seed : {1u, 99u, 12345u}) {
    constexpr int kDraws = 200000;
    std::vector<int> counts(logits.size());
    for (int position = 0; position < kDraws; ++position) {
      ++counts[SampleRaceCpu(logits.data(), nullptr, logits.size(), seed, position, 0)];
    }
    double chi_square = 0.0;
    for (size_t i = 0; i + 1 < logits.size(); ++i) {
      const double expected = kDraws * std::exp(logits[i]) / total;
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    EXPECT_EQ(counts.back(), 0);
    EXPECT_LT(chi_square, 23.5) << "seed " << seed;  // 4 degrees of freedom, 0.9999 quantile
  }
}

TEST(SampleRaceTest, NoiseBelongsToTheTokenNotToTheSlot) {
  // A subset that holds the winner of the full row elects the same token: this is what couples the
  // draft's active vocabulary to the target's full one.
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> logits(500);
  for (float& logit : logits) logit = normal(random);
  for (int position = 0; position < 200; ++position) {
    const int64_t winner = SampleRaceCpu(logits.data(), nullptr, logits.size(), 9, position, 0);
    std::vector<float> subset;
    std::vector<int32_t> ids;
    for (int32_t id = 499; id >= 0; --id) {
      if (id == winner || random() % 4 == 0) {
        subset.push_back(logits[id] + 3.0f);  // a constant shift changes nothing
        ids.push_back(id);
      }
    }
    EXPECT_EQ(ids[SampleRaceCpu(subset.data(), ids.data(), ids.size(), 9, position, 0)], winner);
  }
}

TEST(SampleRaceTest, DegenerateRows) {
  const std::vector<float> nothing = {-kInfinity, kNaN, -kInfinity};
  EXPECT_EQ(SampleRaceCpu(nothing.data(), nullptr, 3, 1, 1, 0), -1);
  EXPECT_EQ(SampleRaceCpu(nullptr, nullptr, 0, 1, 1, 0), -1);
  const std::vector<float> infinite = {1.0f, kInfinity, kNaN, kInfinity};
  EXPECT_EQ(SampleRaceCpu(infinite.data(), nullptr, 4, 1, 1, 0), 1);
  const std::vector<int32_t> ids = {0, 9, 2, 4};
  EXPECT_EQ(SampleRaceCpu(infinite.data(), ids.data(), 4, 1, 1, 0), 3);
  const std::vector<float> far = {-1000.0f, 0.0f, -2000.0f};
  for (int position = 0; position < 100; ++position) {
    EXPECT_EQ(SampleRaceCpu(far.data(), nullptr, 3, 1, position, 0), 1);
  }
}

TEST(LogSumExpTest, MatchesDouble) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(-5.0f, 6.0f);
  for (int64_t count : {1, 2, 255, 256, 257, 5000}) {
    std::vector<float> values(count);
    double total = 0.0;
    for (float& value : values) {
      value = normal(random);
      total += std::exp(static_cast<double>(value));
    }
    EXPECT_NEAR(LogSumExpCpu(values.data(), count), std::log(total), 1e-6);
  }
  const std::vector<float> nothing = {kNaN, -kInfinity};
  EXPECT_EQ(LogSumExpCpu(nothing.data(), 2), -kInfinity);
  EXPECT_EQ(LogSumExpCpu(nullptr, 0), -kInfinity);
}

TEST(LargestProbabilityTest, MatchesDouble) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal(-5.0f, 6.0f);
  for (int64_t count : {1, 2, 255, 256, 257, 5000}) {
    std::vector<float> values(count);
    double total = 0.0, largest = 0.0;
    for (float& value : values) {
      value = normal(random);
      const double weight = std::exp(static_cast<double>(value));
      total += weight;
      largest = std::max(largest, weight);
    }
    EXPECT_NEAR(LargestProbabilityCpu(values.data(), count), largest / total, 1e-6);
  }
  const std::vector<float> half = {kNaN, 7.0f, -kInfinity, 7.0f};
  EXPECT_NEAR(LargestProbabilityCpu(half.data(), 4), 0.5, 1e-6);
  const std::vector<float> infinite = {1.0f, kInfinity};
  EXPECT_EQ(LargestProbabilityCpu(infinite.data(), 2), 1.0);
  const std::vector<float> nothing = {kNaN, -kInfinity};
  EXPECT_EQ(LargestProbabilityCpu(nothing.data(), 2), 0.0);
  EXPECT_EQ(LargestProbabilityCpu(nullptr, 0), 0.0);
}

}  // namespace
}  // namespace shortlist
