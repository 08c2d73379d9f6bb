// Vocabularies over a head that has rows for some tokens alone.

#include "vocab/head_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/vocab/test_util.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/request_tail.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kVocabSize = 10;

std::shared_ptr<const HeadRows> Odd() { return *HeadRows::Create({1, 3, 5, 7, 9}, kVocabSize); }

VocabTarget OddTarget() {
  VocabTarget target;
  target.vocab_size = kVocabSize;
  target.head_rows = Odd();
  return target;
}

VocabList Ranked(const std::vector<int32_t>& ids) {
  VocabList list;
  list.vocab_size = kVocabSize;
  list.ids = Ids(ids);
  list.ranked = true;
  return list;
}

TEST(HeadRowsTest, MapsTokensToRowsAndBack) {
  const auto rows = Odd();
  EXPECT_EQ(rows->size(), 5);
  EXPECT_EQ(rows->RowOf(TokenId{7}), 3);
  EXPECT_EQ(rows->RowOf(TokenId{6}), -1);
  EXPECT_EQ(rows->NumBelow(0), 0);
  EXPECT_EQ(rows->NumBelow(6), 3);
  EXPECT_EQ(rows->NumBelow(kVocabSize), 5);
}

TEST(HeadRowsTest, RejectsWhatIsNoMap) {
  struct Case {
    std::vector<int32_t> ids;
    int64_t vocab_size;
    const char* message;
  };
  for (const Case& c :
       {Case{{}, 10, "without rows"}, Case{{1, 10}, 10, "head row 1: token id 10 not in [0, 10)"},
        Case{{-1, 2}, 10, "head row 0: token id -1 not in [0, 10)"},
        Case{{2, 2}, 10, "head row 1: token id 2 is not above 2"},
        Case{{3, 1}, 10, "is not above 3"}, Case{{1}, 0, "vocab_size 0 not in [1, "}}) {
    const auto rows = HeadRows::Create(c.ids, c.vocab_size);
    ASSERT_FALSE(rows.ok());
    EXPECT_THAT(std::string(rows.status().message()), HasSubstr(c.message));
  }
  EXPECT_FALSE(VocabBase::FullHead(/*vocab_size=*/11, Odd()).ok());
}

TEST(HeadRowsTest, FullHeadHasRowsOfTokensThatHaveOne) {
  const auto base = *VocabBase::FullHead(kVocabSize, Odd());
  EXPECT_EQ(base->num_rows(), 5);
  EXPECT_EQ(base->RowOf(TokenId{9}), 4);
  EXPECT_EQ(base->RowOf(TokenId{8}), -1);
  const ActiveVocab active(/*version=*/0, base, {});
  EXPECT_TRUE(active.Contains(TokenId{3}));
  EXPECT_FALSE(active.Contains(TokenId{4}));
  EXPECT_EQ(active.ToTokenId(DraftId{2}), TokenId{5});
  EXPECT_EQ(active.SourceOf(TokenId{4}), RowSource::kNone);  // an escape
}

TEST(HeadRowsTest, BaseAndSuccessorsKeepTokensWithRow) {
  std::vector<std::vector<TokenId>> successors(kVocabSize);
  successors[0] = Ids({2, 4, 9, 1, 7});
  const auto base = *VocabBase::Create(Ids({4, 1, 3, 8}), kVocabSize, successors,
                                       /*max_successors=*/2, Odd());
  EXPECT_THAT(base->ids(), ElementsAre(1, 3));
  EXPECT_THAT(base->SuccessorsOf(TokenId{0}), ElementsAre(9, 7));
  EXPECT_EQ(base->RowOf(TokenId{4}), -1);
}

TEST(HeadRowsTest, DynamicRowsAndTailsKeepTokensWithRow) {
  const auto manager = *DynamicVocabularyManager::Create(
      *VocabBase::Create(Ids({1}), kVocabSize, {}, 0, Odd()), {.dynamic_capacity = 2});
  ASSERT_TRUE(manager->Add(Ids({2, 3, 4})).ok());
  ASSERT_TRUE(manager->Observe(Ids({6, 5}), /*drafted=*/{}).ok());
  const auto active = manager->Active();
  EXPECT_THAT(active->rows(), ElementsAre(1, 3, 5));
  EXPECT_EQ(manager->Stats().num_held[Index(RowSource::kNone)], 2);
  RequestTail tail(/*capacity=*/2);
  EXPECT_EQ(tail.Add(Ids({9, 8, 6, 7, 2, 3}), *active), 2);
  EXPECT_THAT(tail.ids(), ElementsAre(9, 7));
  // A base for another head drops what that head lacks.
  const auto others = *HeadRows::Create({0, 3}, kVocabSize);
  ASSERT_TRUE(manager->ReplaceBase(*VocabBase::Create({}, kVocabSize, {}, 0, others)).ok());
  EXPECT_THAT(manager->Active()->rows(), ElementsAre(3));
}

TEST(HeadRowsTest, SelectionLeavesOutTokensWithoutRow) {
  VocabOptions options;
  options.use_static_vocab = true;
  options.custom_vocab_path = "a.vocab.json";
  options.top_n = 4;
  const auto base = SelectVocabBase(options, Ranked({7, 2, 5, 4, 1}), OddTarget());
  ASSERT_TRUE(base.ok()) << base.status();
  EXPECT_THAT((*base)->ids(), ElementsAre(5, 7));
  options.top_n = std::nullopt;
  const auto none = SelectVocabBase(options, Ranked({2, 4}), OddTarget());
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("a.vocab.json: none of its tokens has a row in the draft's head, which has "
                        "rows for 5 of 10 tokens"));
}

TEST(HeadRowsTest, LadderCountsRowsOfHead) {
  VocabOptions options;
  options.use_static_vocab = options.auto_size = true;
  options.custom_vocab_path = "a.vocab.json";
  options.min_rows = 1;
  const auto ladder = BaseLadder::Create(options, Ranked({7, 2, 5, 4, 1}), OddTarget());
  ASSERT_TRUE(ladder.ok()) << ladder.status();
  EXPECT_EQ((*ladder)->rows().back(), 5);
  EXPECT_TRUE((*ladder)->ends_with_full_head());
  for (size_t size = 0; size < (*ladder)->rows().size(); ++size) {
    const auto base = (*ladder)->Base(size);
    ASSERT_TRUE(base.ok()) << base.status();
    EXPECT_EQ((*base)->num_rows(), (*ladder)->rows()[size]);
    EXPECT_EQ((*base)->head_rows()->size(), 5);
  }
  EXPECT_EQ((*ladder)->FirstSize(TokenId{0}, TokenId{7}), 0u);
  EXPECT_EQ((*ladder)->FirstSize(TokenId{0}, TokenId{9}), (*ladder)->rows().size() - 1);
  EXPECT_EQ((*ladder)->FirstSize(TokenId{0}, TokenId{2}), (*ladder)->rows().size());
  EXPECT_FALSE(BaseLadder::Create(options, Ranked({2, 4}), OddTarget()).ok());
}

}  // namespace
}  // namespace shortlist
