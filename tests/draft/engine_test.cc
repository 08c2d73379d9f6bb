#include "draft/engine.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "draft/model_drafter.h"
#include "kernels/matrix.h"
#include "tests/draft/engine_testing.h"
#include "tests/support/llama2c.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

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
  bool needs_features() const override { return inner_.needs_features(); }
  int64_t WrittenLen(std::span<const int32_t> kv_slots) const override {
    return inner_.WrittenLen(kv_slots);
  }
  void Overwritten(std::span<const int32_t> kv_slots) override { inner_.Overwritten(kv_slots); }
  absl::Status Accept(const StepWork& work, const Matrix& features) override {
    return inner_.Accept(work, features);
  }
  absl::StatusOr<int64_t> CatchUp(std::span<const StepWork> work) override {
    return inner_.CatchUp(work);
  }
  absl::Status RunMadeUp(int64_t num_chains, int64_t len) override {
    return inner_.RunMadeUp(num_chains, len);
  }
  absl::Status Draft(std::span<DraftTask> tasks, bool wants) override {
    const absl::Status status = inner_.Draft(tasks, wants);
    return ++num_calls_ % 2 == 0 ? absl::InternalError("the draft model failed") : status;
  }

 private:
  Drafter& inner_;
  int num_calls_ = 0;
};

/// A drafter with a shorter context.
class ShortDrafter final : public Drafter {
 public:
  ShortDrafter(Drafter& inner, int64_t context_len) : inner_(inner), context_len_(context_len) {}
  int64_t context_len() const override { return context_len_; }
  int64_t num_slots() const override { return inner_.num_slots(); }
  int64_t num_rows() const override { return inner_.num_rows(); }
  std::unique_ptr<DrafterState> NewState(int64_t cached_len) const override {
    return inner_.NewState(cached_len);
  }
  int64_t CachedLen(const Sequence& sequence) const override { return inner_.CachedLen(sequence); }
  bool kv_sees_next_token() const override { return inner_.kv_sees_next_token(); }
  bool needs_features() const override { return inner_.needs_features(); }
  int64_t WrittenLen(std::span<const int32_t> kv_slots) const override {
    return inner_.WrittenLen(kv_slots);
  }
  void Overwritten(std::span<const int32_t> kv_slots) override { inner_.Overwritten(kv_slots); }
  absl::Status Accept(const StepWork& work, const Matrix& features) override {
    return inner_.Accept(work, features);
  }
  absl::StatusOr<int64_t> CatchUp(std::span<const StepWork> work) override {
    return inner_.CatchUp(work);
  }
  absl::Status RunMadeUp(int64_t num_chains, int64_t len) override {
    return inner_.RunMadeUp(num_chains, len);
  }
  absl::Status Draft(std::span<DraftTask> tasks, bool wants) override {
    return inner_.Draft(tasks, wants);
  }

 private:
  Drafter& inner_;
  const int64_t context_len_;
};

TEST_F(EngineTest, StepsBeyondDraftContextAreCounted) {
  const auto prompt = TestPrompts(/*count=*/1, /*max_len=*/20)[0];
  const auto prompt_len = static_cast<int64_t>(prompt.size());
  std::unique_ptr<SpeculativeEngine> plain = NewEngine(nullptr, nullptr);
  auto expected = MakeSequence(prompt, {.sampling = UpTo(40), .max_tail_rows = 0, .stop = {}},
                               pair_->emit_size());
  RunToEnd(*plain, *expected);
  EXPECT_EQ(expected->stats.num_steps_beyond_draft, 0);
  for (DrafterKind kind : {DrafterKind::kEagle, DrafterKind::kSelf}) {
    for (const int64_t context_len : {prompt_len / 2, prompt_len, prompt_len + 12, int64_t{1024}}) {
      std::unique_ptr<Drafter> inner = pair_->NewDrafter(kind, kSlots);
      ShortDrafter drafter(*inner, context_len);
      std::unique_ptr<SpeculativeEngine> engine = NewEngine(&drafter, nullptr);
      auto sequence = MakeSequence(prompt, {.sampling = UpTo(40), .max_tail_rows = 0, .stop = {}},
                                   pair_->emit_size());
      EXPECT_EQ(engine->NeedsDraftedPrefix(*sequence),
                kind == DrafterKind::kEagle && prompt_len < context_len);
      RunToEnd(*engine, *sequence);
      EXPECT_EQ(sequence->tokens(), expected->tokens());
      const SequenceStats& stats = sequence->stats;
      if (context_len <= prompt_len) {
        EXPECT_EQ(stats.num_steps_beyond_draft, stats.num_verify_steps);
        EXPECT_EQ(stats.num_drafted, 0);
      } else if (context_len < 1024) {
        // Each is plain and emits one token, from the context's end or the next position on.
        const int64_t num_beyond = sequence->num_tokens() - context_len;
        EXPECT_LE(stats.num_steps_beyond_draft, num_beyond) << context_len;
        EXPECT_GE(stats.num_steps_beyond_draft, num_beyond - 1) << context_len;
      } else {
        EXPECT_EQ(stats.num_steps_beyond_draft, 0);
      }
    }
  }
}

