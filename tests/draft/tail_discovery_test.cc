#include "draft/tail_discovery.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <vector>

#include "draft/speculation.h"
#include "tests/draft/engine_testing.h"

namespace shortlist {
namespace {

constexpr int64_t kVocabSize = 100;

std::vector<TokenId> Ids(std::initializer_list<int32_t> values) {
  std::vector<TokenId> ids;
  for (const int32_t value : values) ids.push_back(TokenId{value});
  return ids;
}

std::shared_ptr<const ActiveVocab> Over(std::initializer_list<int32_t> base) {
  return (*DynamicVocabularyManager::Create(*VocabBase::Create(Ids(base), kVocabSize), {}))
      ->Active();
}

TEST(TailDiscoveryTest, PromptAndOutputEnterOnceAndAgainAfterFullHead) {
  const TailDiscovery discovery(/*continuation_rows=*/64, /*has_drafter=*/true);
  const auto sequence = MakeSequence(Ids({3, 5, 7}), {.max_tail_rows = 10}, kVocabSize);
  sequence->Emit(TokenId{9}, /*context_len=*/50);
  const StepWork work = {.sequence = sequence.get()};
  const RequestTail& tail = SpeculationOf(*sequence).tail;
  discovery.BeforeStep(work, *Over({5}));
  EXPECT_EQ(tail.SourceOf(TokenId{3}), RowSource::kPrompt);
  EXPECT_EQ(tail.SourceOf(TokenId{5}), RowSource::kNone);  // the base has it
  EXPECT_EQ(tail.SourceOf(TokenId{9}), RowSource::kOutput);
  const int64_t num_added = sequence->stats.num_rows_added[Index(RowSource::kPrompt)];
  EXPECT_EQ(num_added, 2);
  discovery.BeforeStep(work, *Over({5}));
  EXPECT_EQ(sequence->stats.num_rows_added[Index(RowSource::kPrompt)], num_added);
  discovery.BeforeStep(work, *ActiveVocab::FullHead(kVocabSize));
  EXPECT_EQ(tail.size(), 0);
  discovery.BeforeStep(work, *Over({3}));
  EXPECT_EQ(tail.SourceOf(TokenId{5}), RowSource::kPrompt);
  EXPECT_EQ(tail.SourceOf(TokenId{9}), RowSource::kOutput);
}

TEST(TailDiscoveryTest, PendingIdsEnterAtStepAndAreCleared) {
  const TailDiscovery discovery(/*continuation_rows=*/2, /*has_drafter=*/true);
  const auto sequence = MakeSequence(Ids({3}), {.max_tail_rows = 10}, kVocabSize);
  Speculation& speculation = SpeculationOf(*sequence);
  speculation.adopted_rows = Ids({20});
  speculation.continuations = Ids({30, 31, 32});  // nearest last
  const std::vector<TokenId> given = Ids({40});
  discovery.BeforeStep({.sequence = sequence.get(), .new_dynamic_tokens = given}, *Over({1}));
  EXPECT_EQ(speculation.tail.SourceOf(TokenId{20}), RowSource::kPrefix);
  EXPECT_EQ(speculation.tail.SourceOf(TokenId{30}), RowSource::kNone);  // beyond the budget
  EXPECT_EQ(speculation.tail.SourceOf(TokenId{31}), RowSource::kContinuations);
  EXPECT_EQ(speculation.tail.SourceOf(TokenId{32}), RowSource::kContinuations);
  EXPECT_EQ(speculation.tail.SourceOf(TokenId{40}), RowSource::kGiven);
  EXPECT_TRUE(speculation.adopted_rows.empty());
  EXPECT_TRUE(speculation.continuations.empty());
}

TEST(TailDiscoveryTest, OnlyRequestsWithTailUseContinuations) {
  const TailDiscovery discovery(/*continuation_rows=*/8, /*has_drafter=*/true);
  const TailDiscovery plain(/*continuation_rows=*/8, /*has_drafter=*/false);
  const auto with = MakeSequence(Ids({3}), {.max_tail_rows = 10}, kVocabSize);
  const auto without = MakeSequence(Ids({3}), {.max_tail_rows = 0}, kVocabSize);
  const auto silent =
      MakeSequence(Ids({3}), {.max_tail_rows = 10, .speculates = false}, kVocabSize);
  EXPECT_EQ(discovery.num_continuations(*with), 32);
  EXPECT_EQ(discovery.num_continuations(*without), 0);
  EXPECT_EQ(discovery.num_continuations(*silent), 0);
  EXPECT_EQ(plain.num_continuations(*with), 0);
}

class TailDiscoveryEngineTest : public EmptyBaseEngineTest {};

TEST_F(TailDiscoveryEngineTest, TailLearnsPromptAndEscapesWithinBound) {
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

TEST_F(TailDiscoveryEngineTest, RequestIdsAreRowsFromFirstStep) {
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

}  // namespace
}  // namespace shortlist
