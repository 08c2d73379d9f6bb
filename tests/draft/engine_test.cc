#include "draft/engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "draft/eagle_drafter.h"
#include "draft/model_drafter.h"
#include "tests/draft/pair.h"
#include "tests/support/llama2c.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"
#include "vocab/base_ladder.h"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

constexpr int64_t kSlots = 300;

SamplingParams UpTo(int64_t max_new_tokens) {
  SamplingParams params;
  params.max_new_tokens = max_new_tokens;
  return params;
}

std::unique_ptr<Sequence> MakeSequence(const std::vector<TokenId>& prompt,
                                       Sequence::Options options, int64_t vocab_size) {
  auto sequence = Sequence::Create(prompt, std::move(options), vocab_size);
  EXPECT_TRUE(sequence.ok()) << sequence.status();
  return std::move(*sequence);
}

/// All slots of an engine, from `first` on.
std::span<const int32_t> Slots(int32_t first = 0) {
  static const std::vector<int32_t> all = [] {
    std::vector<int32_t> slots(kSlots);
    std::iota(slots.begin(), slots.end(), 0);
    return slots;
  }();
  return std::span(all).subspan(first);
}

void RunToEnd(SpeculativeEngine& engine, Sequence& sequence,
              std::span<const int32_t> kv_slots = Slots()) {
  const std::vector<StepWork> one = {{&sequence, kv_slots}};
  ASSERT_TRUE(engine.Prefill(one, /*max_tokens=*/512).ok());
  while (!sequence.finished()) ASSERT_TRUE(engine.Step(one).ok());
}

class EngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { pair_ = DemoPair::Load(/*num_threads=*/2).release(); }
  static void TearDownTestSuite() { delete pair_; }
  void SetUp() override { ASSERT_NE(pair_, nullptr); }

  std::unique_ptr<SpeculativeEngine> NewEngine(Drafter* drafter, DynamicVocabularyManager* vocab,
                                               int64_t num_draft_tokens = 4,
                                               std::optional<int64_t> emit_size = std::nullopt) {
    auto engine = SpeculativeEngine::Create(pair_->target(), drafter, vocab,
                                            {.num_draft_tokens = num_draft_tokens,
                                             .draft_p_min = 0.0,
                                             .verify = VerifyMode::kCoupled,
                                             .num_slots = kSlots,
                                             .emit_size = emit_size.value_or(pair_->emit_size())},
                                            pair_->pool());
    EXPECT_TRUE(engine.ok()) << engine.status();
    return std::move(*engine);
  }

  static DemoPair* pair_;
};
DemoPair* EngineTest::pair_ = nullptr;

