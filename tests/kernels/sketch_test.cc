#include "kernels/sketch.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/sampling.h"
#include "kernels/sketch_rank.h"
#include "tests/kernels/kernel_testing.h"
#include "tests/kernels/sketch_fixture.h"

namespace shortlist {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using Chosen = std::vector<std::vector<int32_t>>;

Chosen Select(const SketchFixture& sketch, const std::vector<float>& queries,
              const std::vector<SketchRace>& races, int64_t num_chosen, int num_threads = 1) {
  ThreadPool pool(num_threads);
  const int64_t num_tokens = static_cast<int64_t>(queries.size()) / sketch.rank;
  std::vector<int32_t> ids(num_tokens * num_chosen, -9);
  SketchSelectCpu(sketch.view(), queries.data(), races.empty() ? nullptr : races.data(), num_tokens,
                  num_chosen, ids.data(), pool);
  Chosen chosen;
  for (int64_t m = 0; m < num_tokens; ++m) {
    const auto first = ids.begin() + m * num_chosen;
    chosen.emplace_back(first, first + num_chosen);
  }
  return chosen;
}

/// The best few of what is ranked are what a choice of as few gives.
TEST(SketchRankTest, KeysOrderTheChosenRows) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 rng(seed);
  ThreadPool pool(2);
  for (int trial = 0; trial < 20; ++trial) {
    const SketchFixture sketch(rng, /*rows=*/700, /*rank=*/16, /*largest=*/trial % 2 == 0 ? 1 : 7);
    const std::vector<float> query = RandomFloats(rng, sketch.rank);
    const SketchRace race{.inverse_temperature = trial % 3 == 0 ? 0.0f : 1.25f, .seed = rng()};
    constexpr int64_t kRanked = 200;
    std::vector<int32_t> ids(kRanked);
    std::vector<uint32_t> keys(kRanked);
    SketchRankCpu(sketch.view(), query.data(), &race, /*num_tokens=*/1, kRanked, ids.data(),
                  keys.data(), pool);
    EXPECT_EQ(ids, sketch.Best(query.data(), race, kRanked));
    std::vector<int64_t> order(kRanked);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return keys[a] > keys[b]; });
    for (const int64_t count : {1, 7, 100}) {
      std::vector<int32_t> best;
      for (int64_t i = 0; i < count; ++i) best.push_back(ids[order[i]]);
      std::ranges::sort(best);
      EXPECT_EQ(best, sketch.Best(query.data(), race, count)) << count;
    }
  }
}

TEST(SketchSelectTest, ChoosesTheBestRowsByDefinitionOnEveryInstructionSet) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 rng(seed);
  for (int trial = 0; trial < 60; ++trial) {
    const int64_t num_rows = RandomInt(rng, 1, trial % 4 == 0 ? 20000 : 900);
    // Few levels of codes: many ties.
    const SketchFixture sketch(rng, num_rows,
                               /*rank=*/8 * RandomInt(rng, 1, trial % 7 == 0 ? 32 : 9),
                               /*largest=*/trial % 3 == 0 ? 1 : 7);
    const int64_t num_tokens = RandomInt(rng, 1, 5);
    const std::vector<float> queries = RandomFloats(rng, num_tokens * sketch.rank);
    std::vector<SketchRace> races;
    for (int64_t m = 0; m < num_tokens; ++m) {
      races.push_back({.inverse_temperature = RandomInt(rng, 0, 2) == 0 ? 0.0f : 1.25f,
                       .seed = rng(),
                       .position = RandomInt(rng, 0, 1000)});
    }
    const int64_t num_chosen = RandomInt(rng, 0, std::min<int64_t>(num_rows, 400));
    Chosen expected;
    for (int64_t m = 0; m < num_tokens; ++m) {
      expected.push_back(sketch.Best(&queries[m * sketch.rank], races[m], num_chosen));
    }
    for (const Isa isa : SupportedIsas()) {
      const ScopedIsa scoped(isa);
      for (const int num_threads : {1, 3}) {
        ASSERT_EQ(Select(sketch, queries, races, num_chosen, num_threads), expected)
            << IsaName(isa) << ", " << num_rows << " rows, rank " << sketch.rank << ", "
            << num_chosen << " chosen, " << num_threads << " threads";
      }
    }
  }
}

