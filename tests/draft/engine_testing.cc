#include "tests/draft/engine_testing.h"

#include <numeric>
#include <utility>

namespace shortlist {

DemoPair* EngineTest::pair_ = nullptr;

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

std::span<const int32_t> Slots(int32_t first) {
  static const std::vector<int32_t> all = [] {
    std::vector<int32_t> slots(kSlots);
    std::iota(slots.begin(), slots.end(), 0);
    return slots;
  }();
  return std::span(all).subspan(first);
}

void RunToEnd(SpeculativeEngine& engine, Sequence& sequence, std::span<const int32_t> kv_slots) {
  const std::vector<StepWork> one = {{&sequence, kv_slots}};
  ASSERT_TRUE(engine.Prefill(one, /*max_tokens=*/512).ok());
  while (!sequence.finished()) ASSERT_TRUE(engine.Step(one).ok());
}

std::unique_ptr<SpeculativeEngine> EngineTest::NewEngine(Drafter* drafter,
                                                         DynamicVocabularyManager* vocab,
                                                         int64_t num_draft_tokens,
                                                         std::optional<int64_t> emit_size) {
  auto engine = SpeculativeEngine::Create(pair_->target(), drafter, vocab,
                                          {.num_draft_tokens = num_draft_tokens,
                                           .draft_p_min = 0.0,
                                           .suffix_drafts = false,
                                           .verify = VerifyMode::kCoupled,
                                           .num_slots = kSlots,
                                           .emit_size = emit_size.value_or(pair_->emit_size())},
                                          pair_->pool());
  EXPECT_TRUE(engine.ok()) << engine.status();
  return std::move(*engine);
}

std::unique_ptr<Sequence> EmptyBaseEngineTest::Run(const Sequence::Options& of,
                                                   SpeculativeEngine::Options options,
                                                   bool use_draft,
                                                   std::span<const TokenId> dynamic_tokens) {
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

}  // namespace shortlist