// The target drafts for itself: a wrong position in the draft's cache and it is not always
// accepted.
TEST_F(EngineTest, DraftComputesWhatSharedPrefixLacks) {
  const std::unique_ptr<Drafter> drafter = pair_->NewDrafter(DrafterKind::kSelf, kSlots);
  const std::unique_ptr<SpeculativeEngine> engine = NewEngine(drafter.get(), nullptr);
  constexpr int64_t kShared = 30;
  const auto slots = [](int32_t own) {  // kShared slots of another sequence, then the own ones
    std::vector<int32_t> all(Slots().begin(), Slots().begin() + kShared);
    all.insert(all.end(), Slots(own).begin(), Slots(own).begin() + 80);
    return all;
  };
  const auto prompts = TestPrompts(/*count=*/2, /*max_len=*/40);
  for (const std::vector<TokenId>& prompt : prompts) {
    ASSERT_GT(std::ssize(prompt), kShared);
    // It does not draft. In the second round its slots hold keys and values of the first prompt.
    const auto plain =
        MakeSequence(prompt, {.sampling = UpTo(8), .speculates = false}, pair_->emit_size());
    RunToEnd(*engine, *plain);
    const std::vector<int32_t> first_slots = slots(100), second_slots = slots(200);
    const auto first = MakeSequence(prompt, {.sampling = UpTo(32)}, pair_->emit_size());
    const auto second = MakeSequence(prompt, {.sampling = UpTo(32)}, pair_->emit_size());
    const std::vector<StepWork> both = {{first.get(), first_slots}, {second.get(), second_slots}};
    for (const StepWork& of : both) {
      EXPECT_FALSE(engine->NeedsDraftedPrefix(*of.sequence));
      engine->AdoptPrefix(*of.sequence, of.kv_slots.first(kShared), {});
    }
    ASSERT_TRUE(engine->Prefill(both, /*max_tokens=*/512).ok());
    while (!first->finished()) ASSERT_TRUE(engine->Step(both).ok());
    for (const StepWork& of : both) {
      EXPECT_GT(of.sequence->stats.num_drafted, 0);
      EXPECT_EQ(of.sequence->stats.acceptance_rate(), 1.0);
      EXPECT_EQ(of.sequence->tokens(), first->tokens());
    }
  }
}

TEST_F(EngineTest, FailingDrafterDegradesToPlainDecoding) {
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

TEST_F(EngineTest, ScarceSlotsAndFullContextShortenDraftsOnly) {
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

TEST_F(EngineTest, RejectsUnsupportedOptions) {
  const auto refused = [&](SpeculativeEngine::Options options) {
    return !SpeculativeEngine::Create(pair_->target(), nullptr, nullptr, options, pair_->pool())
                .ok();
  };
  EXPECT_FALSE(refused({.num_slots = 8, .emit_size = 8}));
  EXPECT_TRUE(refused({.num_draft_tokens = 65, .num_slots = 8, .emit_size = 8}));
  EXPECT_TRUE(refused({.num_slots = 8, .emit_size = 0}));
  EXPECT_TRUE(refused({.num_slots = 8, .emit_size = pair_->emit_size() + 1}));
  EXPECT_TRUE(refused({.num_slots = int64_t{1} << 50, .emit_size = 8}));
}

TEST_F(EngineTest, DrafterMustMatchEngineSlots) {
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

TEST_F(EngineTest, RejectsPromptThatFillsContextUnchanged) {
  std::unique_ptr<SpeculativeEngine> engine = NewEngine(nullptr, nullptr);
  const std::vector<TokenId> prompt(pair_->target().config().context_len, TokenId{13});
  auto sequence = MakeSequence(prompt, {}, pair_->emit_size());
  const std::vector<StepWork> one = {{sequence.get(), Slots()}};
  const absl::Status status = engine->Prefill(one, 512).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("1024"), std::string::npos) << status;
  EXPECT_EQ(sequence->cached_len, 0);
}

TEST(Stories260KTest, SpeculationReproducesReferenceText) {
  const std::optional<std::string> bin = FindSharedData("weights/stories260K/stories260K.bin");
  if (!bin) GTEST_SKIP() << "the stories260K weights are not here";
  TempDir dir;
  ASSERT_TRUE(WriteStories260K(*bin, dir.Join("model")).ok());
  ThreadPool pool(2);
  auto model = Decoder::Load(ModelSource::OfDirectory(dir.Join("model")), DType::kF32, pool);
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
