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
#include "kernels/sketch_query.h"
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

/// The best n of the ranked rows equal a choice of n rows.
TEST(SketchRankTest, KeysOrderChosenRows) {
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

TEST(SketchSelectTest, ChoosesBestRowsOnEveryIsa) {
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

/// Candidates by the first dimensions, and what all of them together make of these.
TEST(SketchRefineTest, ChoosesBestCandidatesInAllDimensions) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 rng(seed);
  for (int trial = 0; trial < 20; ++trial) {
    const int64_t num_rows = RandomInt(rng, 50, 3000);
    const SketchFixture first(rng, num_rows, /*rank=*/32, /*largest=*/7);
    const SketchFixture others(rng, num_rows, kSketchFineRank, /*largest=*/7);
    std::vector<uint8_t> codes(num_rows * kSketchFineRank / 2);
    for (int64_t i = 0; i < num_rows * kSketchFineRank; ++i) {
      const int64_t k = i % kSketchFineRank;
      uint8_t& byte = codes[i / kSketchFineRank * (kSketchFineRank / 2) + k / 8 * 4 + k % 4];
      byte |= static_cast<uint8_t>((others.unpacked[i] + 8) << (k % 8 < 4 ? 0 : 4));
    }
    const SketchFine fine{codes.data(), others.scales.data()};
    const std::vector<float> query = RandomFloats(rng, first.rank);
    std::vector<float> fine_query = RandomFloats(rng, others.rank);
    for (float& value : fine_query) value *= 0.3f;
    const SketchRace race{.inverse_temperature = trial % 2 == 0 ? 0.0f : 1.25f, .seed = rng()};
    const int64_t num_candidates = RandomInt(rng, 20, num_rows);
    const int64_t num_chosen = RandomInt(rng, 1, 20);

    std::vector<int32_t> candidates(num_candidates), chosen(num_chosen);
    std::vector<uint32_t> candidate_keys(num_candidates), keys(num_chosen);
    ThreadPool one(1), three(3);
    SketchRankCpu(first.view(), query.data(), &race, /*num_tokens=*/1, num_candidates,
                  candidates.data(), candidate_keys.data(), one);
    const auto refine = [&](ThreadPool& pool) {
      SketchRefineCpu(first.view(), fine, query.data(), fine_query.data(), &race, /*num_tokens=*/1,
                      num_candidates, candidates.data(), candidate_keys.data(), num_chosen,
                      chosen.data(), keys.data(), pool);
    };
    refine(one);
    EXPECT_TRUE(std::ranges::is_sorted(chosen));
    // The score of a candidate, in double precision.
    std::vector<double> exact;
    for (int64_t i = 0; i < num_candidates; ++i) {
      const int32_t row = candidates[i];
      double noise = 0;
      if (race.inverse_temperature > 0) {
        noise = SketchNoise(NoiseKey(race.seed, race.position, /*stream=*/0), row);
      }
      const double score = static_cast<double>(first.Score(query.data(), row)) +
                           static_cast<double>(others.Score(fine_query.data(), row));
      exact.push_back(race.inverse_temperature > 0
                          ? score * race.inverse_temperature * 1.44269504 + noise
                          : score);
    }
    std::vector<double> sorted = exact;
    std::ranges::sort(sorted, std::greater<>());
    for (const int32_t row : chosen) {
      const auto at = std::ranges::lower_bound(candidates, row);
      ASSERT_TRUE(at != candidates.end() && *at == row);
      EXPECT_GE(exact[at - candidates.begin()], sorted[num_chosen - 1] - 1e-4);
    }
    const std::vector<int32_t> expected = chosen;
    const std::vector<uint32_t> expected_keys = keys;
    for (const Isa isa : SupportedIsas()) {
      const ScopedIsa scoped(isa);
      for (ThreadPool* pool : {&one, &three}) {
        refine(*pool);
        ASSERT_EQ(chosen, expected) << IsaName(isa);
        ASSERT_EQ(keys, expected_keys) << IsaName(isa);
      }
    }
  }
}

TEST(SketchRefineTest, NonFiniteQueryKeepsCandidates) {
  std::mt19937 rng(3);
  const SketchFixture first(rng, /*rows=*/64, /*rank=*/8, /*largest=*/7);
  const std::vector<uint8_t> codes(64 * kSketchFineRank / 2, 0x3c);
  const std::vector<uint16_t> scales(64, FloatToBf16(1.0f));
  const std::vector<float> query = RandomFloats(rng, first.rank);
  std::vector<int32_t> candidates(64), chosen(4), before(4);
  std::vector<uint32_t> candidate_keys(64), keys(4);
  ThreadPool pool(1);
  SketchRankCpu(first.view(), query.data(), /*races=*/nullptr, 1, 4, before.data(), keys.data(),
                pool);
  SketchRankCpu(first.view(), query.data(), /*races=*/nullptr, 1, 64, candidates.data(),
                candidate_keys.data(), pool);
  for (const float value : {kNan, kInf, 0.0f}) {
    const std::vector<float> fine_query(kSketchFineRank, value);
    SketchRefineCpu(first.view(), {codes.data(), scales.data()}, query.data(), fine_query.data(),
                    /*races=*/nullptr, 1, 64, candidates.data(), candidate_keys.data(), 4,
                    chosen.data(), keys.data(), pool);
    EXPECT_EQ(chosen, before) << value;
  }
}

TEST(SketchSelectTest, SortedScoresChooseSameRows) {
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

TEST(SketchSelectTest, TiesGoToLowerIds) {
  std::mt19937 rng(1);
  const SketchFixture sketch(rng, /*num_rows=*/3000, /*rank=*/8, /*largest=*/7);
  std::vector<int32_t> first(10);
  std::iota(first.begin(), first.end(), 0);
  EXPECT_EQ(Select(sketch, std::vector<float>(8, 0.0f), {}, /*num_chosen=*/10)[0], first);
}

TEST(SketchSelectTest, NonFiniteQueryRanksAllRowsEqual) {
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

/// A race uses the sampler's noise: the winner over all rows is among the few chosen.
TEST(SketchSelectTest, RaceWinnerIsAlwaysChosen) {
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
