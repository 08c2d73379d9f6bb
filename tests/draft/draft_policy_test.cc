#include "draft/draft_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

namespace shortlist {
namespace {

constexpr int64_t kMaxTokens = 8;

/// Constant costs and acceptance, for which the best fixed chain length can be computed.
struct World {
  double acceptance;      // of each drafted token
  double pass_ms;         // of the draft
  double one_ms, row_ms;  // of the target's pass over one row, and of each further one
  int64_t num_requests = 1;
  double prefill_ms = 0.0;  // of one row, where arithmetic is the bound

  double VerifyMs(int64_t rows) const {
    return std::max(one_ms + row_ms * static_cast<double>(rows - 1),
                    prefill_ms * static_cast<double>(rows));
  }
  /// Tokens a millisecond of chains of `length`.
  double Rate(int64_t length) const {
    double emitted = 0.0;
    for (int64_t i = 0; i <= length; ++i) emitted += std::pow(acceptance, i);
    const double ms = pass_ms * static_cast<double>(length) + VerifyMs(num_requests * (length + 1));
    return static_cast<double>(num_requests) * emitted / ms;
  }
  double BestRate() const {
    double best = 0.0;
    for (int64_t length = 0; length <= kMaxTokens; ++length) best = std::max(best, Rate(length));
    return best;
  }
};

std::ostream& operator<<(std::ostream& out, const World& world) {
  return out << "acceptance " << world.acceptance << ", pass " << world.pass_ms << " ms, verify "
             << world.one_ms << " + " << world.row_ms << " ms a row, " << world.num_requests
             << " requests";
}

void MeasureVerify(const World& world, DraftPolicy& policy) {
  for (const int64_t rows : {1, 2, 4, 8, 9}) policy.AddVerify(rows, world.VerifyMs(rows));
  policy.AddPrefill(/*num_rows=*/64, 0.8 * world.VerifyMs(64));
  policy.AddHead(/*num_rows=*/64, 0.2 * world.VerifyMs(64));
  policy.AddDraft(/*num_requests=*/1, world.pass_ms);
}

/// Tokens a millisecond of `num_steps` steps that go by the policy, as an engine does, with the
/// chain's probability known.
/// `noise`: factors of the times that are measured; null: 1.
/// The requests are new in the first step.
double Simulate(const World& world, int num_steps, DraftPolicy& policy, std::mt19937& random,
                std::uniform_real_distribution<double>* noise = nullptr) {
  std::bernoulli_distribution stands(world.acceptance);
  double emitted = 0.0, ms = 0.0;
  for (int i = 0; i < num_steps; ++i) {
    DraftPolicy::Step step{.num_requests = world.num_requests,
                           .num_new = i == 0 ? world.num_requests : 0};
    int64_t length = 0;
    if (policy.TakeStep(world.num_requests, world.num_requests)) {
      const ChainThresholds thresholds =
          policy.Thresholds(world.num_requests, world.num_requests, kMaxTokens);
      double probability = 1.0;
      do {
        ++step.num_passes;
        if (probability * world.acceptance < thresholds.row[length]) break;
        probability *= world.acceptance;
        ++length;
      } while (length < kMaxTokens && probability * world.acceptance >= thresholds.pass[length]);
      step.num_drafting = world.num_requests;
    }
    for (int64_t request = 0; request < world.num_requests; ++request) {
      int64_t accepted = 0;
      while (accepted < length && stands(random)) ++accepted;
      step.num_emitted += accepted + 1;
    }
    const auto factor = [&] { return noise == nullptr ? 1.0 : (*noise)(random); };
    step.draft_ms = factor() * world.pass_ms * static_cast<double>(step.num_passes);
    step.num_rows = world.num_requests * (length + 1);
    step.verify_ms = factor() * world.VerifyMs(step.num_rows);
    policy.AddStep(step);
    emitted += static_cast<double>(step.num_emitted);
    ms += step.draft_ms + step.verify_ms;
  }
  return emitted / ms;
}

TEST(DraftPolicyTest, NearBestFixedLengthInRandomWorlds) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto between = [&random](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int i = 0; i < 60; ++i) {
    const World world = {.acceptance = between(0.2, 0.97),
                         .pass_ms = between(0.02, 0.8),
                         .one_ms = 1.0,
                         .row_ms = between(0.0, 0.7),
                         .num_requests = int64_t{1} << random() % 4};
    SCOPED_TRACE(testing::Message() << world);
    DraftPolicy policy;
    MeasureVerify(world, policy);
    EXPECT_GE(Simulate(world, 4000, policy, random), 0.95 * world.BestRate());
  }
}

// Requests of some 60 tokens, an easy one and a harder one in turns.
TEST(DraftPolicyTest, EachRequestHasItsOwnRate) {
  std::mt19937 random(6);
  const World easy = {.acceptance = 0.98, .pass_ms = 0.2, .one_ms = 1.0, .row_ms = 0.1};
  World hard = easy;
  hard.acceptance = 0.75;
  DraftPolicy policy;
  MeasureVerify(easy, policy);
  double of_easy = 0.0, of_hard = 0.0;
  constexpr int kRequests = 400;
  for (int i = 0; i < kRequests; ++i) {
    of_easy += 1.0 / Simulate(easy, 8, policy, random);
    of_hard += 1.0 / Simulate(hard, 25, policy, random);
  }
  // Milliseconds a token.
  EXPECT_LE(of_hard / kRequests, 1.01 / hard.BestRate());
  EXPECT_LE(of_easy / kRequests, 1.015 / easy.BestRate());
}

TEST(DraftPolicyTest, NewRequestTakesItsShareOfTheRateInAnyStep) {
  std::mt19937 random(6);
  const World easy = {.acceptance = 0.98, .pass_ms = 0.2, .one_ms = 1.0, .row_ms = 0.1};
  DraftPolicy policy;
  MeasureVerify(easy, policy);
  Simulate(easy, 20, policy, random);
  EXPECT_GT(policy.DraftedRate(1), 2.0 * policy.PlainRate(1));
  // A plain step.
  policy.AddStep(
      {.num_requests = 1, .num_new = 1, .num_rows = 1, .verify_ms = 1.0, .num_emitted = 1});
  EXPECT_EQ(policy.DraftedRate(1), 0.0);
}

TEST(DraftPolicyTest, UnprofitableDraftingCostsLittle) {
  std::mt19937 random(3);
  for (const double acceptance : {0.0, 0.3, 0.6}) {
    const World world = {.acceptance = acceptance, .pass_ms = 0.5, .one_ms = 1.0, .row_ms = 0.4};
    SCOPED_TRACE(testing::Message() << world);
    DraftPolicy policy;
    MeasureVerify(world, policy);
    EXPECT_GE(Simulate(world, 4000, policy, random), 0.98 * world.Rate(0));
  }
}

// With many requests the target's pass is bound by arithmetic.
TEST(DraftPolicyTest, ManyRequestsDoNotTryWhatCannotPay) {
  std::mt19937 random(8);
  const World world = {.acceptance = 0.9,
                       .pass_ms = 0.1,
                       .one_ms = 1.0,
                       .row_ms = 0.05,
                       .num_requests = 16,
                       .prefill_ms = 0.16};
  DraftPolicy policy;
  MeasureVerify(world, policy);
  EXPECT_GE(Simulate(world, 100, policy, random), 0.999 * world.Rate(0));
  EXPECT_TRUE(policy.Rests(16));
  EXPECT_FALSE(policy.PaysBack(16, /*num_missing=*/0, /*num_wanted=*/1000));
  EXPECT_FALSE(policy.Rests(1));
}

TEST(DraftPolicyTest, SeveralRequestsDoNotTryWhatHardlyPays) {
  // A first token costs a pass of 1 ms and two rows; plain decoding makes 0.2 tokens a millisecond.
  const auto rests = [](double row_ms) {
    const World world = {.acceptance = 0.98,
                         .pass_ms = 1.0,
                         .one_ms = 10.0 - row_ms,
                         .row_ms = row_ms,
                         .num_requests = 2};
    DraftPolicy policy;
    MeasureVerify(world, policy);
    return policy.Rests(2);
  };
  EXPECT_FALSE(rests(3.9));  // pays from an acceptance of 0.88 on
  EXPECT_TRUE(rests(4.1));   // 0.92
}

TEST(DraftPolicyTest, PromptMustPayBack) {
  DraftPolicy policy;
  EXPECT_TRUE(policy.PaysBack(/*num_requests=*/1, /*num_missing=*/1000, /*num_wanted=*/1));
  const World world = {.acceptance = 0.8, .pass_ms = 0.1, .one_ms = 1.0};
  MeasureVerify(world, policy);
  EXPECT_TRUE(policy.PaysBack(1, 1000, 1));  // the time of a prompt is not known yet
  policy.AddDraftPrefill(/*num_rows=*/100, /*ms=*/5.0);
  const double saved_ms = 1.0 - 1.0 / world.BestRate();  // per token
  // Twice the time of 1,000 tokens of a prompt.
  const auto enough = static_cast<int64_t>(2 * 50.0 / saved_ms);
  EXPECT_FALSE(policy.PaysBack(1, 1000, enough * 9 / 10));
  EXPECT_TRUE(policy.PaysBack(1, 1000, enough * 11 / 10));
}

TEST(DraftPolicyTest, ResumesWhenDraftingPays) {
  std::mt19937 random(4);
  const World bad = {.acceptance = 0.1, .pass_ms = 0.3, .one_ms = 1.0, .row_ms = 0.2};
  World good = bad;
  good.acceptance = 0.9;
  DraftPolicy policy;
  MeasureVerify(bad, policy);
  Simulate(bad, 1000, policy, random);
  Simulate(good, 3000, policy, random);
  EXPECT_GE(Simulate(good, 1000, policy, random), 0.95 * good.BestRate());
}

// Costs that seemed far too high at the start are measured again.
TEST(DraftPolicyTest, RecoversFromWrongFirstMeasurement) {
  std::mt19937 random(6);
  const World world = {.acceptance = 0.9, .pass_ms = 0.1, .one_ms = 1.0, .row_ms = 0.05};
  DraftPolicy policy;
  policy.AddVerify(1, 1.0);
  for (const int64_t rows : {2, 4, 8, 9}) policy.AddVerify(rows, 2.5);
  Simulate(world, 3000, policy, random);
  EXPECT_GE(Simulate(world, 1000, policy, random), 0.7 * world.BestRate());
}

// A busy machine: times vary by a factor of up to three, and the first measurement was of its best
// moment. The first draft computes a prompt.
TEST(DraftPolicyTest, NoiseKeepsProfitableDrafting) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> noise(1.0, 3.0);
    const World world = {.acceptance = 0.85, .pass_ms = 0.1, .one_ms = 1.0, .row_ms = 0.08};
    DraftPolicy policy;
    MeasureVerify(world, policy);
    policy.AddStep({.num_requests = 1,
                    .num_drafting = 1,
                    .num_passes = 4,
                    .draft_ms = 200.0,
                    .num_rows = 5,
                    .verify_ms = 3.0,
                    .num_emitted = 2,
                    .caught_up = true});
    EXPECT_GE(Simulate(world, 600, policy, random, &noise), 0.7 * 0.5 * world.BestRate());
    EXPECT_FALSE(policy.Rests(1));
  }
}

