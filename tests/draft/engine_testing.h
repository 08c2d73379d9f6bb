#ifndef SHORTLIST_TESTS_DRAFT_ENGINE_TESTING_H_
#define SHORTLIST_TESTS_DRAFT_ENGINE_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "draft/engine.h"
#include "tests/draft/pair.h"

namespace shortlist {

inline constexpr int64_t kSlots = 300;  // of an engine under test

SamplingParams UpTo(int64_t max_new_tokens);

std::unique_ptr<Sequence> MakeSequence(const std::vector<TokenId>& prompt,
                                       Sequence::Options options, int64_t vocab_size);

/// All slots of an engine, from `first` on.
std::span<const int32_t> Slots(int32_t first = 0);

void RunToEnd(SpeculativeEngine& engine, Sequence& sequence,
              std::span<const int32_t> kv_slots = Slots());

/// Has the demo pair; chains of a fixed length.
class EngineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { pair_ = DemoPair::Load(/*num_threads=*/2).release(); }
  static void TearDownTestSuite() { delete pair_; }
  void SetUp() override { ASSERT_NE(pair_, nullptr); }

  std::unique_ptr<SpeculativeEngine> NewEngine(Drafter* drafter, DynamicVocabularyManager* vocab,
                                               int64_t num_draft_tokens = 4,
                                               std::optional<int64_t> emit_size = std::nullopt);

  static DemoPair* pair_;
};

/// Over an empty base, so that what is found for a request is all that its draft can propose.
class EmptyBaseEngineTest : public EngineTest {
 protected:
  /// The sequence of a prompt of 40 tokens, finished.
  std::unique_ptr<Sequence> Run(const Sequence::Options& of, SpeculativeEngine::Options options,
                                bool use_draft = true,
                                std::span<const TokenId> dynamic_tokens = {});
  static int64_t Held(const Sequence& sequence, RowSource source) {
    return sequence.stats.num_held[Index(source)];
  }

  const std::vector<TokenId> prompt_ = TestPrompts(/*count=*/1, /*max_len=*/40)[0];
  const std::unique_ptr<DynamicVocabularyManager> vocab_ =
      *DynamicVocabularyManager::Create(*VocabBase::Create({}, pair_->emit_size()), {});
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_DRAFT_ENGINE_TESTING_H_
