#include "router/model_turns.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

namespace shortlist {
namespace {

TEST(ModelTurnsTest, FastAndSlowModelsShareTimeEqually) {
  ModelTurns turns({1.0, 1.0});
  const auto both = [](size_t) { return true; };
  double time[2] = {0.0, 0.0};
  while (time[0] + time[1] < 10.0) {
    const size_t next = turns.Next(both);
    const double pass_s = next == 0 ? 0.001 : 0.2;
    turns.Took(next, pass_s);
    time[next] += pass_s;
    ASSERT_LE(std::abs(time[0] - time[1]), 0.2 + 1e-9);
  }
}

TEST(ModelTurnsTest, IdleModelEarnsNoCredit) {
  ModelTurns turns({1.0, 1.0});
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(turns.Next([](size_t model) { return model == 0; }), 0);
    turns.Took(0, 1.0);
  }
  int num_of_first = 0;
  for (int i = 0; i < 100; ++i) {
    const size_t next = turns.Next([](size_t) { return true; });
    turns.Took(next, 1.0);
    num_of_first += next == 0 ? 1 : 0;
  }
  EXPECT_NEAR(num_of_first, 50, 1);
}

TEST(ModelTurnsTest, ModelThatRanAloneOwesNothing) {
  // One alone, then the other alone, then both; in either order.
  for (const size_t first : {size_t{0}, size_t{1}}) {
    ModelTurns turns({2.0, 1.0});
    for (const size_t alone : {first, 1 - first}) {
      for (int i = 0; i < 600; ++i) {
        ASSERT_EQ(turns.Next([alone](size_t model) { return model == alone; }), alone);
        turns.Took(alone, 1.0);
      }
    }
    int num_passes[2] = {0, 0};
    for (int i = 0; i < 12; ++i) {
      const size_t next = turns.Next([](size_t) { return true; });
      turns.Took(next, 1.0);
      ++num_passes[next];
    }
    EXPECT_NEAR(num_passes[0], 8, 1) << "first " << first;
  }
}

TEST(ModelTurnsTest, IdleModelGainsNoCredit) {
  ModelTurns turns({1.0, 1.0});
  double time[2] = {0.0, 0.0};
  for (int i = 0; i < 10000; ++i) {
    const bool comes = i % 2 == 0;
    const size_t next = turns.Next([comes](size_t model) { return model == 0 || comes; });
    const double pass_s = next == 0 ? 0.001 : 0.3;
    turns.Took(next, pass_s);
    time[next] += pass_s;
    ASSERT_GE(time[0], time[1] - 0.3 - 1e-9);
  }
}

TEST(ModelTurnsTest, BusyModelGetsItsShareWithinOnePassOfEach) {
  const auto seed = static_cast<uint32_t>(std::random_device()());
  std::printf("seed %u\n", seed);
  std::mt19937 rng(seed);
  const std::vector<double> shares = {3.0, 1.0, 2.0};
  constexpr double kLongestPass = 0.05;
  for (size_t steady = 0; steady < shares.size(); ++steady) {
    ModelTurns turns(shares);
    std::vector<bool> works(shares.size(), true);
    double now_s = 0.0, had_s = 0.0;
    while (now_s < 20.0) {
      for (size_t i = 0; i < works.size(); ++i) {
        if (i != steady && rng() % 16 == 0) works[i] = !works[i];
      }
      const size_t next = turns.Next([&](size_t i) { return works[i]; });
      ASSERT_TRUE(works[next]);
      const double pass_s = std::uniform_real_distribution<>(0.0, kLongestPass)(rng);
      turns.Took(next, pass_s);
      now_s += pass_s;
      if (next == steady) had_s += pass_s;
      ASSERT_GE(had_s, shares[steady] / 6.0 * now_s - 3 * kLongestPass) << "at " << now_s;
    }
  }
}

}  // namespace
}  // namespace shortlist
