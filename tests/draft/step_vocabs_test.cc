#include "draft/step_vocabs.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "draft/model_drafter.h"
#include "tests/draft/engine_testing.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

std::unique_ptr<DynamicVocabularyManager> NewManager(const std::vector<TokenId>& ids,
                                                     int64_t vocab_size) {
  return *DynamicVocabularyManager::Create(*VocabBase::Create(ids, vocab_size),
                                           {.dynamic_capacity = 4});
}

TEST(StepVocabsTest, SnapshotIsTakenOncePerStep) {
  const auto own = NewManager({TokenId{1}}, 10), other = NewManager({TokenId{2}}, 10);
  auto vocabs = StepVocabs::Create(/*vocab_size=*/10, own.get(), /*drafter=*/nullptr);
  ASSERT_TRUE(vocabs.ok()) << vocabs.status();
  const std::vector<StepWork> work = {{}, {.vocab = other.get()}, {.vocab = own.get()}};
  EXPECT_EQ(vocabs->Take(work).size(), 2u);
  const std::shared_ptr<const ActiveVocab> taken = vocabs->Of(work[0]).active;
  ASSERT_TRUE(own->Add(std::vector<TokenId>{TokenId{7}}).ok());
  EXPECT_EQ(vocabs->Of(work[0]).active, taken);
  EXPECT_EQ(vocabs->Of(work[2]).active, taken);
  EXPECT_FALSE(taken->Contains(TokenId{7}));
  EXPECT_TRUE(vocabs->IsOwn(vocabs->Of(work[2])));
  EXPECT_FALSE(vocabs->IsOwn(vocabs->Of(work[1])));
  vocabs->Take(work);
  EXPECT_TRUE(vocabs->Of(work[0]).active->Contains(TokenId{7}));
}

TEST(StepVocabsTest, MissingOrMismatchedVocabularyMeansFullHead) {
  const auto foreign = NewManager({TokenId{1}}, /*vocab_size=*/9);
  auto vocabs = StepVocabs::Create(/*vocab_size=*/10, /*own=*/nullptr, /*drafter=*/nullptr);
  ASSERT_TRUE(vocabs.ok()) << vocabs.status();
  const std::vector<StepWork> work = {{}, {.vocab = foreign.get()}};
  vocabs->Take(work);
  EXPECT_TRUE(vocabs->Of(work[0]).fit.ok());
  EXPECT_EQ(vocabs->Of(work[0]).active.get(), &vocabs->full_head());
  const absl::Status misfit =
      absl::InvalidArgumentError("active vocabulary over 9 tokens for a target of 10");
  EXPECT_EQ(vocabs->Of(work[1]).fit, misfit);
  EXPECT_EQ(vocabs->Of(work[1]).active.get(), &vocabs->full_head());
  EXPECT_EQ(StepVocabs::Create(10, foreign.get(), nullptr).status(), misfit);
}

class StepVocabsEngineTest : public EngineTest {};

TEST_F(StepVocabsEngineTest, EachRequestHasItsOwnVocabulary) {
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

TEST_F(StepVocabsEngineTest, MismatchedVocabularyDisablesDraftsOfItsRequestOnly) {
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

TEST_F(StepVocabsEngineTest, VocabularyMustBeChosenAmongDraftersRows) {
  const auto drafter = pair_->NewDrafter(DrafterKind::kEagle3, kSlots);
  const auto all = *DynamicVocabularyManager::Create(*VocabBase::FullHead(pair_->emit_size()), {});
  const auto refused = SpeculativeEngine::Create(
      pair_->target(), drafter.get(), all.get(),
      {.num_slots = kSlots, .emit_size = pair_->emit_size()}, pair_->pool());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(std::string(refused.status().message())
                .find("16384 rows, not chosen among those of the drafter's head, which has 4096"),
            std::string::npos)
      << refused.status();
  const auto own = *DynamicVocabularyManager::Create(
      *VocabBase::FullHead(pair_->emit_size(), drafter->head_rows()), {});
  const auto engine = NewEngine(drafter.get(), own.get());
  auto sequence = MakeSequence(TestPrompts(/*count=*/1, /*max_len=*/40)[0], {.sampling = UpTo(24)},
                               pair_->emit_size());
  RunToEnd(*engine, *sequence);
  EXPECT_GT(sequence->stats.num_drafted, 0);
  EXPECT_EQ(sequence->stats.active_rows, 4096);
}

TEST_F(StepVocabsEngineTest, VocabularyMayChangeBetweenSteps) {
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

TEST(SmallerDraftTest, ActiveIdsNeedDraftRow) {
  TempDir dir;
  TinyLlamaOptions tiny;
  ASSERT_TRUE(WriteTinyLlama(dir.Join("target"), tiny, /*seed=*/1).ok());
  tiny.vocab_size = 90;  // of 96: the others are padding
  ASSERT_TRUE(WriteTinyLlama(dir.Join("draft"), tiny, /*seed=*/2).ok());
  ThreadPool pool(1);
  const auto target =
      Decoder::Load(ModelSource::OfDirectory(dir.Join("target")), std::nullopt, pool);
  const auto draft = Decoder::Load(ModelSource::OfDirectory(dir.Join("draft")), std::nullopt, pool);
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

}  // namespace
}  // namespace shortlist
