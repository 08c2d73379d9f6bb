#include "kernels/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
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

TEST(UniformNoiseTest, DependsOnEveryArgumentOnly) {
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

TEST(SampleRaceTest, MatchesContractInDouble) {
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
    const int64_t actual =
        SampleRaceCpu({logits.data(), ids.data(), count}, {static_cast<uint64_t>(round), 5, 0});
    if (margin > 1e-5) {  // nearer than that, rounding decides
      EXPECT_EQ(actual, expected);
    }
  }
}

TEST(SampleRaceTest, BothRacesMatchContractWinnerAndShare) {
  const uint64_t seed = 20260102;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const int64_t count = 1 + random() % 20000;
    const float spread = 0.1f * (1 + random() % 80);
    const float inverse_temperature = round % 3 == 0 ? 1.0f : 0.3f * (1 + random() % 10);
    std::normal_distribution<float> normal(-3.0f, spread);
    std::vector<float> logits(count);
    std::vector<int32_t> ids(count);
    std::iota(ids.begin(), ids.end(), 0);
    if (round % 2 == 0) std::shuffle(ids.begin(), ids.end(), random);
    for (float& logit : logits) {
      logit = random() % 10 == 0 ? (random() % 2 ? -kInfinity : kNaN) : normal(random);
    }
    const RaceRow row = {logits.data(), round % 4 == 1 ? nullptr : ids.data(), count,
                         inverse_temperature};
    const RaceNoise noise = {random(), round, 0};
    const RaceWinner winner = SampleRaceWithShareCpu(row, noise);
    EXPECT_EQ(SampleRaceCpu(row, noise), winner.index);

    std::vector<float> tempered;
    for (float logit : logits) tempered.push_back(logit * inverse_temperature);
    double margin = 0.0;
    const int64_t expected =
        OracleRace(tempered, ids, noise.seed, noise.position, noise.stream, &margin);
    if (margin < 1e-5) continue;  // nearer than that, rounding decides
    ASSERT_EQ(winner.index, expected);
    if (expected < 0) continue;
    const auto rate = [&](int64_t i) {
      const double v = UniformNoise(noise.seed, noise.position, noise.stream, ids[i]);
      return std::isfinite(tempered[i])
                 ? std::exp(static_cast<double>(tempered[i] - tempered[expected])) / -std::log1p(-v)
                 : 0.0;
    };
    double total = 0.0;
    for (int64_t i = 0; i < count; ++i) total += rate(i);
    EXPECT_NEAR(winner.share, rate(expected) / total, 1e-5);
  }
}

TEST(SampleRaceTest, TiesGoToLowerIdInAnyRowOrder) {
  // Equal ids have equal noise: with equal logits they tie, across blocks too.
  std::vector<float> logits(2000, -kInfinity);
  std::vector<int32_t> ids(2000, 7);
  logits[3] = logits[1500] = 1.0f;
  const RaceRow row = {logits.data(), ids.data(), 2000};
  EXPECT_EQ(SampleRaceCpu(row, {1, 2, 0}), 3);
  EXPECT_EQ(SampleRaceWithShareCpu(row, {1, 2, 0}).index, 3);
  EXPECT_NEAR(SampleRaceWithShareCpu(row, {1, 2, 0}).share, 0.5, 1e-6);
}

TEST(SampleRaceTest, DrawsFromSoftmax) {
  const std::vector<float> logits = {0.0f, 1.0f, -1.0f, 2.0f, -3.0f, -kInfinity};
  double total = 0.0;
  for (float logit : logits) total += std::exp(logit);
  for (uint64_t seed : {1u, 99u, 12345u}) {
    constexpr int kDraws = 200000;
    std::vector<int> counts(logits.size());
    for (int position = 0; position < kDraws; ++position) {
      ++counts[SampleRaceCpu({logits.data(), nullptr, std::ssize(logits)}, {seed, position, 0})];
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

TEST(SampleRaceTest, NoiseDependsOnTokenNotRow) {
  // A subset that holds the winner of the full row elects the same token: this is what couples the
  // draft's active vocabulary to the target's full one.
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> logits(500);
  for (float& logit : logits) logit = normal(random);
  for (int position = 0; position < 200; ++position) {
    const int64_t winner =
        SampleRaceCpu({logits.data(), nullptr, std::ssize(logits)}, {9, position, 0});
    std::vector<float> subset;
    std::vector<int32_t> ids;
    for (int32_t id = 499; id >= 0; --id) {
      if (id == winner || random() % 4 == 0) {
        subset.push_back(logits[id] + 3.0f);  // a constant shift changes nothing
        ids.push_back(id);
      }
    }
    EXPECT_EQ(ids[SampleRaceCpu({subset.data(), ids.data(), std::ssize(ids)}, {9, position, 0})],
              winner);
  }
}

TEST(SampleRaceTest, DegenerateRows) {
  const std::vector<float> nothing = {-kInfinity, kNaN, -kInfinity};
  EXPECT_EQ(SampleRaceCpu({nothing.data(), nullptr, 3}, {1, 1, 0}), -1);
  EXPECT_EQ(SampleRaceCpu({nullptr, nullptr, 0}, {1, 1, 0}), -1);
  EXPECT_EQ(SampleRaceWithShareCpu({nothing.data(), nullptr, 3}, {1, 1, 0}).share, 0.0);
  const std::vector<float> infinite = {1.0f, kInfinity, kNaN, kInfinity};
  EXPECT_EQ(SampleRaceCpu({infinite.data(), nullptr, 4}, {1, 1, 0}), 1);
  const std::vector<int32_t> ids = {0, 9, 2, 4};
  EXPECT_EQ(SampleRaceCpu({infinite.data(), ids.data(), 4}, {1, 1, 0}), 3);
  const std::vector<float> far = {-1000.0f, 0.0f, -2000.0f};
  for (int position = 0; position < 100; ++position) {
    EXPECT_EQ(SampleRaceCpu({far.data(), nullptr, 3}, {1, position, 0}), 1);
  }
}

TEST(InverseTemperatureTest, IsPositiveAndFinite) {
  EXPECT_EQ(InverseTemperature(0.5), 2.0f);
  EXPECT_EQ(InverseTemperature(0.7), static_cast<float>(1.0 / 0.7));
  for (const double temperature : {5e-324, 1e-300, 1e-39, 1e30}) {
    EXPECT_GT(InverseTemperature(temperature), 0.0f);
    EXPECT_LT(InverseTemperature(temperature), kInfinity);
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
