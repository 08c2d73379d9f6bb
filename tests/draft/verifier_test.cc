// Both verifications have the target's distribution. Sequences of two tokens are drawn many times
// with fixed seeds from synthetic models. The counts of token pairs are compared with the exact
// distribution.

#include "draft/verifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "draft/chain_memory.h"
#include "draft/chain_policy.h"
#include "draft/draft_policy.h"
#include "kernels/sampling.h"
#include "request/token_constraint.h"
#include "vocab/active_vocab.h"

namespace shortlist {
namespace {

constexpr int64_t kVocab = 12;
constexpr int64_t kContext = 1 << 20;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A Markov model: logits for the next token, given the last one.
using Model = std::vector<std::vector<float>>;  // [kVocab, kVocab]

Model RandomModel(uint64_t seed, float spread) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  Model model(kVocab, std::vector<float>(kVocab));
  for (auto& row : model) {
    for (float& logit : row) logit = normal(random);
  }
  return model;
}

Model Blend(const Model& a, const Model& b, float share_of_b) {
  Model blend = a;
  for (int64_t i = 0; i < kVocab; ++i) {
    for (int64_t j = 0; j < kVocab; ++j) blend[i][j] += share_of_b * (b[i][j] - a[i][j]);
  }
  return blend;
}

/// softmax(logits / temperature) after top-k, top-p and min-p, written from their definitions.
std::vector<double> Distribution(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
  if (params.top_k > 0 && params.top_k < static_cast<int64_t>(order.size()))
    order.resize(params.top_k);
  std::vector<double> probs(logits.size(), 0.0);
  double total = 0.0;
  for (int id : order)
    total += probs[id] = std::exp((logits[id] - logits[order[0]]) / params.temperature);
  double mass = 0.0;
  for (int id : order) {
    const bool beyond_top_p = params.top_p < 1.0 && mass >= params.top_p * total;
    mass += probs[id];
    if (beyond_top_p || probs[id] < params.min_p) probs[id] = 0.0;
  }
  total = std::accumulate(probs.begin(), probs.end(), 0.0);
  for (double& p : probs) p /= total;
  return probs;
}

struct Scenario {
  Model target, draft;
  std::vector<TokenId> active;  // tokens that the draft can emit; empty: all
  SamplingParams params;
  VerifyMode mode;
  double draft_p_min = 0.0;
  std::optional<ChainThresholds> thresholds = std::nullopt;  // in place of draft_p_min
  std::vector<TokenId> prompt = {TokenId{0}};                // ends with 0
  bool suffix_drafts = false;
};

TokenLogits Rows(const std::vector<std::vector<float>>& logits) {
  TokenLogits rows;
  rows.stride = static_cast<int64_t>(logits[0].size());
  for (const auto& row : logits) {
    rows.values.insert(rows.values.end(), row.begin(), row.end());
    rows.ids.emplace_back(static_cast<int64_t>(row.size()));
  }
  return rows;
}

/// Drafts a chain the way ChainDrafter does, from the synthetic draft model.
DraftedChain DraftChain(const Scenario& scenario, const ActiveVocab& active,
                        const Sequence& sequence, const ChainPolicy& policy) {
  DraftedChain chain;
  TokenChooser chooser;
  TokenId last = sequence.tokens().back();
  while (policy.WantsMore(chain)) {
    const std::vector<float>& full = scenario.draft[Raw(last)];
    std::vector<float> logits;
    for (int32_t id : active.rows()) logits.push_back(full[id]);
    const RowIds ids = active.is_full_head() ? RowIds(kVocab) : RowIds(active, {});
    const std::vector<float>& scored = active.is_full_head() ? full : logits;
    chooser.Prepare(scored, ids, sequence, chain.tokens);
    const std::optional<TokenChooser::SureChoice> choice = chooser.ChooseSurely();
    if (!choice) {
      ADD_FAILURE() << "nothing to choose after token " << Raw(last);
      break;
    }
    last = ids.TokenAt(choice->row);
    if (scenario.mode == VerifyMode::kRejection) {
      policy.WeighDraw(LargestProbabilityCpu(scored.data(), ids.size()), chain);
    } else if (!policy.Weigh(last, choice->probability, chain)) {
      break;
    }
    chain.distributions.push_back(chooser.Distribution());
    chain.tokens.push_back(last);
  }
  policy.Copy(scenario.mode == VerifyMode::kRejection, chain);
  return chain;
}

struct Counts {
  int64_t num_accepted = 0;
  int64_t num_copied = 0;
  int64_t num_copied_accepted = 0;
  std::map<size_t, int> num_chains;  // by length
};

std::vector<TokenId> GenerateTwo(const Scenario& scenario, const ActiveVocab& active, uint64_t seed,
                                 Counts& counts) {
  Sequence::Options options;
  options.sampling = scenario.params;
  options.sampling.seed = seed;
  options.sampling.max_new_tokens = 2;
  auto sequence = Sequence::Create(scenario.prompt, options, kVocab);
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  Verifier verifier;
  ChainMemory memory;
  while (!(*sequence)->finished()) {
    const ChainPolicy policy(memory, (*sequence)->tokens(),
                             {.max_tokens = 2,
                              .p_min = scenario.draft_p_min,
                              .thresholds = scenario.thresholds ? &*scenario.thresholds : nullptr,
                              .copies = scenario.suffix_drafts});
    const DraftedChain chain = DraftChain(scenario, active, **sequence, policy);
    std::vector<std::vector<float>> logits = {scenario.target[Raw((*sequence)->tokens().back())]};
    for (TokenId token : chain.tokens) logits.push_back(scenario.target[Raw(token)]);
    const TokenLogits rows = Rows(logits);
    const int64_t accepted =
        verifier.Verify(**sequence, chain, {&rows, {}, 0}, scenario.mode, kContext);
    memory.Learn(chain, accepted);
    counts.num_accepted += accepted;
    counts.num_copied += chain.num_copied;
    counts.num_copied_accepted += std::max<int64_t>(0, accepted - chain.first_copy());
    ++counts.num_chains[chain.tokens.size()];
  }
  return {(*sequence)->output().begin(), (*sequence)->output().end()};
}

/// Chi-square of the pair counts against the exact distribution, cells expected below 5 pooled; and
/// its bound at probability about 1e-5.
void ExpectTargetDistribution(const Scenario& scenario) {
  constexpr int kDraws = 40000;
  auto base = scenario.active.empty() ? VocabBase::FullHead(kVocab)
                                      : VocabBase::Create(scenario.active, kVocab);
  ASSERT_TRUE(base.ok()) << base.status();
  const ActiveVocab active(1, *base, {});
  std::vector<std::vector<int>> pairs(kVocab, std::vector<int>(kVocab, 0));
  Counts counts;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<TokenId> pair =
        GenerateTwo(scenario, active, /*seed=*/1000003u * draw + 17, counts);
    ASSERT_EQ(pair.size(), 2u);
    ++pairs[Raw(pair[0])][Raw(pair[1])];
  }
  EXPECT_GT(counts.num_accepted, 0);
  if (scenario.suffix_drafts) {
    EXPECT_GT(counts.num_copied_accepted, kDraws / 100);
    EXPECT_GT(counts.num_copied, counts.num_copied_accepted);
  } else if (scenario.draft_p_min > 0.0 || scenario.thresholds) {
    EXPECT_GT(counts.num_chains[1], 0);
    EXPECT_GT(counts.num_chains[2], 0);
  }