TEST_F(EngineTest, TokenInfosTellOriginsEscapesAndTheSameLogprobsAsPlainDecoding) {
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

TEST_F(EngineTest, PromptLogprobsAreTheLogSoftmaxOfOnePassHoweverThePromptIsCut) {
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
  auto head = LmHead::Create(pair_->target().head_weight(), pair_->emit_size(), pair_->pool());
  const auto full_head = ActiveVocab::FullHead(pair_->emit_size());
  const auto logits = head->Logits(*hidden, {*full_head});
  ASSERT_TRUE(logits.ok());
  std::vector<double> expected;  // of the tokens behind the first
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

TEST_F(EngineTest, PaddingCountsInLogprobsAsInTransformersAndIsNeverChosen) {
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

/// Fails in every second draft, once in the middle of a chain.
class UnreliableDrafter final : public Drafter {
 public:
  explicit UnreliableDrafter(Drafter& inner) : inner_(inner) {}
  int64_t context_len() const override { return inner_.context_len(); }
  int64_t num_slots() const override { return inner_.num_slots(); }
  int64_t num_rows() const override { return inner_.num_rows(); }
  std::unique_ptr<DrafterState> NewState(int64_t cached_len) const override {
    return inner_.NewState(cached_len);
  }
  int64_t CachedLen(const Sequence& sequence) const override { return inner_.CachedLen(sequence); }
  bool kv_sees_next_token() const override { return inner_.kv_sees_next_token(); }
  absl::Status Accept(const StepWork& work, const at::Tensor& features) override {
    return inner_.Accept(work, features);
  }
  absl::Status Draft(std::span<DraftTask> tasks, bool wants) override {
    const absl::Status status = inner_.Draft(tasks, wants);
    return ++num_calls_ % 2 == 0 ? absl::InternalError("the draft model failed") : status;
  }

 private:
  Drafter& inner_;
  int num_calls_ = 0;
};

TEST_F(EngineTest, AFailingDrafterDegradesToPlainDecoding) {
  const auto prompt = TestPrompts(/*count=*/1, /*max_len=*/80)[0];
  std::unique_ptr<SpeculativeEngine> plain = NewEngine(nullptr, nullptr);
  auto expected = MakeSequence(prompt, {.sampling = UpTo(40), .max_tail_rows = 0, .stop = {}},
                               pair_->emit_size());
  RunToEnd(*plain, *expected);
  for (DrafterKind kind : {DrafterKind::kEagle, DrafterKind::kSelf}) {
    std::unique_ptr<Drafter> inner = pair_->NewDrafter(kind, kSlots);
    UnreliableDrafter drafter(*inner);
    std::unique_ptr<SpeculativeEngine> engine = NewEngine(&drafter, nullptr);
    EXPECT_TRUE(engine->draft_error().ok());
    auto sequence = MakeSequence(prompt, {.sampling = UpTo(40), .max_tail_rows = 0, .stop = {}},
                                 pair_->emit_size());
    testing::internal::CaptureStderr();
    RunToEnd(*engine, *sequence);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(sequence->tokens(), expected->tokens());
    EXPECT_GT(engine->stats().num_draft_failures, 2);
    EXPECT_EQ(engine->draft_error(), absl::InternalError("the draft model failed"));
    EXPECT_GT(sequence->stats.num_accepted, 5);  // the steps in between still draft
    if (kind == DrafterKind::kSelf) {
      EXPECT_EQ(sequence->stats.acceptance_rate(), 1.0);
    }
  }
}

TEST_F(EngineTest, ScarceSlotsAndFullContextsShortenDraftsNotOutputs) {
  const auto prompt = TestPrompts(/*count=*/1, /*max_len=*/20)[0];
  const int64_t max_new_tokens = 30;
  const int64_t just_enough = static_cast<int64_t>(prompt.size()) + max_new_tokens;
  std::unique_ptr<SpeculativeEngine> plain = NewEngine(nullptr, nullptr);
  auto expected =
      MakeSequence(prompt, {.sampling = UpTo(max_new_tokens), .max_tail_rows = 0, .stop = {}},
                   pair_->emit_size());
  RunToEnd(*plain, *expected);
  std::unique_ptr<Drafter> drafter = pair_->NewDrafter(DrafterKind::kSelf, kSlots);
  std::unique_ptr<SpeculativeEngine> engine =
      NewEngine(drafter.get(), nullptr, /*num_draft_tokens=*/6);
  auto sequence =
      MakeSequence(prompt, {.sampling = UpTo(max_new_tokens), .max_tail_rows = 0, .stop = {}},
                   pair_->emit_size());
  RunToEnd(*engine, *sequence, Slots().first(just_enough - 1));
  EXPECT_EQ(sequence->tokens(), expected->tokens());
  EXPECT_EQ(sequence->num_output(), max_new_tokens);
}

TEST_F(EngineTest, RequestTailLearnsPromptAndEscapesWithinItsBound) {
  const auto prompt = TestPrompts(/*count=*/1, /*max_len=*/120)[0];
  auto base = VocabBase::Create(std::vector<TokenId>{TokenId{13}}, pair_->emit_size());
  ASSERT_TRUE(base.ok());
  auto vocab = DynamicVocabularyManager::Create(*base, {.dynamic_capacity = 4, .pinned = {}});
  ASSERT_TRUE(vocab.ok());
  std::unique_ptr<Drafter> drafter = pair_->NewDrafter(DrafterKind::kEagle, kSlots);
  std::unique_ptr<SpeculativeEngine> engine = NewEngine(drafter.get(), vocab->get());
  auto sequence = MakeSequence(prompt, {.sampling = UpTo(60), .max_tail_rows = 50, .stop = {}},
                               pair_->emit_size());
  const std::vector<StepWork> one = {{sequence.get(), Slots()}};
  ASSERT_TRUE(engine->Prefill(one, 512).ok());
  const std::vector<TokenId> hints = {TokenId{500}, TokenId{501}};
  ASSERT_TRUE((*vocab)->Add(hints).ok());
  ASSERT_TRUE(engine->Step(one).ok());
  EXPECT_TRUE((*vocab)->Active()->Contains(TokenId{501}));
  while (!sequence->finished()) ASSERT_TRUE(engine->Step(one).ok());
  EXPECT_LE(SpeculationOf(*sequence).tail.size(), 50);
  EXPECT_LE((*vocab)->Active()->size(), 5);
  EXPECT_GT(sequence->stats.num_accepted, 0);
  EXPECT_GT(sequence->stats.coverage(), 0.2);
  EXPECT_LT(sequence->stats.coverage(), 1.0);
  EXPECT_FALSE((*vocab)->Escapes().empty());
  const auto nothing = engine->Step({});
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_TRUE(nothing->empty());
}

TEST_F(EngineTest, EachRequestOfABatchHasAVocabularyOfItsOwn) {
  const auto prompts = TestPrompts(/*count=*/3, /*max_len=*/60);
  const auto manager = [&](absl::StatusOr<std::shared_ptr<const VocabBase>> base) {
    return *DynamicVocabularyManager::Create(*base, {.dynamic_capacity = 64});
  };
  std::vector<TokenId> half;
  for (int32_t id = 0; id < pair_->emit_size() / 2; ++id) half.push_back(TokenId{id});
  struct Run {
    std::vector<std::vector<TokenId>> outputs;
    std::vector<SequenceStats> stats;
    std::vector<int64_t> learned;
  };
  const auto run = [&](bool together) {
    const auto drafter = pair_->NewDrafter(DrafterKind::kEagle, kSlots);
    const auto engine = NewEngine(drafter.get(), /*vocab=*/nullptr);
    std::vector<std::unique_ptr<DynamicVocabularyManager>> vocabs;
    vocabs.push_back(manager(VocabBase::FullHead(pair_->emit_size())));
    vocabs.push_back(manager(VocabBase::Create(half, pair_->emit_size())));
    vocabs.push_back(manager(VocabBase::Create({}, pair_->emit_size())));  // learns by itself
    std::vector<std::unique_ptr<Sequence>> sequences;
    std::vector<StepWork> all;
    for (size_t i = 0; i < vocabs.size(); ++i) {
      sequences.push_back(MakeSequence(prompts[i], {.sampling = UpTo(40), .max_tail_rows = 16},
                                       pair_->emit_size()));
      const std::span<const int32_t> slots = Slots(static_cast<int32_t>(100 * i)).first(100);
      all.push_back({sequences[i].get(), slots, vocabs[i].get()});
    }
    const auto to_end = [&](std::vector<StepWork> work) {
      while (!std::ranges::all_of(work, [](const auto& w) { return w.sequence->prefilled(); })) {
        EXPECT_TRUE(engine->Prefill(work, 512).ok());
      }
      while (true) {
        std::erase_if(work, [](const StepWork& w) { return w.sequence->finished(); });
        if (work.empty()) return;
        const auto results = engine->Step(work);
        ASSERT_TRUE(results.ok()) << results.status();
        for (size_t i = 0; i < work.size(); ++i) {
          EXPECT_GE((*results)[i].num_emitted, 1);
          EXPECT_EQ((*results)[i].cached_len, work[i].sequence->cached_len);
          EXPECT_LE((*results)[i].shareable_len, (*results)[i].cached_len);
        }
      }
    };
    if (together) {
      to_end(all);
    } else {
      for (const StepWork& one : all) to_end({one});
    }
    Run result;
    for (size_t i = 0; i < all.size(); ++i) {
      const std::span<const TokenId> output = sequences[i]->output();
      result.outputs.emplace_back(output.begin(), output.end());
      result.stats.push_back(sequences[i]->stats);
      result.learned.push_back(vocabs[i]->Stats().num_added);
    }
    return result;
  };
  const Run together = run(true), apart = run(false);
  EXPECT_EQ(together.outputs, apart.outputs);
  EXPECT_EQ(together.learned, apart.learned);
  EXPECT_EQ(together.learned[0], 0);
  EXPECT_GT(together.learned[2], 0);
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(together.stats[i].num_drafted, apart.stats[i].num_drafted) << i;
    EXPECT_EQ(together.stats[i].num_accepted, apart.stats[i].num_accepted) << i;
    EXPECT_EQ(together.stats[i].num_covered, apart.stats[i].num_covered) << i;
    EXPECT_EQ(together.stats[i].num_mapping_faults, 0) << i;
  }
  EXPECT_EQ(together.stats[0].coverage(), 1.0);
  EXPECT_LT(together.stats[2].coverage(), together.stats[1].coverage());
}

TEST_F(EngineTest, AVocabularyThatDoesNotFitCostsItsRequestItsDraftsAlone) {
  const auto prompts = TestPrompts(/*count=*/2, /*max_len=*/40);
  const auto plain = NewEngine(nullptr, nullptr);
  const auto drafter = pair_->NewDrafter(DrafterKind::kEagle, kSlots);
  const auto engine = NewEngine(drafter.get(), /*vocab=*/nullptr);
  const auto foreign = DynamicVocabularyManager::Create(*VocabBase::Create({}, 90), {});
  std::vector<std::unique_ptr<Sequence>> sequences, expected;
  for (const std::vector<TokenId>& prompt : prompts) {
    sequences.push_back(MakeSequence(prompt, {.sampling = UpTo(24)}, pair_->emit_size()));
    expected.push_back(MakeSequence(prompt, {.sampling = UpTo(24)}, pair_->emit_size()));
    RunToEnd(*plain, *expected.back());
  }
  std::vector<StepWork> work = {{sequences[0].get(), Slots().first(100), foreign->get()},
                                {sequences[1].get(), Slots(100)}};
  while (!sequences[0]->prefilled() || !sequences[1]->prefilled()) {
    ASSERT_TRUE(engine->Prefill(work, 512).ok());
  }
  while (true) {
    std::erase_if(work, [](const StepWork& of) { return of.sequence->finished(); });
    if (work.empty()) break;
    ASSERT_TRUE(engine->Step(work).ok());
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    EXPECT_EQ(sequences[i]->tokens(), expected[i]->tokens());
  }
  EXPECT_EQ(sequences[0]->stats.num_drafted, 0);
  EXPECT_GT(sequences[1]->stats.num_drafted, 0);
  EXPECT_GT(engine->stats().num_draft_failures, 0);
  EXPECT_NE(std::string(engine->draft_error().message()).find("90"), std::string::npos);
}

TEST_F(EngineTest, AVocabularyMayBecomeAnotherBetweenSteps) {
  const auto prompt = TestPrompts(/*count=*/1, /*max_len=*/60)[0];
  const auto plain = NewEngine(nullptr, nullptr);
  auto expected = MakeSequence(prompt, {.sampling = UpTo(60)}, pair_->emit_size());
  RunToEnd(*plain, *expected);
  const auto drafter = pair_->NewDrafter(DrafterKind::kEagle, kSlots);
  const auto vocab = *DynamicVocabularyManager::Create(*VocabBase::FullHead(pair_->emit_size()),
                                                       {.dynamic_capacity = 16});
  const auto engine = NewEngine(drafter.get(), vocab.get());
  auto sequence =
      MakeSequence(prompt, {.sampling = UpTo(60), .max_tail_rows = 200}, pair_->emit_size());
  const std::vector<StepWork> one = {{sequence.get(), Slots()}};
  ASSERT_TRUE(engine->Prefill(one, 512).ok());
  ASSERT_TRUE(engine->Step(one).ok());
  EXPECT_EQ(SpeculationOf(*sequence).tail.size(), 0);
  // The prompt's tokens enter as if it had begun with the list.
  const auto list = [&](int32_t id) {
    return *VocabBase::Create(std::vector<TokenId>{TokenId{id}}, pair_->emit_size());
  };
  ASSERT_TRUE(vocab->ReplaceBase(list(13)).ok());
  ASSERT_TRUE(engine->Step(one).ok());
  EXPECT_TRUE(SpeculationOf(*sequence).tail.Contains(prompt[prompt.size() / 2]) ||
              vocab->Active()->Contains(prompt[prompt.size() / 2]));
  ASSERT_TRUE(vocab->ReplaceBase(*VocabBase::FullHead(pair_->emit_size())).ok());
  ASSERT_TRUE(engine->Step(one).ok());
  EXPECT_EQ(SpeculationOf(*sequence).tail.size(), 0);
  ASSERT_TRUE(vocab->ReplaceBase(list(14)).ok());
  while (!sequence->finished()) ASSERT_TRUE(engine->Step(one).ok());
  EXPECT_GT(SpeculationOf(*sequence).tail.size(), 10);
  EXPECT_EQ(sequence->tokens(), expected->tokens());
  EXPECT_EQ(sequence->stats.num_mapping_faults, 0);
}

/// Over an empty base, so that what is found for a request is all that its draft can propose.
class DiscoveryEngineTest : public EngineTest {
 protected:
  std::unique_ptr<Sequence> Run(const Sequence::Options& of, SpeculativeEngine::Options options,
                                bool use_draft = true,
                                std::span<const TokenId> dynamic_tokens = {}) {
    const auto drafter = use_draft ? pair_->NewDrafter(DrafterKind::kEagle, kSlots) : nullptr;
    options.num_draft_tokens = 4;
    options.num_slots = kSlots;
    options.emit_size = pair_->emit_size();
    auto engine = SpeculativeEngine::Create(
        pair_->target(), drafter.get(), use_draft ? vocab_.get() : nullptr, options, pair_->pool());
    EXPECT_TRUE(engine.ok()) << engine.status();
    auto sequence = MakeSequence(prompt_, of, pair_->emit_size());
    std::vector<StepWork> one = {
        {.sequence = sequence.get(), .kv_slots = Slots(), .new_dynamic_tokens = dynamic_tokens}};
    EXPECT_TRUE((*engine)->Prefill(one, /*max_tokens=*/512).ok());
    while (!sequence->finished()) {
      EXPECT_TRUE((*engine)->Step(one).ok());
      one[0].new_dynamic_tokens = {};
    }
    return sequence;
  }
  static int64_t Held(const Sequence& sequence, RowSource source) {
    return sequence.stats.num_held[Index(source)];
  }

  const std::vector<TokenId> prompt_ = TestPrompts(/*count=*/1, /*max_len=*/40)[0];
  const std::unique_ptr<DynamicVocabularyManager> vocab_ =
      *DynamicVocabularyManager::Create(*VocabBase::Create({}, pair_->emit_size()), {});
};

TEST_F(DiscoveryEngineTest, IdsOfTheRequestAreRowsFromTheFirstStepOn) {
  const Sequence::Options of{.sampling = UpTo(40), .max_tail_rows = 100};
  const auto plain = Run(of, {}, /*use_draft=*/false);
  const auto given = Run(of, {}, /*use_draft=*/true, plain->output());
  EXPECT_EQ(given->tokens(), plain->tokens());
  EXPECT_EQ(given->stats.coverage(), 1.0);
  EXPECT_GT(Held(*given, RowSource::kGiven), 0);
  EXPECT_EQ(Held(*given, RowSource::kNone), 0);
  const auto without = Run(of, {});
  EXPECT_LT(without->stats.coverage(), 1.0);
  EXPECT_EQ(without->tokens(), plain->tokens());
}

TEST_F(DiscoveryEngineTest, TheTargetsBestTokensBecomeRowsGreedyAndSampled) {
  for (const double temperature : {0.0, 0.8}) {
    Sequence::Options of{.sampling = UpTo(60), .max_tail_rows = 200};
    of.sampling.temperature = temperature;
    const auto plain = Run(of, {}, /*use_draft=*/false);
    const auto with = Run(of, {.coverage_floor = 0.0, .discovery = {.target_rows = 100}});
    const auto without = Run(of, {.coverage_floor = 0.0});
    EXPECT_EQ(with->tokens(), plain->tokens());
    EXPECT_EQ(without->tokens(), plain->tokens());
    EXPECT_GT(with->stats.num_rows_added[Index(RowSource::kTarget)], 0);
    EXPECT_EQ(without->stats.num_rows_added[Index(RowSource::kTarget)], 0);
    EXPECT_GE(with->stats.num_covered, without->stats.num_covered);
    int64_t num_held = 0;
    for (const int64_t held : with->stats.num_held) num_held += held;
    EXPECT_EQ(num_held, with->stats.num_step_tokens);
    EXPECT_EQ(num_held - Held(*with, RowSource::kNone), with->stats.num_covered);
  }
}

TEST_F(DiscoveryEngineTest, ARequestWhoseCoverageCollapsesIsDraftedForWithTheFullHead) {
  const Sequence::Options of{.sampling = UpTo(120), .max_tail_rows = 0};  // it learns nothing
  ASSERT_TRUE(
      vocab_->ReplaceBase(*VocabBase::Create(std::vector{TokenId{3}}, pair_->emit_size())).ok());
  const auto plain = Run(of, {}, /*use_draft=*/false);
  const auto collapsed = Run(of, {.coverage_floor = 0.65});
  EXPECT_EQ(collapsed->tokens(), plain->tokens());
  EXPECT_GT(collapsed->stats.num_fallback_steps, 0);
  EXPECT_LT(collapsed->stats.num_fallback_steps, collapsed->stats.num_verify_steps);
  EXPECT_GT(collapsed->stats.num_accepted, 0);
  EXPECT_EQ(collapsed->stats.num_mapping_faults, 0);
  const auto stubborn = Run(of, {.coverage_floor = 0.0});
  EXPECT_EQ(stubborn->tokens(), plain->tokens());
  EXPECT_EQ(stubborn->stats.num_fallback_steps, 0);
  EXPECT_GT(collapsed->stats.accept_length(), stubborn->stats.accept_length());
}

TEST_F(DiscoveryEngineTest, TheTargetsBestBehindThePromptBecomeRowsOnce) {
  constexpr int64_t kBudget = 8;
  for (const double temperature : {0.0, 0.8}) {
    Sequence::Options of{.sampling = UpTo(40), .max_tail_rows = 200};
    of.sampling.temperature = temperature;
    const auto plain = Run(of, {}, /*use_draft=*/false);
    const auto with =
        Run(of, {.coverage_floor = 0.0, .discovery = {.prompt_target_rows = kBudget}});
    EXPECT_EQ(with->tokens(), plain->tokens());
    const int64_t num_added = with->stats.num_rows_added[Index(RowSource::kPromptTarget)];
    EXPECT_GT(num_added, 0);
    EXPECT_LE(num_added, kBudget);
    EXPECT_EQ(with->stats.num_rows_added[Index(RowSource::kTarget)], 0);
    const auto without = Run(of, {.coverage_floor = 0.0});
    EXPECT_EQ(without->stats.num_rows_added[Index(RowSource::kPromptTarget)], 0);
  }
}

TEST_F(DiscoveryEngineTest, TheSketchsShareIsFoundAndTheOutputStays) {
  const auto manager = pair_->NewVocab(VocabKind::kSketch);
  for (const double temperature : {0.0, 0.8}) {
    RunConfig config{.drafter = DrafterKind::kEagle, .sampling = UpTo(60)};
    config.sampling.temperature = temperature;
    const auto prompts = TestPrompts(/*count=*/2, /*max_len=*/60);
    const RunResult full = pair_->Run(prompts, config);
    VocabSizer sizer(*manager, /*ladder=*/nullptr, {8, 16, 32, 64}, /*max_draft_tokens=*/4);
    config.vocab = VocabKind::kSketch;
    config.sizer = &sizer;
    config.sizer_vocab = manager.get();
    for (int i = 0; i < 4; ++i) {
      const RunResult sized = pair_->Run(prompts, config);
      EXPECT_EQ(sized.outputs, full.outputs);
      EXPECT_EQ(sized.total.num_mapping_faults, 0);
      EXPECT_LE(sized.total.active_rows, 64);
    }
    EXPECT_GE(sizer.num_changes(), 1);
  }
}

TEST_F(DiscoveryEngineTest, TheBaseFindsItsSizeAndTheOutputStays) {
  const VocabTarget target{pair_->emit_size(), /*fingerprint=*/""};
  const std::string path = SourcePath("vocab_lists/demo.vocab.json");
  auto list = ReadVocabList(path, target);
  ASSERT_TRUE(list.ok()) << list.status();
  const auto ladder = BaseLadder::Create(
      {.use_static_vocab = true, .custom_vocab_path = path, .auto_size = true, .successors = 64},
      *std::move(list), target);
  ASSERT_TRUE(ladder.ok()) << ladder.status();
  ASSERT_TRUE(vocab_->ReplaceBase(*(*ladder)->Base((*ladder)->start())).ok());
  VocabSizer sizer(*vocab_, *ladder, /*sketch_rows=*/{}, /*max_draft_tokens=*/4);
  const Sequence::Options of{.sampling = UpTo(100), .max_tail_rows = 32};
  const auto plain = Run(of, {}, /*use_draft=*/false);
  for (int i = 0; i < 4; ++i) {
    const auto sized = Run(of, {.sizer = &sizer});
    EXPECT_EQ(sized->tokens(), plain->tokens());
    EXPECT_EQ(sized->stats.num_mapping_faults, 0);
  }
  EXPECT_GE(sizer.num_changes(), 1);
}

TEST_F(EngineTest, RefusesWhatCannotWork) {
  const auto refused = [&](SpeculativeEngine::Options options) {
    return !SpeculativeEngine::Create(pair_->target(), nullptr, nullptr, options, pair_->pool())
                .ok();
  };
  EXPECT_TRUE(refused({.num_draft_tokens = -1, .num_slots = 8, .emit_size = 8}));
  EXPECT_TRUE(refused({.num_draft_tokens = 65, .num_slots = 8, .emit_size = 8}));
  for (double p_min : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(refused({.draft_p_min = p_min, .num_slots = 8, .emit_size = 8})) << p_min;
  }
  for (double floor : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(refused({.coverage_floor = floor, .num_slots = 8, .emit_size = 8})) << floor;
  }
  for (int64_t k : {0, 33}) {
    EXPECT_TRUE(refused({.discovery = {.target_top_k = k}, .num_slots = 8, .emit_size = 8})) << k;
  }
  for (int64_t k : {-1, 33}) {
    EXPECT_TRUE(refused({.discovery = {.prompt_target_rows = k}, .num_slots = 8, .emit_size = 8}));
  }
  EXPECT_TRUE(refused({.num_slots = 0, .emit_size = 8}));
  EXPECT_TRUE(refused({.num_slots = 8, .emit_size = 0}));
  EXPECT_TRUE(refused({.num_slots = 8, .emit_size = pair_->emit_size() + 1}));
  EXPECT_TRUE(refused({.num_slots = int64_t{1} << 50, .emit_size = 8}));
  auto other = VocabBase::Create(std::vector<TokenId>{TokenId{1}}, 100);
  auto vocab = DynamicVocabularyManager::Create(*other, {.dynamic_capacity = 0, .pinned = {}});
  EXPECT_FALSE(SpeculativeEngine::Create(pair_->target(), nullptr, vocab->get(),
                                         {.num_slots = 8, .emit_size = 8}, pair_->pool())
                   .ok());
  EXPECT_FALSE(Sequence::Create({}, {}, 10).ok());
  EXPECT_FALSE(Sequence::Create({TokenId{10}}, {}, 10).ok());
  EXPECT_FALSE(Sequence::Create({TokenId{-1}}, {}, 10).ok());
  EXPECT_FALSE(
      Sequence::Create({TokenId{1}}, {.sampling = {}, .max_tail_rows = 11, .stop = {}}, 10).ok());
  EXPECT_FALSE(
      Sequence::Create({TokenId{1}}, {.sampling = {}, .max_tail_rows = -1, .stop = {}}, 10).ok());
  for (const auto& [num_logprobs, start] : {std::pair(-1, 0), {0, 1}, {0, -2}}) {
    SamplingParams sampling{.num_logprobs = num_logprobs, .prompt_logprobs_start = start};
    EXPECT_FALSE(Sequence::Create({TokenId{1}}, {.sampling = sampling}, 10).ok()) << start;
  }
}

TEST_F(EngineTest, ADrafterMustHaveTheEnginesSlots) {
  const auto create = [](Drafter& drafter, int64_t num_slots) {
    return SpeculativeEngine::Create(pair_->target(), &drafter, nullptr,
                                     {.num_slots = num_slots, .emit_size = pair_->emit_size()},
                                     pair_->pool())
        .status();
  };
  for (DrafterKind kind : {DrafterKind::kEagle, DrafterKind::kModel}) {
    const auto drafter = pair_->NewDrafter(kind, /*num_slots=*/64);
    EXPECT_TRUE(create(*drafter, 64).ok());
    EXPECT_EQ(create(*drafter, 65),
              absl::InvalidArgumentError("the drafter has 64 KV slots, the engine needs 65"));
  }
}

TEST(SmallerDraftTest, ActiveIdsNeedARowInItsHead) {
  TempDir dir;
  TinyLlamaOptions tiny;
  ASSERT_TRUE(WriteTinyLlama(dir.Join("target"), tiny, /*seed=*/1).ok());
  tiny.vocab_size = 90;  // of 96: the others are padding
  ASSERT_TRUE(WriteTinyLlama(dir.Join("draft"), tiny, /*seed=*/2).ok());
  ThreadPool pool(1);
  const auto target = Decoder::Load(dir.Join("target"), std::nullopt, pool);
  const auto draft = Decoder::Load(dir.Join("draft"), std::nullopt, pool);
  ASSERT_TRUE(target.ok() && draft.ok());
  const auto drafter = ModelDrafter::Create(**draft, /*num_slots=*/64, /*emit_size=*/90, pool);
  ASSERT_TRUE(drafter.ok()) << drafter.status();
  const auto create = [&](int32_t id, int32_t successor, int32_t dynamic) {
    std::vector<std::vector<TokenId>> successors(96);
    successors[3] = {TokenId{successor}};
    const auto base =
        VocabBase::Create(std::vector<TokenId>{TokenId{id}}, 96, successors, /*max_successors=*/1);
    const auto vocab = *DynamicVocabularyManager::Create(*base, {.dynamic_capacity = 1});
    EXPECT_TRUE(vocab->Add(std::vector<TokenId>{TokenId{dynamic}}).ok());
    return SpeculativeEngine::Create(**target, drafter->get(), vocab.get(),
                                     {.num_slots = 64, .emit_size = 90}, pool)
        .status();
  };
  EXPECT_TRUE(create(89, 88, 87).ok());
  const absl::Status refusal =
      absl::InvalidArgumentError("active token id 90 for a drafter whose head has 90 rows");
  EXPECT_EQ(create(90, 1, 2), refusal);
  EXPECT_EQ(create(1, 90, 2), refusal);
  EXPECT_EQ(create(1, 2, 90), refusal);
}

TEST_F(EngineTest, APromptThatFillsTheContextIsRefusedAndChangesNothing) {
  std::unique_ptr<SpeculativeEngine> engine = NewEngine(nullptr, nullptr);
  const std::vector<TokenId> prompt(pair_->target().config().context_len, TokenId{13});
  auto sequence = MakeSequence(prompt, {}, pair_->emit_size());
  const std::vector<StepWork> one = {{sequence.get(), Slots()}};
  const absl::Status status = engine->Prefill(one, 512).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("1024"), std::string::npos) << status;
  EXPECT_EQ(sequence->cached_len, 0);
}

TEST(Stories260KTest, SpeculationReproducesTheReferenceText) {
  const std::optional<std::string> bin = FindSharedData("weights/stories260K/stories260K.bin");
  if (!bin) GTEST_SKIP() << "the stories260K weights are not here";
  TempDir dir;
  ASSERT_TRUE(WriteStories260K(*bin, dir.Join("model")).ok());
  ThreadPool pool(2);
  auto model = Decoder::Load(dir.Join("model"), DType::kF32, pool);
  ASSERT_TRUE(model.ok()) << model.status();
  auto pieces = ReadLlama2cPieces(*FindSharedData("weights/stories260K/tok512.bin"), 512);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  auto base = VocabBase::Create({}, 512);
  const std::string reference =
      "Once upon a time, there was a little girl named Lily. She loved to play outside in the "
      "park. One day, "
      "she saw a big, red ball. She wanted to play with it, but it was too high.\nLily's mom said, "
      "\"Lily, "
      "let's go to the park.\"";
  // The model is its own draft, over a vocabulary that learns from its escapes alone: drafts are
  // often wrong.
  for (bool speculate : {false, true}) {
    auto drafter = ModelDrafter::Create(**model, kSlots, /*emit_size=*/512, pool);
    ASSERT_TRUE(drafter.ok()) << drafter.status();
    auto vocab = DynamicVocabularyManager::Create(*base, {.dynamic_capacity = 40, .pinned = {}});
    ASSERT_TRUE((*vocab)->Add(std::vector<TokenId>{TokenId{400}}).ok());
    auto engine = SpeculativeEngine::Create(
        **model, speculate ? drafter->get() : nullptr, vocab->get(),
        {.num_draft_tokens = 3, .draft_p_min = 0.0, .num_slots = kSlots, .emit_size = 512}, pool);
    ASSERT_TRUE(engine.ok()) << engine.status();
    auto sequence =
        MakeSequence({TokenId{1}}, {.sampling = UpTo(256), .max_tail_rows = 0, .stop = {}}, 512);
    RunToEnd(**engine, *sequence);
    const std::string text =
        DecodeLlama2c(*pieces, {sequence->output().begin(), sequence->output().end()});
    EXPECT_EQ(text.substr(0, reference.size()), reference) << "speculate: " << speculate;
    if (speculate) {
      EXPECT_GT(sequence->stats.num_accepted, 40);
    }
  }
}

}  // namespace
}  // namespace shortlist