TEST(DraftPolicyTest, PausesDoNotStopDrafting) {
  std::mt19937 random(5);
  const World world = {.acceptance = 0.9, .pass_ms = 0.1, .one_ms = 1.0, .row_ms = 0.1};
  DraftPolicy policy;
  MeasureVerify(world, policy);
  for (int i = 0; i < 20; ++i) {
    Simulate(world, 50, policy, random);
    policy.AddStep({.num_requests = 1,
                    .num_drafting = 1,
                    .num_passes = 5,
                    .draft_ms = 30'000.0,
                    .num_rows = 6,
                    .verify_ms = 1.5,
                    .num_emitted = 4});
  }
  EXPECT_GE(Simulate(world, 1000, policy, random), 0.95 * world.BestRate());
}

// Forced text would be drafted without the drafter too.
TEST(DraftPolicyTest, AcceptedForcedTokensAreNoMeritOfTheDrafter) {
  const World world = {.acceptance = 0.0, .pass_ms = 0.3, .one_ms = 1.0, .row_ms = 0.02};
  for (const bool is_forced : {false, true}) {
    DraftPolicy policy;
    MeasureVerify(world, policy);
    for (int i = 0; i < 200; ++i) {
      policy.AddStep({.num_requests = 1,
                      .num_drafting = 1,
                      .num_passes = 1,
                      .draft_ms = world.pass_ms,
                      .num_rows = 6,
                      .verify_ms = world.VerifyMs(6),
                      .num_emitted = 5,
                      .num_judged = is_forced ? 1 : 5,
                      .num_accepted = is_forced ? 0 : 4,
                      .num_certain = is_forced ? 4 : 0,
                      .num_certain_accepted = is_forced ? 4 : 0});
    }
    EXPECT_EQ(policy.Rests(1), is_forced);
  }
}

