#include "draft/token_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace shortlist {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<Sequence> MakeSequence(const SamplingParams& params, std::vector<int32_t> prompt,
                                       std::vector<int32_t> output, int64_t vocab_size) {
  std::vector<TokenId> ids;
  for (int32_t id : prompt) ids.push_back(TokenId{id});
  auto sequence =
      Sequence::Create(ids, {.sampling = params, .max_tail_rows = 0, .stop = {}}, vocab_size);
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  for (int32_t id : output) (*sequence)->Emit(TokenId{id}, /*context_len=*/1 << 20);
  return std::move(*sequence);
}

/// Ids that survive the filters, straight from their definitions.
std::vector<int32_t> OracleSupport(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isnan(logits[i]) && logits[i] != -kInfinity) order.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
  if (params.top_k > 0 && params.top_k < static_cast<int64_t>(order.size()))
    order.resize(params.top_k);
  const double best = logits[order[0]];
  const auto weight = [&](int32_t id) {
    return std::exp((logits[id] - best) / params.temperature);
  };
  double total = 0.0;
  for (int32_t id : order) total += weight(id);
  std::vector<int32_t> support;
  double mass = 0.0;
  for (int32_t id : order) {
    if (params.top_p < 1.0 && mass >= params.top_p * total) break;
    mass += weight(id);
    if (weight(id) >= params.min_p) support.push_back(id);
  }
  std::sort(support.begin(), support.end());
  return support;
}

TEST(TokenChooserTest, FiltersFollowDefinitions) {
  const uint64_t seed = 77;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const int64_t vocab_size = 2 + random() % 200;
    std::vector<float> logits(vocab_size);
    for (float& logit : logits) {
      logit = random() % 12 == 0 ? kNaN : std::round(normal(random) * 4) / 4;  // with ties
    }
    logits[random() % vocab_size] = 1.0f;
    SamplingParams params;
    params.temperature = 0.25 + 0.25 * (random() % 8);
    if (random() % 2) params.top_k = 1 + random() % 20;
    if (random() % 2) params.top_p = 0.05 + 0.9 * (random() % 1000) / 1000.0;
    if (random() % 2) params.min_p = 0.5 * (random() % 1000) / 1000.0;
    const auto sequence = MakeSequence(params, {0}, {}, vocab_size);
    TokenChooser chooser;
    const RowIds ids(vocab_size);
    chooser.Prepare(logits, ids, *sequence, {});
    const DraftDistribution distribution = chooser.Distribution();
    const std::vector<int32_t> expected = OracleSupport(logits, params);
    EXPECT_EQ(distribution.ids, expected);
    EXPECT_NEAR(std::accumulate(distribution.probs.begin(), distribution.probs.end(), 0.0), 1.0,
                1e-4);
    for (size_t i = 0; i < distribution.ids.size(); ++i) {
      EXPECT_NEAR(distribution.probs[i], chooser.Probability(TokenId{distribution.ids[i]}), 1e-6);
    }
    const std::optional<DraftId> row = chooser.Choose();
    ASSERT_TRUE(row.has_value());
    EXPECT_TRUE(std::binary_search(expected.begin(), expected.end(), Raw(chooser.TokenAt(*row))));
  }
}

TEST(TokenChooserTest, CompactRowChoosesSameTokenAsFullRow) {
  // Where the active rows hold all tokens (in another order), every choice is the same.
  const int64_t vocab_size = 64;
  auto base = VocabBase::Create({}, vocab_size);
  ASSERT_TRUE(base.ok());
  std::vector<int32_t> order(vocab_size);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(8);
  std::shuffle(order.begin(), order.end(), random);
  const ActiveVocab active(1, *base, order);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> full(vocab_size), compact;
    for (float& logit : full) logit = static_cast<float>(random() % 6);
    for (int32_t id : order) compact.push_back(full[id]);
    SamplingParams params;
    params.temperature = round % 2 == 0 ? 0.0 : 0.7;
    params.top_k = round % 3 == 0 ? 5 : 0;
    params.top_p = round % 5 == 0 ? 0.6 : 1.0;
    params.seed = round;
    params.repetition_penalty = 1.3;
    params.frequency_penalty = 0.5;
    params.logit_bias = {{TokenId{5}, 1.0f}};
    const auto sequence = MakeSequence(params, {3, 9}, {9, 10}, vocab_size);
    const std::vector<TokenId> drafted = {TokenId{10}, TokenId{11}};
    TokenChooser full_chooser, compact_chooser;
    const RowIds full_ids(vocab_size), compact_ids(active, {});
    full_chooser.Prepare(full, full_ids, *sequence, drafted);
    compact_chooser.Prepare(compact, compact_ids, *sequence, drafted);
    EXPECT_EQ(full_chooser.TokenAt(*full_chooser.Choose()),
              compact_chooser.TokenAt(*compact_chooser.Choose()));
  }
}