  double chi_square = 0.0, pooled_expected = 0.0, pooled_count = 0.0;
  int cells = 0;
  const std::vector<double> first = Distribution(scenario.target[0], scenario.params);
  for (int64_t a = 0; a < kVocab; ++a) {
    const std::vector<double> second = Distribution(scenario.target[a], scenario.params);
    for (int64_t b = 0; b < kVocab; ++b) {
      const double expected = kDraws * first[a] * second[b];
      if (expected == 0.0) {
        EXPECT_EQ(pairs[a][b], 0) << "pair " << a << " " << b << " has probability 0";
      } else if (expected < 5.0) {
        pooled_expected += expected;
        pooled_count += pairs[a][b];
      } else {
        chi_square += (pairs[a][b] - expected) * (pairs[a][b] - expected) / expected;
        ++cells;
      }
    }
  }
  if (pooled_expected >= 5.0) {
    chi_square +=
        (pooled_count - pooled_expected) * (pooled_count - pooled_expected) / pooled_expected;
    ++cells;
  }
  const double freedom = std::max(1, cells - 1);
  // Wilson and Hilferty's approximation of the quantile at z = 4.3.
  const double root = 1.0 - 2.0 / (9.0 * freedom) + 4.3 * std::sqrt(2.0 / (9.0 * freedom));
  EXPECT_LT(chi_square, freedom * root * root * root) << cells << " cells";
}