TEST(DraftPolicyTest, StepsOfForcedTextArePlainForTheDrafter) {
  const World world = {.acceptance = 0.9, .pass_ms = 0.1, .one_ms = 1.0, .row_ms = 0.1};
  DraftPolicy policy;
  MeasureVerify(world, policy);
  for (int i = 0; i < 200; ++i) {
    policy.AddStep({.num_requests = 2,
                    .num_rows = 12,
                    .verify_ms = world.VerifyMs(12),
                    .num_emitted = 12,
                    .num_certain = 10,
                    .num_certain_accepted = 10});
  }
  EXPECT_FALSE(policy.TakeStep(/*num_requests=*/2, /*num_drafting=*/2));  // no plain step yet
  policy.AddStep({.num_requests = 2, .num_rows = 2, .verify_ms = 1.1, .num_emitted = 2});
  EXPECT_TRUE(policy.TakeStep(/*num_requests=*/2, /*num_drafting=*/2));
}

TEST(DraftPolicyTest, DraftsUntilCostsAreKnown) {
  DraftPolicy policy;
  EXPECT_TRUE(policy.TakeStep(/*num_requests=*/1, /*num_drafting=*/1));
  const ChainThresholds thresholds =
      policy.Thresholds(/*num_requests=*/1, /*num_drafting=*/1, /*max_tokens=*/3);
  ASSERT_EQ(thresholds.pass.size(), 3u);
  ASSERT_EQ(thresholds.row.size(), 3u);
  for (const double least : thresholds.pass) EXPECT_TRUE(least > 0.0 && least < 1.0);
}

TEST(DraftPolicyTest, WithoutDrafterThresholdsAreMeasuredRowCosts) {
  DraftPolicy policy;
  const double usual = policy.Thresholds(/*num_requests=*/1, 1, kMaxTokens).row[0];
  policy.AddStep({.num_requests = 1, .num_rows = 1, .verify_ms = 10.0, .num_emitted = 1});
  EXPECT_EQ(policy.Thresholds(1, 1, kMaxTokens).row[0], usual);  // no row was measured
  for (const int64_t rows : {1, 2, 4, 8}) policy.AddVerify(rows, 8.0 + 2.0 * rows);
  EXPECT_NEAR(policy.Thresholds(1, 1, kMaxTokens).row[3], 0.2, 1e-9);  // 2 ms of a step's 10
  // Steps of 4 rows that emit 4 tokens: a millisecond is worth more.
  for (int i = 0; i < 100; ++i) {
    policy.AddStep({.num_requests = 1, .num_rows = 4, .verify_ms = 16.0, .num_emitted = 4});
  }
  EXPECT_NEAR(policy.Thresholds(1, 1, kMaxTokens).row[3], 2.0 * 4 / 16, 1e-3);
}

}  // namespace
}  // namespace shortlist
