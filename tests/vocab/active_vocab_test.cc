#include "vocab/active_vocab.h"

#include <algorithm>
#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;

TEST(VocabBaseTest, SortsIdsAndInvertsThem) {
  const auto base = Base({7, 2, 5}, /*vocab_size=*/9);
  EXPECT_EQ(base->vocab_size(), 9);
  EXPECT_THAT(base->ids(), ElementsAre(2, 5, 7));
  EXPECT_EQ(base->RowOf(TokenId{5}), 1);
  EXPECT_EQ(base->RowOf(TokenId{0}), -1);
  EXPECT_EQ(base->RowOf(TokenId{8}), -1);
}

TEST(VocabBaseTest, EmptyBaseIsValid) { EXPECT_EQ(Base({}, /*vocab_size=*/4)->size(), 0); }

TEST(VocabBaseTest, RejectsIdsOutOfRangeOrRepeated) {
  const auto message = [](const std::vector<int32_t>& ids) {
    const auto base = VocabBase::Create(Ids(ids), /*vocab_size=*/10);
    EXPECT_EQ(base.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(base.status().message());
  };
  EXPECT_EQ(message({1, 10}), "token id 10 at index 1 not in [0, 10)");
  EXPECT_EQ(message({-1}), "token id -1 at index 0 not in [0, 10)");
  EXPECT_EQ(message({3, 4, 3}), "token id 3 at index 2 repeated");
}

TEST(VocabBaseTest, KeepsLikeliestSuccessorsOutsideBase) {
  std::vector<std::vector<TokenId>> successors(6);
  successors[0] = Ids({1, 5, 3, 4});
  successors[2] = Ids({4});
  const auto base = VocabBase::Create(Ids({1, 2}), /*vocab_size=*/6, successors, 2);
  ASSERT_TRUE(base.ok()) << base.status();
  EXPECT_EQ((*base)->max_successors(), 2);
  EXPECT_THAT((*base)->SuccessorsOf(TokenId{0}), ElementsAre(5, 3));
  EXPECT_THAT((*base)->SuccessorsOf(TokenId{1}), ElementsAre());
  EXPECT_THAT((*base)->SuccessorsOf(TokenId{2}), ElementsAre(4));
  EXPECT_THAT((*base)->SuccessorsOf(TokenId{5}), ElementsAre());
  EXPECT_TRUE((*base)->IsSuccessor(TokenId{0}, TokenId{3}));
  EXPECT_FALSE((*base)->IsSuccessor(TokenId{0}, TokenId{4}));
  EXPECT_FALSE((*base)->IsSuccessor(TokenId{0}, TokenId{1}));

  EXPECT_EQ((*base)->largest_id(), 5);  // a successor
  EXPECT_EQ(Base({4, 1}, /*vocab_size=*/6)->largest_id(), 4);
  EXPECT_EQ(Base({}, /*vocab_size=*/6)->largest_id(), -1);
  EXPECT_EQ(Base({1}, /*vocab_size=*/6)->max_successors(), 0);
  EXPECT_THAT(Base({1}, /*vocab_size=*/6)->SuccessorsOf(TokenId{0}), ElementsAre());
}

TEST(VocabBaseTest, RejectsInvalidSuccessors) {
  const auto message = [](std::vector<std::vector<TokenId>> successors) {
    const auto base = VocabBase::Create(Ids({1}), /*vocab_size=*/3, successors, 4);
    EXPECT_EQ(base.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(base.status().message());
  };
  EXPECT_EQ(message({{}, {}}), "successors of 2 tokens for a vocabulary of 3");
  EXPECT_EQ(message({{}, Ids({2, 3}), {}}), "successors[1]: token id 3 not in [0, 3)");
  EXPECT_EQ(message({Ids({-1}), {}, {}}), "successors[0]: token id -1 not in [0, 3)");
  EXPECT_EQ(message({{}, {}, Ids({2, 0, 2})}), "successors[2]: token id 2 repeated");
}

TEST(VocabBaseTest, RejectsInvalidVocabSizes) {
  for (const int64_t size :
       {int64_t{0}, int64_t{-5}, int64_t{1} << 31, std::numeric_limits<int64_t>::max()}) {
    EXPECT_FALSE(VocabBase::Create({}, size).ok()) << size;
  }
}

TEST(ActiveVocabTest, DynamicPartFollowsBaseInItsOwnOrder) {
  const ActiveVocab active(/*version=*/3, Base({9, 4}, /*vocab_size=*/20), {15, 1});
  EXPECT_EQ(active.version(), 3u);
  EXPECT_EQ(active.base_size(), 2);
  EXPECT_THAT(active.rows(), ElementsAre(4, 9, 15, 1));
  EXPECT_EQ(active.Find(TokenId{1}), DraftId{3});
  EXPECT_EQ(active.ToTokenId(DraftId{2}), TokenId{15});
  EXPECT_FALSE(active.Contains(TokenId{0}));
}

TEST(ActiveVocabTest, FullHeadMapsEveryIdToItself) {
  const auto full = ActiveVocab::FullHead(/*vocab_size=*/4);
  EXPECT_TRUE(full->is_full_head());
  EXPECT_EQ(full->vocab_size(), 4);
  EXPECT_EQ(full->size(), 0);
  EXPECT_EQ(full->Find(TokenId{3}), DraftId{3});
  EXPECT_EQ(full->ToTokenId(DraftId{2}), TokenId{2});
  EXPECT_TRUE(full->base()->SuccessorsOf(TokenId{1}).empty());
  EXPECT_FALSE(VocabBase::FullHead(0).ok());
}

TEST(ActiveVocabTest, EmptyBaseIsNotFullHead) {
  const ActiveVocab none(/*version=*/1, Base({}, /*vocab_size=*/4), {});
  EXPECT_FALSE(none.is_full_head());
  EXPECT_FALSE(none.Contains(TokenId{3}));
  const ActiveVocab same(/*version=*/1, none.base(), {});
  EXPECT_NE(none.serial(), same.serial());
}

TEST(ActiveVocabTest, FindInvertsToTokenIdForEveryId) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const int32_t vocab_size = std::uniform_int_distribution<int32_t>(1, 300)(random);
    std::vector<int32_t> all(vocab_size);
    for (int32_t id = 0; id < vocab_size; ++id) all[id] = id;
    std::shuffle(all.begin(), all.end(), random);
    const int32_t num_active = std::uniform_int_distribution<int32_t>(0, vocab_size)(random);
    const int32_t num_base = std::uniform_int_distribution<int32_t>(0, num_active)(random);
    const ActiveVocab active(
        /*version=*/1, Base({all.begin(), all.begin() + num_base}, vocab_size),
        {all.begin() + num_base, all.begin() + num_active});
    for (int32_t i = 0; i < vocab_size; ++i) {
      const auto row = active.Find(TokenId{all[i]});
      ASSERT_EQ(row.has_value(), i < num_active);
      if (row.has_value()) {
        ASSERT_EQ(active.ToTokenId(*row), TokenId{all[i]});
      }
    }
  }
}

TEST(ActiveVocabDeathTest, OverlappingPartsAbort) {
  EXPECT_DEATH(ActiveVocab(/*version=*/1, Base({2}, /*vocab_size=*/4), {2}), "broken invariant");
  EXPECT_DEATH(ActiveVocab(/*version=*/1, Base({}, /*vocab_size=*/4), {3, 3}), "broken invariant");
}

}  // namespace
}  // namespace shortlist
