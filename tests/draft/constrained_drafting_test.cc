// What constraints make of drafts: forced text, drafted without passes, sets scored alone, and the
// equality of outputs.
//
// Faults of other engines that draft under grammars, and the tests that exclude them. "Random" is
// RandomEngineTest.OutputsEqualPlainDecoding, whose grammars also force text that is wrong or may
// not follow.
//
//   vllm#11484, #9423, #10442   one row of a step is masked         Random
//   vllm#11312                  samples share a mutable matcher     ConstrainedEqualityTest
//   vllm#15554                  copies are not masked               ConstrainedCopyTest
//   vllm#14702                  the bonus is not masked             ForcedTextTest.Continues...
//   vllm#31858, #34650, ...     state lags within a step            Random, GrammarConstraintTest
//   vllm#44006, #44392, ...     a rollback corrupts the matcher     Random
//   vllm#49694                  masks of a neighbour are used       ConstrainedEqualityTest
//   vllm#54437                  rows without a mask allow all       Random (requests that rest)
//   vllm#30916                  drafts survive a preemption         Random (restarts)
//   vllm#49002                  masks take seconds                  none
//   vllm#43338                  first tokens are not masked         Random (Prefill)
//   vllm#44993                  outputs break with many requests    ConstrainedEqualityTest
//   vllm#51660                  one constraint fails all requests   VerifierRunTest.ErrorIs...
//   vllm#55313                  white space without end             JsonSchemaTest.WhiteSpace...
//   vllm#38106, #46118          as #44006                           Random
//   sglang#9187                 emitted tokens not in the grammar   GrammarsTest.OutputsFollow...
//   sglang#15050                a mask is wanted after the end      ForcedTextTest.DraftsEnd...
//   sglang#21723                the end is missed inside a chain    ForcedTextTest.DraftsEnd...
//   sglang#29110, #25388        a token is accepted twice           Random (restarts)
//   sglang#13019, #30096, ...   a drafter without masks             ConstrainedEqualityTest
//   sglang#24413                kinds of sets are confused          ConstrainedChoiceTest
//   sglang#2025, vllm#36142     forced text changes outputs         Random
//   llguidance#366, #267        encoder and mask disagree           GrammarConstraintTest
//   llguidance#239              state depends on grouping           Random (chunks, chains)
//   llama.cpp#12597, ...        a sampled token aborts the server   VerifierRunTest.ErrorIs...
//   ollama#18105, vllm#47885    drafts ignore the grammar           ForcedTextTest.FewTokens...

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "draft/chain_memory.h"
#include "draft/chain_policy.h"
#include "draft/engine.h"
#include "draft/model_drafter.h"
#include "draft/token_chooser.h"
#include "request/token_constraint.h"
#include "tests/draft/engine_testing.h"
#include "tests/draft/fake_model.h"
#include "tests/draft/pair.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {
namespace {

/// Allows one list of tokens at each place of the output, in turn; an empty list allows all. A list
/// of one is a forced token. The output is complete after `length` tokens.
class Script final : public TokenConstraint {
 public:
  Script(std::vector<std::vector<TokenId>> places, int64_t length)
      : places_(std::move(places)), length_(length) {}

  State Begin() const override { return State{0}; }
  State Next(State state, TokenId) const override { return State{At(state) + 1}; }
  bool Allows(State state, TokenId token) const override {
    const std::vector<TokenId>& place = PlaceOf(state);
    return place.empty() || std::ranges::binary_search(place, token);
  }
  TokenSet Allowed(State state) const override {
    const std::vector<TokenId>& place = PlaceOf(state);
    return place.empty() ? TokenSet::AllExcept({}) : TokenSet::Only(place);
  }
  std::vector<TokenId> Forced(State state) const override {
    std::vector<TokenId> forced;
    while (At(state) < length_ && PlaceOf(state).size() == 1) {
      forced.push_back(PlaceOf(state).front());
      state = Next(state, forced.back());
    }
    return forced;
  }
  bool IsComplete(State state) const override { return At(state) >= length_; }

 private:
  static int64_t At(State state) { return static_cast<int64_t>(state); }
  const std::vector<TokenId>& PlaceOf(State state) const {
    return places_[At(state) % std::ssize(places_)];
  }