class VerifierDistributionTest : public testing::TestWithParam<VerifyMode> {
 protected:
  Scenario Base() const {
    Scenario scenario;
    scenario.mode = GetParam();
    scenario.target = RandomModel(/*seed=*/1, /*spread=*/1.5f);
    scenario.draft = scenario.target;
    scenario.params.temperature = 1.0;
    return scenario;
  }
};

TEST_P(VerifierDistributionTest, DraftEqualsTarget) { ExpectTargetDistribution(Base()); }

TEST_P(VerifierDistributionTest, DraftCloseToTarget) {
  Scenario scenario = Base();
  scenario.draft = Blend(scenario.target, RandomModel(2, 1.5f), 0.3f);
  ExpectTargetDistribution(scenario);
}

TEST_P(VerifierDistributionTest, DraftFarFromTarget) {
  Scenario scenario = Base();
  scenario.draft = RandomModel(/*seed=*/3, /*spread=*/3.0f);
  ExpectTargetDistribution(scenario);
}

TEST_P(VerifierDistributionTest, DraftMissesTargetMass) {
  Scenario scenario = Base();
  scenario.draft = Blend(scenario.target, RandomModel(2, 1.5f), 0.3f);
  scenario.active = {TokenId{1}, TokenId{4}, TokenId{7}, TokenId{8}};
  ExpectTargetDistribution(scenario);
}

TEST_P(VerifierDistributionTest, DraftOffersTargetZeroMassNeverEmitsIt) {
  Scenario scenario = Base();
  scenario.draft = RandomModel(/*seed=*/3, /*spread=*/1.0f);
  for (auto& row : scenario.target) row[4] = -kInfinity;
  scenario.active = {TokenId{1}, TokenId{4}, TokenId{7}};
  ExpectTargetDistribution(scenario);
}

TEST_P(VerifierDistributionTest, ChainsThatEndAtLowConfidence) {
  // Between the confidences of the draft, so that chains of both lengths occur.
  for (double p_min : {0.6, 0.63, 0.67}) {
    Scenario scenario = Base();
    scenario.draft = Blend(scenario.target, RandomModel(2, 1.5f), 0.5f);
    scenario.active = {TokenId{0}, TokenId{1}, TokenId{3}, TokenId{4}, TokenId{7}, TokenId{8}};
    scenario.draft_p_min = p_min;
    SCOPED_TRACE(p_min);
    ExpectTargetDistribution(scenario);
  }
}

TEST_P(VerifierDistributionTest, ChainsThatEndByCost) {
  // Passes at which usual_acceptance, initially 0.8, ends chains at the confidences.
  for (double pass : {0.48, 0.5, 0.535}) {
    Scenario scenario = Base();
    scenario.draft = Blend(scenario.target, RandomModel(2, 1.5f), 0.5f);
    scenario.active = {TokenId{0}, TokenId{1}, TokenId{3}, TokenId{4}, TokenId{7}, TokenId{8}};
    scenario.thresholds = ChainThresholds{.pass = {0.0, pass}, .row = {0.1, 0.1}};
    SCOPED_TRACE(pass);
    ExpectTargetDistribution(scenario);
  }
}