TEST(SketchSelectTest, AscendingAndDescendingScoresAreNoSpecialCase) {
  std::mt19937 rng(1);
  SketchFixture sketch(rng, /*num_rows=*/5000, /*rank=*/8, /*largest=*/1);
  for (const bool ascends : {true, false}) {
    for (int64_t row = 0; row < sketch.num_rows; ++row) {
      for (int64_t k = 0; k < 8; ++k) sketch.SetCode(row, k, 1);
      sketch.scales[row] = FloatToBf16(static_cast<float>(ascends ? row / 32 : 5000 - row));
    }
    const std::vector<float> query(8, 1.0f);
    for (const Isa isa : SupportedIsas()) {
      const ScopedIsa scoped(isa);
      EXPECT_EQ(Select(sketch, query, {}, /*num_chosen=*/100)[0],
                sketch.Best(query.data(), SketchRace(), 100));
    }
  }
}

TEST(SketchSelectTest, EqualScoresGoToTheLowerIds) {
  std::mt19937 rng(1);
  const SketchFixture sketch(rng, /*num_rows=*/3000, /*rank=*/8, /*largest=*/7);
  std::vector<int32_t> first(10);
  std::iota(first.begin(), first.end(), 0);
  EXPECT_EQ(Select(sketch, std::vector<float>(8, 0.0f), {}, /*num_chosen=*/10)[0], first);
}

TEST(SketchSelectTest, ToAQueryThatIsNotFiniteAllRowsAreAlike) {
  std::mt19937 rng(1);
  const SketchFixture sketch(rng, /*num_rows=*/300, /*rank=*/8, /*largest=*/7);
  std::vector<float> queries = RandomFloats(rng, 3 * 8);
  queries[3] = kNan;
  queries[2 * 8] = -kInf;
  const Chosen chosen = Select(sketch, queries, {}, /*num_chosen=*/7);
  const std::vector<int32_t> first = {0, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(chosen[0], first);
  EXPECT_EQ(chosen[1], sketch.Best(&queries[8], SketchRace(), 7));
  EXPECT_EQ(chosen[2], first);
}

TEST(SketchSelectTest, HugeQueriesAndTemperaturesStillChooseDistinctRows) {
  std::mt19937 rng(1);
  const SketchFixture sketch(rng, /*num_rows=*/300, /*rank=*/8, /*largest=*/7);
  for (const float magnitude : {0.0f, 1e-38f, 1.0f, 3e38f}) {
    for (const float inverse_temperature : {1e-30f, 1.0f, 1e30f}) {
      const std::vector<float> query(8, magnitude);
      const SketchRace race{.inverse_temperature = inverse_temperature, .seed = 7, .position = 1};
      const std::vector<int32_t> chosen = Select(sketch, query, {race}, /*num_chosen=*/50)[0];
      EXPECT_TRUE(std::ranges::adjacent_find(chosen, std::greater_equal()) == chosen.end() &&
                  chosen.front() >= 0 && chosen.back() < 300)
          << magnitude << " " << inverse_temperature;
    }
  }
}

/// The noise of a race is the sampler's: whoever wins over all rows is among the few chosen.
TEST(SketchSelectTest, TheWinnerOfTheWholeRaceIsChosen) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 rng(seed);
  const SketchFixture sketch(rng, /*num_rows=*/2000, /*rank=*/16, /*largest=*/7);
  const std::vector<float> query = RandomFloats(rng, 16);
  std::vector<float> scores;
  for (int64_t row = 0; row < sketch.num_rows; ++row) {
    scores.push_back(sketch.Score(query.data(), row));
  }
  int num_likeliest = 0;
  const auto likeliest = std::max_element(scores.begin(), scores.end()) - scores.begin();
  for (int64_t position = 0; position < 300; ++position) {
    const float inverse_temperature = InverseTemperature(8.0);
    const SketchRace race{
        .inverse_temperature = inverse_temperature, .seed = seed, .position = position};
    const int64_t winner = SampleRaceCpu({.logits = scores.data(),
                                          .count = sketch.num_rows,
                                          .inverse_temperature = inverse_temperature},
                                         {.seed = seed, .position = position});
    const std::vector<int32_t> chosen = Select(sketch, query, {race}, /*num_chosen=*/8)[0];
    EXPECT_TRUE(std::ranges::count(chosen, static_cast<int32_t>(winner)) == 1)
        << "position " << position << ", winner " << winner;
    num_likeliest += winner == likeliest ? 1 : 0;
  }
  EXPECT_LT(num_likeliest, 200);  // the noise decides
}

}  // namespace
}  // namespace shortlist