TEST(TokenChooserTest, PenaltiesSeePromptOutputAndDraft) {
  SamplingParams params;
  params.repetition_penalty = 2.0;
  params.presence_penalty = 0.5;
  params.frequency_penalty = 0.25;
  params.logit_bias = {{TokenId{6}, 3.0f}};
  params.temperature = 1.0;
  const auto sequence = MakeSequence(params, {0, 1}, {2, 2, 3}, /*vocab_size=*/8);
  const std::vector<TokenId> drafted = {TokenId{3}, TokenId{4}};
  const std::vector<float> logits = {2.0f, -2.0f, 4.0f, 4.0f, 4.0f, 4.0f, 1.0f, 0.0f};
  // 0, 1: in the prompt only. 2: twice in the output. 3: once there, once drafted. 4: drafted.
  const std::vector<double> penalised = {
      1.0, -4.0, 2.0 - 0.5 - 0.5, 2.0 - 0.5 - 0.5, 2.0 - 0.5 - 0.25, 4.0, 4.0, 0.0};
  double total = 0.0;
  for (double value : penalised) total += std::exp(value);
  TokenChooser chooser;
  const RowIds ids(8);
  chooser.Prepare(logits, ids, *sequence, drafted);
  for (int32_t id = 0; id < 8; ++id) {
    EXPECT_NEAR(chooser.Probability(TokenId{id}), std::exp(penalised[id]) / total, 1e-5) << id;
  }
  EXPECT_EQ(chooser.position(), 7);
}

TEST(TokenChooserTest, StopTokensAreBannedBeforeMinNewTokens) {
  SamplingParams params;
  params.min_new_tokens = 2;
  params.stop_token_ids = {TokenId{3}};
  const std::vector<float> logits = {0.0f, 1.0f, 2.0f, 9.0f};
  TokenChooser chooser;
  const RowIds ids(4);
  const auto sequence = MakeSequence(params, {0}, {1}, /*vocab_size=*/4);
  chooser.Prepare(logits, ids, *sequence, {});
  EXPECT_EQ(*chooser.Choose(), DraftId{2});
  const std::vector<TokenId> drafted = {TokenId{2}};
  chooser.Prepare(logits, ids, *sequence, drafted);
  EXPECT_EQ(*chooser.Choose(), DraftId{3});
}

TEST(TokenChooserTest, BansFollowDefinitions) {
  constexpr uint64_t kSeed = 31;
  std::mt19937 random(kSeed);
  const int32_t vocab_size = 12;
  auto base = VocabBase::Create({}, vocab_size);
  ASSERT_TRUE(base.ok());
  std::vector<int32_t> order(vocab_size);
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    // Few tokens, so that words do occur.
    const auto some = [&random](size_t most) {
      std::vector<int32_t> ids(random() % (most + 1));
      for (int32_t& id : ids) id = static_cast<int32_t>(random() % 3);
      return ids;
    };
    SamplingParams params;
    params.temperature = round % 2 == 0 ? 0.0 : 1.0;
    params.logit_bias = {{TokenId{1}, 5.0f}};  // lifts no ban
    std::vector<TokenId> allowed;
    std::vector<std::vector<TokenId>> bad_words;
    for (int32_t id = 0; id < vocab_size && round % 3 > 0; ++id) {
      if (random() % 2) allowed.push_back(TokenId{id});
    }
    for (size_t i = random() % 6; i > 0; --i) {
      std::vector<TokenId>& word = bad_words.emplace_back();
      for (int32_t id : some(3)) word.push_back(TokenId{id});
      word.push_back(TokenId{static_cast<int32_t>(random() % 4)});
    }
    params.bans = std::make_shared<const TokenBans>(allowed, bad_words);
    const std::vector<int32_t> output = some(4), drafted = some(3);
    // Words of the prompt do not count as output.
    const auto sequence = MakeSequence(params, {0, 1, 2, 0, 1}, output, vocab_size);
    std::vector<TokenId> drafted_ids, so_far;
    for (int32_t id : drafted) drafted_ids.push_back(TokenId{id});
    so_far.assign(sequence->output().begin(), sequence->output().end());
    so_far.insert(so_far.end(), drafted_ids.begin(), drafted_ids.end());

    std::vector<int32_t> expected;
    for (int32_t id = 0; id < vocab_size; ++id) {
      bool stays = allowed.empty() ||
                   std::find(allowed.begin(), allowed.end(), TokenId{id}) != allowed.end();
      std::vector<TokenId> with = so_far;
      with.push_back(TokenId{id});
      for (const std::vector<TokenId>& word : bad_words) {
        stays &=
            with.size() < word.size() || !std::equal(word.rbegin(), word.rend(), with.rbegin());
      }
      if (stays) expected.push_back(id);
    }
    std::shuffle(order.begin(), order.end(), random);
    const ActiveVocab active(1, *base, order);
    std::vector<float> full(vocab_size), compact;
    for (float& logit : full) logit = static_cast<float>(random() % 6);
    for (int32_t id : order) compact.push_back(full[id]);
    TokenChooser full_chooser, compact_chooser;
    const RowIds full_ids(vocab_size), compact_ids(active, {});
    full_chooser.Prepare(full, full_ids, *sequence, drafted_ids);
    compact_chooser.Prepare(compact, compact_ids, *sequence, drafted_ids);
    const std::optional<DraftId> choice = full_chooser.Choose();
    ASSERT_EQ(choice.has_value(), !expected.empty());
    ASSERT_EQ(compact_chooser.Choose().has_value(), !expected.empty());
    if (expected.empty()) continue;
    EXPECT_EQ(full_chooser.TokenAt(*choice), compact_chooser.TokenAt(*compact_chooser.Choose()));
    EXPECT_TRUE(std::binary_search(expected.begin(), expected.end(), Raw(*choice)));
    if (!params.greedy()) {
      EXPECT_EQ(full_chooser.Distribution().ids, expected);
    }
  }
}