  const std::vector<std::vector<TokenId>> places_;
  const int64_t length_;
};

std::vector<TokenId> Ids(std::initializer_list<int32_t> values) {
  std::vector<TokenId> ids;
  for (const int32_t value : values) ids.push_back(TokenId{value});
  return ids;
}

constexpr int64_t kVocab = 40;
constexpr int64_t kContext = 200;

/// Fake models of one request. The draft is the target, so it is always right.
class ForcedTextTest : public testing::Test {
 protected:
  /// Generates under `script` with chains of up to `num_draft_tokens`.
  std::unique_ptr<Sequence> Run(const Script& script, int64_t num_draft_tokens, bool has_drafter,
                                std::optional<double> p_min = 0.0,
                                DynamicVocabularyManager* vocab = nullptr) {
    const auto drafter = *ModelDrafter::Create(model_, kSlots, kVocab, pool_);
    const auto engine =
        *SpeculativeEngine::Create(model_, has_drafter ? drafter.get() : nullptr, vocab,
                                   {.num_draft_tokens = num_draft_tokens,
                                    .draft_p_min = p_min,
                                    .num_slots = kSlots,
                                    .emit_size = kVocab},
                                   pool_);
    SamplingParams sampling = UpTo(150);
    sampling.grammar = std::make_shared<Script>(script);
    auto sequence = MakeSequence(Ids({1, 2, 3}), {.sampling = sampling}, kVocab);
    RunToEnd(*engine, *sequence);
    EXPECT_EQ(sequence->finish_reason(), FinishReason::kStop) << sequence->error();
    num_passes_ = engine->stats().num_draft_passes;
    return sequence;
  }

