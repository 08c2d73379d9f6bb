#include "draft/prompt_logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/draft/engine_testing.h"

namespace shortlist {
namespace {

using LogprobsTest = EngineTest;  // of prompts, and of emitted tokens

TEST_F(LogprobsTest, PromptLogprobsAreIndependentOfChunks) {
  const auto prompts = TestPrompts(/*count=*/2, /*max_len=*/60);
  const std::vector<TokenId>& prompt = prompts[0];
  const auto num_tokens = std::ssize(prompt);
  // The oracle: one pass over the whole prompt, one call of the head, sums in double.
  auto cache = KvCache::Create(pair_->target().config(), kSlots, pair_->target().dtype());
  ASSERT_TRUE(cache.ok());
  std::vector<int32_t> slots(num_tokens);
  std::iota(slots.begin(), slots.end(), 0);
  ForwardBatch batch;
  batch.AddChain(prompt, /*first_position=*/0, slots);
  const auto hidden = pair_->target().Forward(batch, *cache);
  ASSERT_TRUE(hidden.ok());
  auto head = PrunedHead::Create(pair_->target().head_weight(), pair_->emit_size(), pair_->pool());
  const auto full_head = ActiveVocab::FullHead(pair_->emit_size());
  const auto logits = head->Logits(HeadInput::Of(*hidden), {*full_head});
  ASSERT_TRUE(logits.ok());
  std::vector<double> expected;  // of the tokens after the first
  for (int64_t i = 0; i + 1 < num_tokens; ++i) {
    double sum = 0.0;
    for (const float logit : logits->of_token(i)) sum += std::exp(static_cast<double>(logit));
    expected.push_back(logits->of_token(i)[Raw(prompt[i + 1])] - std::log(sum));
  }

  std::vector<TokenInfo> first_run;
  const auto drafter = pair_->NewDrafter(DrafterKind::kEagle, kSlots);
  for (const int64_t start : {int64_t{0}, int64_t{17}, num_tokens - 1}) {
    for (const int64_t chunk : {512, 7, 1}) {
      for (Drafter* draft :
           {static_cast<Drafter*>(nullptr), static_cast<Drafter*>(drafter.get())}) {
        const auto engine = NewEngine(draft, /*vocab=*/nullptr);
        Sequence::Options options{.sampling = UpTo(1)};
        const auto neighbour = MakeSequence(prompts[1], options, pair_->emit_size());
        options.sampling.num_logprobs = 3;
        options.sampling.prompt_logprobs_start = start;
        const auto sequence = MakeSequence(prompt, options, pair_->emit_size());
        const std::vector<StepWork> both = {{neighbour.get(), Slots(100)},
                                            {sequence.get(), Slots()}};
        while (!sequence->finished()) ASSERT_TRUE(engine->Prefill(both, chunk).ok());
        EXPECT_TRUE(neighbour->prompt_infos.empty());
        ASSERT_EQ(std::ssize(sequence->prompt_infos), num_tokens - 1 - start);
        if (first_run.empty()) first_run = sequence->prompt_infos;
        for (int64_t i = 0; i < std::ssize(sequence->prompt_infos); ++i) {
          const TokenInfo& info = sequence->prompt_infos[i];
          EXPECT_NEAR(info.logprob, expected[start + i], 1e-4);
          ASSERT_EQ(info.top.size(), 3u);
          EXPECT_LE(info.logprob, info.top[0].second);
          EXPECT_EQ(info.logprob, first_run[start + i].logprob);  // the very bits
          EXPECT_EQ(info.top, first_run[start + i].top);
        }
      }
    }
  }
}

TEST_F(LogprobsTest, PaddingCountsInLogprobsButIsNeverChosen) {
  const std::vector<TokenId> prompt = TestPrompts(/*count=*/1, /*max_len=*/40)[0];
  const int64_t vocab_size = pair_->emit_size();
  const int64_t emit_size = vocab_size / 3;  // much of the probability is the padding's
  Sequence::Options options;
  options.sampling = UpTo(40);
  options.sampling.temperature = 1.2;
  options.sampling.num_logprobs = 3;
  options.sampling.prompt_logprobs_start = 0;
  const auto plain = MakeSequence(prompt, options, vocab_size);
  RunToEnd(*NewEngine(/*drafter=*/nullptr, /*vocab=*/nullptr, /*num_draft_tokens=*/4, emit_size),
           *plain);
  const auto drafted = MakeSequence(prompt, options, vocab_size);
  const auto drafter = pair_->NewDrafter(DrafterKind::kEagle, kSlots);
  RunToEnd(*NewEngine(drafter.get(), /*vocab=*/nullptr, /*num_draft_tokens=*/4, emit_size),
           *drafted);
  EXPECT_EQ(drafted->tokens(), plain->tokens());

  // The same tokens scored by an engine to which all rows are tokens.
  options.sampling.max_new_tokens = 1;
  const auto scored = MakeSequence(plain->tokens(), options, vocab_size);
  RunToEnd(*NewEngine(/*drafter=*/nullptr, /*vocab=*/nullptr), *scored);
  const auto expect_as_scored = [&](const TokenInfo& info, int64_t position, bool is_padding) {
    const float expected = scored->prompt_infos[position - 1].logprob;
    if (is_padding) {
      EXPECT_EQ(info.logprob, -std::numeric_limits<float>::infinity());
    } else {
      EXPECT_NEAR(info.logprob, expected, 1e-5) << position;
    }
    for (const auto& [id, logprob] : info.top) EXPECT_LT(Raw(id), emit_size);
  };
  const int64_t prompt_len = plain->prompt_len();
  for (int64_t i = 1; i < prompt_len; ++i) {
    expect_as_scored(plain->prompt_infos[i - 1], i, Raw(prompt[i]) >= emit_size);
  }
  for (int64_t i = prompt_len; i < plain->num_tokens(); ++i) {
    EXPECT_LT(Raw(plain->tokens()[i]), emit_size);
    expect_as_scored(plain->token_infos[i - prompt_len], i, /*is_padding=*/false);
    EXPECT_EQ(drafted->token_infos[i - prompt_len].logprob,
              plain->token_infos[i - prompt_len].logprob);
  }
}

TEST_F(LogprobsTest, TokenInfosHoldOriginsEscapesAndPlainLogprobs) {
  const std::vector<TokenId> prompt = TestPrompts(/*count=*/1, /*max_len=*/60)[0];
  for (double temperature : {0.0, 0.8}) {
    Sequence::Options options;
    options.sampling = UpTo(40);
    options.sampling.temperature = temperature;
    options.sampling.frequency_penalty = 0.3;
    options.sampling.num_logprobs = 3;
    const auto plain = MakeSequence(prompt, options, pair_->target().config().vocab_size);
    RunToEnd(*NewEngine(/*drafter=*/nullptr, /*vocab=*/nullptr), *plain);

    const auto drafted = MakeSequence(prompt, options, pair_->target().config().vocab_size);
    const auto drafter = pair_->NewDrafter(DrafterKind::kEagle, kSlots);
    const auto vocab = pair_->NewVocab(VocabKind::kRatioQuarter);
    RunToEnd(*NewEngine(drafter.get(), vocab.get()), *drafted);

    ASSERT_EQ(drafted->tokens(), plain->tokens());
    ASSERT_EQ(plain->token_infos.size(), static_cast<size_t>(plain->num_output()));
    ASSERT_EQ(drafted->token_infos.size(), plain->token_infos.size());
    int64_t num_accepted = 0, num_escapes = 0;
    for (size_t i = 0; i < plain->token_infos.size(); ++i) {
      const TokenInfo& info = drafted->token_infos[i];
      EXPECT_EQ(plain->token_infos[i].origin, TokenOrigin::kPlain);
      EXPECT_EQ(info.logprob, plain->token_infos[i].logprob);
      EXPECT_EQ(info.top, plain->token_infos[i].top);
      ASSERT_EQ(info.top.size(), 3u);
      EXPECT_LE(info.logprob, info.top[0].second);
      num_accepted += info.origin == TokenOrigin::kAccepted;
      num_escapes += info.escape;
      EXPECT_FALSE(info.escape && info.origin == TokenOrigin::kAccepted);
    }
    EXPECT_EQ(num_accepted, drafted->stats.num_accepted);
    EXPECT_EQ(num_escapes, drafted->stats.num_step_tokens - drafted->stats.num_covered);
    EXPECT_GT(num_escapes, 0);
  }
}

}  // namespace
}  // namespace shortlist