TEST_P(VerifierDistributionTest, ChainsContinuedByCopies) {
  const uint64_t seed = 23;
  std::mt19937_64 random(seed);
  for (const int num_drafted : {0, 1}) {  // before the copies
    Scenario scenario = Base();
    scenario.draft = Blend(scenario.target, RandomModel(2, 1.5f), 0.5f);
    constexpr double kNever = 2.0;
    scenario.thresholds = {.pass = {num_drafted == 0 ? kNever : 0.0, kNever}, .row = {0.1, 0.1}};
    scenario.suffix_drafts = true;
    // A text of the target's own, with most pairs of tokens in it.
    scenario.prompt.assign(1, TokenId{0});
    while (scenario.prompt.size() < 400 || scenario.prompt.back() != TokenId{0}) {
      const std::vector<double> next =
          Distribution(scenario.target[Raw(scenario.prompt.back())], scenario.params);
      std::discrete_distribution<int32_t> draw(next.begin(), next.end());
      scenario.prompt.push_back(TokenId{draw(random)});
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << num_drafted << " drafted");
    ExpectTargetDistribution(scenario);
  }
}

TEST_P(VerifierDistributionTest, TemperaturesAndFilters) {
  for (double temperature : {0.3, 0.8, 1.7}) {
    for (int filter = 0; filter < 5; ++filter) {
      Scenario scenario = Base();
      scenario.draft = Blend(scenario.target, RandomModel(2, 1.5f), 0.5f);
      scenario.active = {TokenId{0}, TokenId{1}, TokenId{3}, TokenId{4},
                         TokenId{7}, TokenId{8}, TokenId{9}};
      scenario.params.temperature = temperature;
      if (filter == 1) scenario.params.top_k = 4;
      if (filter == 2) scenario.params.top_p = 0.8;
      if (filter == 3) scenario.params.min_p = 0.1;
      if (filter == 4) {
        scenario.params.top_k = 8;
        scenario.params.top_p = 0.9;
        scenario.params.min_p = 0.05;
      }
      SCOPED_TRACE("temperature " + std::to_string(temperature) + " filter " +
                   std::to_string(filter));
      ExpectTargetDistribution(scenario);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, VerifierDistributionTest,
                         testing::Values(VerifyMode::kCoupled, VerifyMode::kRejection),
                         [](const auto& info) {
                           return info.param == VerifyMode::kCoupled ? "Coupled" : "Rejection";
                         });

/// One verification of `drafted` against greedy rows whose best tokens are `best`.
struct GreedyRound {
  std::unique_ptr<Sequence> sequence;
  int64_t num_accepted = 0;
};

GreedyRound VerifyGreedy(const std::vector<int32_t>& drafted, const std::vector<int32_t>& best,
                         Sequence::Options options = {}) {
  GreedyRound round;
  round.sequence = *Sequence::Create({TokenId{0}}, std::move(options), kVocab);
  DraftedChain chain;
  for (int32_t id : drafted) chain.tokens.push_back(TokenId{id});
  std::vector<PrunedHead::Best> rows;
  for (int32_t id : best) rows.push_back({TokenId{id}, 1.0f});
  round.num_accepted =
      Verifier().Verify(*round.sequence, chain, {nullptr, rows, 0}, VerifyMode::kCoupled, kContext);
  return round;
}

std::vector<int32_t> Output(const Sequence& sequence) {
  std::vector<int32_t> ids;
  for (TokenId id : sequence.output()) ids.push_back(Raw(id));
  return ids;
}

TEST(VerifierRunTest, EarlyRejectionEmitsCorrectionOnly) {
  const GreedyRound round = VerifyGreedy({5, 6, 7}, {4, 6, 7, 8});
  EXPECT_EQ(round.num_accepted, 0);
  EXPECT_EQ(Output(*round.sequence), std::vector<int32_t>({4}));
}

TEST(VerifierRunTest, LateRejectionKeepsAcceptedRun) {
  const GreedyRound round = VerifyGreedy({5, 6, 7}, {5, 6, 1, 8});
  EXPECT_EQ(round.num_accepted, 2);
  EXPECT_EQ(Output(*round.sequence), std::vector<int32_t>({5, 6, 1}));
}

TEST(VerifierRunTest, AllAcceptedAppendsBonus) {
  const GreedyRound round = VerifyGreedy({5, 6, 7}, {5, 6, 7, 8});
  EXPECT_EQ(round.num_accepted, 3);
  EXPECT_EQ(Output(*round.sequence), std::vector<int32_t>({5, 6, 7, 8}));
}

TEST(VerifierRunTest, StopTokenCutsAcceptedRun) {
  Sequence::Options options;
  options.sampling.stop_token_ids = {TokenId{6}};
  const GreedyRound round = VerifyGreedy({5, 6, 7}, {5, 6, 7, 8}, options);
  EXPECT_EQ(round.num_accepted, 2);
  EXPECT_EQ(Output(*round.sequence), std::vector<int32_t>({5, 6}));
  EXPECT_EQ(round.sequence->finish_reason(), FinishReason::kStop);
}

TEST(VerifierRunTest, StopCallbackAndLengthCutAcceptedRuns) {
  Sequence::Options options;
  options.stop = [](TokenId id) { return id == TokenId{5}; };
  EXPECT_EQ(Output(*VerifyGreedy({5, 6, 7}, {5, 6, 7, 8}, options).sequence),
            std::vector<int32_t>({5}));
  options.stop = nullptr;
  options.sampling.max_new_tokens = 2;
  const GreedyRound round = VerifyGreedy({5, 6, 7}, {5, 6, 7, 8}, options);
  EXPECT_EQ(Output(*round.sequence), std::vector<int32_t>({5, 6}));
  EXPECT_EQ(round.sequence->finish_reason(), FinishReason::kLength);
}

TEST(VerifierRunTest, NanRowFailsSequenceAndKeepsAcceptedTokens) {
  const GreedyRound round = VerifyGreedy({5, 6}, {5, -1, 7});
  EXPECT_EQ(Output(*round.sequence), std::vector<int32_t>({5}));
  EXPECT_EQ(round.sequence->finish_reason(), FinishReason::kError);
  EXPECT_EQ(round.sequence->error().code(), absl::StatusCode::kInternal);
}

TEST(VerifierRunTest, ErrorIsInvalidArgumentIfOnlyBansCauseIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Sequence::Options options;
  options.sampling.bans = std::make_shared<const TokenBans>(
      std::vector{TokenId{3}}, std::vector<std::vector<TokenId>>{{TokenId{3}}});
  for (const auto& [logit, code] : {std::pair(1.0f, absl::StatusCode::kInvalidArgument),
                                    std::pair(nan, absl::StatusCode::kInternal)}) {
    const auto sequence = *Sequence::Create({TokenId{0}}, options, kVocab);
    const TokenLogits rows{
        .values = std::vector<float>(kVocab, logit), .stride = kVocab, .ids = {RowIds(kVocab)}};
    Verifier().Verify(*sequence, {}, {&rows, {}, 0}, VerifyMode::kCoupled, kContext);
    EXPECT_EQ(sequence->finish_reason(), FinishReason::kError);
    EXPECT_EQ(sequence->error().code(), code) << sequence->error();
  }
}

/// Allows nothing, and says why.
class FailedConstraint final : public TokenConstraint {
 public:
  State Begin() const override { return State{0}; }
  State Next(State state, TokenId) const override { return state; }
  bool Allows(State, TokenId) const override { return false; }
  TokenSet Allowed(State) const override { return TokenSet::Only(std::vector<TokenId>()); }
  std::vector<TokenId> Forced(State) const override { return {}; }
  std::string Failure() const override { return "too complex"; }
};

TEST(VerifierRunTest, ErrorIsThatOfAFailedConstraint) {
  Sequence::Options options;
  options.sampling.grammar = std::make_shared<const FailedConstraint>();
  const auto sequence = *Sequence::Create({TokenId{0}}, options, kVocab);
  const TokenLogits rows{
      .values = std::vector<float>(kVocab, 1.0f), .stride = kVocab, .ids = {RowIds(kVocab)}};
  Verifier().Verify(*sequence, {}, {&rows, {}, 0}, VerifyMode::kCoupled, kContext);
  EXPECT_EQ(sequence->error(), absl::InvalidArgumentError("too complex"));
}

}  // namespace
}  // namespace shortlist