TEST(TokenChooserTest, DegenerateRows) {
  TokenChooser chooser;
  const RowIds ids(3);
  const std::vector<float> nothing = {kNaN, -kInfinity, kNaN};
  const std::vector<float> one = {kNaN, 1.0f, -kInfinity};
  const std::vector<float> infinite = {3.0f, kInfinity, kInfinity};
  for (const auto& [temperature, top_p] : {std::pair(0.0, 0.5), {1.0, 0.5}, {1.0, 1.0}}) {
    SamplingParams params;
    params.temperature = temperature;
    params.top_p = top_p;
    const auto sequence = MakeSequence(params, {0}, {}, /*vocab_size=*/3);
    chooser.Prepare(nothing, ids, *sequence, {});
    EXPECT_FALSE(chooser.Choose().has_value());
    chooser.Prepare(one, ids, *sequence, {});
    EXPECT_EQ(*chooser.Choose(), DraftId{1});
    chooser.Prepare(infinite, ids, *sequence, {});
    EXPECT_EQ(*chooser.Choose(), DraftId{1});
  }
  const std::vector<float> near = {3.0f, 3.5f, -3.0f};
  for (double temperature : {1e-30, 1e-300}) {
    for (double top_p : {0.5, 1.0}) {
      SamplingParams cold;
      cold.temperature = temperature;
      cold.top_p = top_p;
      const auto sequence = MakeSequence(cold, {0}, {}, /*vocab_size=*/3);
      chooser.Prepare(near, ids, *sequence, {});
      EXPECT_EQ(*chooser.Choose(), DraftId{1});
    }
  }
}

TEST(SamplingParamsTest, RejectsEveryValueOutOfRange) {
  const auto refused = [](auto change, const std::string& word) {
    SamplingParams params;
    change(params);
    const absl::Status status = params.Validate(/*vocab_size=*/100);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << word;
    EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << status;
  };
  EXPECT_TRUE(SamplingParams().Validate(100).ok());
  const double nan = std::nan("");
  for (double value : {nan, -0.1, 100.5, static_cast<double>(kInfinity)}) {
    refused([&](SamplingParams& p) { p.temperature = value; }, "temperature");
  }
  for (double value : {nan, 0.0, -1.0, 1.01}) {
    refused([&](SamplingParams& p) { p.top_p = value; }, "top_p");
  }
  for (double value : {nan, -0.01, 1.01}) {
    refused([&](SamplingParams& p) { p.min_p = value; }, "min_p");
  }
  refused([](SamplingParams& p) { p.top_k = -1; }, "top_k -1");
  for (const std::vector<TokenId>& ids : std::vector<std::vector<TokenId>>{
           {TokenId{100}}, {TokenId{-1}}, {TokenId{5}, TokenId{5}}, {TokenId{5}, TokenId{4}}}) {
    const auto bans = std::make_shared<const TokenBans>(ids, std::vector<std::vector<TokenId>>());
    refused([&](SamplingParams& p) { p.bans = bans; }, "allowed_token_ids");
  }
  for (const std::vector<TokenId>& word :
       std::vector<std::vector<TokenId>>{{}, {TokenId{1}, TokenId{100}}, {TokenId{-1}}}) {
    const auto bans = std::make_shared<const TokenBans>(
        std::vector<TokenId>(), std::vector<std::vector<TokenId>>{{TokenId{1}}, word});
    refused([&](SamplingParams& p) { p.bans = bans; }, "bad_words");
  }
  refused([&](SamplingParams& p) { p.repetition_penalty = 0.0; }, "repetition_penalty 0");
  refused([&](SamplingParams& p) { p.presence_penalty = nan; }, "presence_penalty");
  refused([&](SamplingParams& p) { p.frequency_penalty = 101; }, "frequency_penalty 101");
  refused([](SamplingParams& p) { p.max_new_tokens = 0; }, "max_new_tokens 0");
  refused([](SamplingParams& p) { p.min_new_tokens = 129; }, "min_new_tokens 129");
  refused([](SamplingParams& p) { p.stop_token_ids = {TokenId{100}}; }, "100");
  refused([](SamplingParams& p) { p.logit_bias = {{TokenId{-1}, 0.0f}}; }, "-1");
  refused([](SamplingParams& p) { p.logit_bias = {{TokenId{1}, kNaN}}; }, "not finite");
}

}  // namespace
}  // namespace shortlist