  FakeModel model_{/*seed=*/5, kVocab, kContext};
  ThreadPool pool_{1};
  int64_t num_passes_ = 0;  // of the draft in the last run
};

TEST_F(ForcedTextTest, TakesFewestStepsAndNoPass) {
  constexpr int64_t kForced = 40;
  const Script script({Ids({7}), Ids({9}), Ids({4})}, /*length=*/1 + kForced);
  for (const int64_t k : {1, 5, 8}) {
    for (const bool has_drafter : {false, true}) {
      for (const std::optional<double> p_min : {std::optional(0.0), std::optional(0.35)}) {
        SCOPED_TRACE(absl::StrCat(k, " ", has_drafter, " ", *p_min));
        const auto sequence = Run(script, k, has_drafter, p_min);
        EXPECT_EQ(num_passes_, 0);
        // The first token is the prompt's.
        EXPECT_EQ(sequence->stats.num_verify_steps, (kForced + k) / (k + 1));
        EXPECT_EQ(sequence->stats.num_forced, sequence->stats.num_drafted);
        EXPECT_EQ(sequence->stats.num_accepted, sequence->stats.num_drafted);
        EXPECT_EQ(sequence->output().back(), script.Forced(TokenConstraint::State{kForced})[0]);
      }
    }
  }
}

TEST_F(ForcedTextTest, ContinuesAfterModelTokens) {
  // 1 token of the prompt, then 8 steps of: 2 passes for the model's tokens, 7 forced ones.
  const Script script({{}, Ids({9}), Ids({4}), Ids({6})}, /*length=*/1 + 72);
  const auto plain = Run(script, /*num_draft_tokens=*/0, /*has_drafter=*/true);
  const auto drafted = Run(script, /*num_draft_tokens=*/8, /*has_drafter=*/true);
  EXPECT_EQ(drafted->tokens(), plain->tokens());
  EXPECT_EQ(drafted->stats.num_verify_steps, 8);
  EXPECT_EQ(drafted->stats.num_accepted, 64);
  EXPECT_EQ(num_passes_, 64 - drafted->stats.num_forced);
  EXPECT_EQ(drafted->stats.num_constrained(), 54);  // with the target's own
  EXPECT_EQ(drafted->stats.num_covered, 18);
  EXPECT_EQ(drafted->stats.num_escapes(), 0);
  // After the prompt's token and the 8 tokens of each step comes the target's own.
  ASSERT_EQ(std::ssize(drafted->token_infos), 73);
  int64_t num_forced = 0;
  for (int64_t i = 1; i <= 72; ++i) {
    const TokenOrigin origin = drafted->token_infos[i].origin;
    if (i % 9 == 0) {
      EXPECT_EQ(origin, TokenOrigin::kBonus) << i;
    } else {
      const bool may_be_any = i % 4 == 0;  // output 0 comes from the script's first set
      EXPECT_EQ(origin, may_be_any ? TokenOrigin::kAccepted : TokenOrigin::kForced) << i;
      num_forced += origin == TokenOrigin::kForced;
    }
  }
  EXPECT_EQ(num_forced, drafted->stats.num_forced);
}

TEST_F(ForcedTextTest, IsDraftedWithoutADrafterUpToTheModelsToken) {
  const Script script({{}, Ids({9}), Ids({4}), Ids({6})}, /*length=*/1 + 72);
  const auto plain = Run(script, /*num_draft_tokens=*/0, /*has_drafter=*/false);
  const auto drafted = Run(script, /*num_draft_tokens=*/8, /*has_drafter=*/false);
  EXPECT_EQ(drafted->tokens(), plain->tokens());
  EXPECT_EQ(drafted->stats.num_verify_steps, 18);  // 3 forced tokens and the model's
}

TEST_F(ForcedTextTest, DraftsEndWhereTheOutputIsComplete) {
  for (const int64_t length : {2, 5, 6, 9, 10, 11}) {
    const Script script({{}, Ids({9}), Ids({4})}, length);
    const auto plain = Run(script, /*num_draft_tokens=*/0, /*has_drafter=*/true);
    const auto drafted = Run(script, /*num_draft_tokens=*/8, /*has_drafter=*/true);
    EXPECT_EQ(drafted->tokens(), plain->tokens());
    EXPECT_EQ(drafted->num_output(), length);
    // The draft is the target: what it drafts beyond the end would be rejected.
    EXPECT_EQ(drafted->stats.num_accepted, drafted->stats.num_drafted);
  }
}

TEST_F(ForcedTextTest, FewTokensAreScoredAlone) {
  // The draft's vocabulary is empty, and it learns nothing.
  const auto vocab = *DynamicVocabularyManager::Create(*VocabBase::Create({}, kVocab), {});
  const Script script({Ids({3, 8, 20}), Ids({5, 6})}, /*length=*/1 + 36);
  for (const std::optional<double> p_min : {std::optional(0.0), std::optional(0.35)}) {
    const auto plain = Run(script, /*num_draft_tokens=*/0, /*has_drafter=*/true);
    const auto drafted =
        Run(script, /*num_draft_tokens=*/5, /*has_drafter=*/true, p_min, vocab.get());
    EXPECT_EQ(drafted->tokens(), plain->tokens());
    EXPECT_EQ(drafted->stats.num_accepted, drafted->stats.num_drafted);
    EXPECT_GE(drafted->stats.num_accepted, 18);
    EXPECT_EQ(drafted->stats.num_mapping_faults, 0);
  }
}

TEST(ConstrainedChoiceTest, RowsOfTheSetAloneYieldTheChoiceOfTheFullHead) {
  std::mt19937 random(3);
  const ActiveVocab no_rows(/*version=*/0, *VocabBase::Create({}, kVocab), {});
  for (int round = 0; round < 2000; ++round) {
    std::vector<TokenId> set;
    std::vector<int32_t> rows;
    std::vector<float> full, few;
    const uint32_t share = 1 + random() % 10;
    for (int32_t id = 0; id < kVocab; ++id) {
      full.push_back(static_cast<float>(random() % 1000) / 100.0f);
      if (random() % share > 0) continue;
      set.push_back(TokenId{id});
      rows.push_back(id);
      few.push_back(full.back());
    }
    if (set.empty()) continue;
    SamplingParams sampling = UpTo(5);
    sampling.temperature = round % 3 * 0.7;
    sampling.top_k = round % 5 == 0 ? 3 : 0;
    sampling.seed = round;
    sampling.grammar =
        std::make_shared<Script>(std::vector<std::vector<TokenId>>{set}, /*length=*/5);
    const auto sequence = MakeSequence(Ids({1}), {.sampling = sampling}, kVocab);
    TokenChooser of_all, of_few;
    const RowIds all_ids(kVocab), few_ids(no_rows, rows);
    of_all.Prepare(full, all_ids, *sequence, {});
    of_few.Prepare(few, few_ids, *sequence, {});
    const TokenId choice = of_all.TokenAt(*of_all.Choose());
    EXPECT_EQ(choice, of_few.TokenAt(*of_few.Choose()));
    EXPECT_EQ(choice, of_few.TokenAt(of_few.ChooseSurely()->row));
    EXPECT_TRUE(std::ranges::binary_search(set, choice));
    const DraftDistribution p = of_all.Distribution(), q = of_few.Distribution();
    EXPECT_EQ(p.ids, q.ids);
    for (size_t i = 0; i < p.ids.size(); ++i) EXPECT_NEAR(p.probs[i], q.probs[i], 1e-6);
  }
}

class ConstrainedCopyTest : public testing::Test {
 protected:
  /// What is copied after 5 6 7 8 9 4 3 5 6 by a request under `script`.
  std::vector<TokenId> Copied(const Script& script) {
    const auto text = Ids({5, 6, 7, 8, 9, 4, 3, 5, 6});
    const std::vector<Sequence::Constraint> constraints = {
        {std::make_shared<Script>(script), script.Begin()}};
    ChainMemory memory;
    const ChainPolicy policy(
        memory, text, {.max_tokens = 4, .p_min = 0.1, .copies = true, .constraints = constraints});
    DraftedChain chain;
    policy.Copy(/*wants_distributions=*/false, chain);
    return chain.tokens;
  }
};

TEST_F(ConstrainedCopyTest, EndsAtTheFirstTokenThatMayNotFollow) {
  EXPECT_EQ(Copied(Script({{}}, /*length=*/10)), Ids({7, 8, 9, 4}));
  EXPECT_EQ(Copied(Script({{}, {}, Ids({1, 2})}, /*length=*/10)), Ids({7, 8}));
  EXPECT_EQ(Copied(Script({Ids({1})}, /*length=*/10)), Ids({}));
  EXPECT_EQ(Copied(Script({{}}, /*length=*/3)), Ids({7, 8, 9}));
}

/// The demo pair under scripts of forced runs, few tokens and free text.
class ConstrainedEqualityTest : public EngineTest {
 protected:
  static std::shared_ptr<const TokenConstraint> NewScript(const std::vector<TokenId>& text) {
    std::vector<std::vector<TokenId>> places;
    for (size_t i = 0; i < text.size(); ++i) {
      std::vector<TokenId> few(text.begin() + i, std::min(text.begin() + i + 12, text.end()));
      std::ranges::sort(few);
      few.erase(std::ranges::unique(few).begin(), few.end());
      const size_t kind = i % 10;
      places.push_back(kind < 4 ? std::vector{text[i]} : kind < 7 ? few : std::vector<TokenId>());
    }
    return std::make_shared<Script>(std::move(places), /*length=*/1000);
  }
};

TEST_F(ConstrainedEqualityTest, DraftedOutputsEqualPlainOnes) {
  const auto prompts = TestPrompts(/*count=*/6, /*max_len=*/60);
  for (const double temperature : {0.0, 0.8}) {
    RunConfig plain{.sampling = UpTo(30)};
    plain.sampling.temperature = temperature;
    plain.sampling.grammar = NewScript(prompts[0]);
    const RunResult expected = pair_->Run(prompts, plain);
    SequenceStats total;
    int run = 0;
    for (const VocabKind vocab :
         {VocabKind::kFullHead, VocabKind::kListAndDynamic, VocabKind::kSketch}) {
      for (const DrafterKind drafter :
           {DrafterKind::kEagle, DrafterKind::kEagle3, DrafterKind::kModel, DrafterKind::kSelf}) {
        if (drafter == DrafterKind::kEagle3 && vocab == VocabKind::kSketch) continue;
        RunConfig config = plain;
        config.drafter = drafter;
        config.vocab = vocab;
        config.num_draft_tokens = std::array{1, 5, 8, 8}[run++ % 4];
        config.batch = run % 2 == 0 ? 8 : 1;
        config.draft_p_min = run % 3 == 0 ? 0.0 : 0.35;
        if (temperature == 0.0 && run % 2 == 0) config.verify = VerifyMode::kRejection;
        SCOPED_TRACE(config.ToString());
        const RunResult drafted = pair_->Run(prompts, config);
        EXPECT_EQ(drafted.outputs, expected.outputs);
        EXPECT_EQ(drafted.total.num_mapping_faults, 0);
        EXPECT_GT(drafted.total.num_forced, 0);
        total.Add(drafted.total);
      }
    }
    EXPECT_GT(total.num_accepted, total.num_forced);
    EXPECT_GT(total.num_held[Index(RowSource::kGrammar)], 0);
    EXPECT_GT(total.num_held[Index(RowSource::kSketch)], 0);
  }
}

}  // namespace
}  // namespace shortlist
