#include "vocab/merge_lists.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

VocabList List(const std::vector<int32_t>& ids, const std::vector<int64_t>& counts) {
  return {.vocab_size = 10, .fingerprint = "f", .ids = Ids(ids), .counts = counts, .ranked = true};
}

std::string Error(const std::vector<NamedList>& lists, const std::vector<double>& weights = {}) {
  return std::string(MergeLists(lists, weights).status().message());
}

TEST(MergeListsTest, EachListContributesItsShare) {
  VocabList a = List({1, 2}, {30, 10}), b = List({3, 1}, {600, 200});
  a.pinned = Ids({7});
  b.pinned = Ids({8, 7});
  a.successors.resize(10);
  a.successors[1] = Ids({4, 5});
  b.successors.resize(10);
  b.successors[1] = Ids({6, 5});
  const auto merged = MergeLists({{"a", a}, {"b", b}}, {3, 1});
  ASSERT_TRUE(merged.ok()) << merged.status();
  // 1: 0.75 * 0.75 + 0.25 * 0.25 = 0.625; 2: 0.1875; 3: 0.1875; of 840 tokens.
  EXPECT_THAT(RawIds(merged->ids), ElementsAre(1, 2, 3));
  EXPECT_THAT(merged->counts, ElementsAre(525, 158, 158));
  EXPECT_THAT(RawIds(merged->pinned), ElementsAre(7, 8));
  // 4: 0.5625, 5: 0.5625 / 2 + 0.0625 / 2, 6: 0.0625.
  EXPECT_THAT(RawIds(merged->successors[1]), ElementsAre(4, 5));
  EXPECT_EQ(merged->fingerprint, "f");
  // Equal weights: 1: 0.5, 3: 0.375, 2: 0.125.
  EXPECT_THAT(RawIds(MergeLists({{"a", a}, {"b", b}}, {})->ids), ElementsAre(1, 3, 2));
}

TEST(MergeListsTest, ListsWithoutCountsAreJoinedByRank) {
  const auto merged = MergeLists({{"a", List({1, 2}, {})}, {"b", List({2, 3}, {})}}, {});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_THAT(RawIds(merged->ids), ElementsAre(2, 1, 3));
  EXPECT_TRUE(merged->counts.empty());
  EXPECT_TRUE(merged->ranked);
  VocabList unranked = List({5, 1}, {});
  unranked.ranked = false;
  const auto both = MergeLists({{"a", unranked}, {"b", List({2, 1}, {})}}, {});
  EXPECT_FALSE(both->ranked);
  EXPECT_THAT(RawIds(both->ids), ElementsAre(5, 1, 2));
}

TEST(MergeListsTest, IncompatibleListsAreRejected) {
  const NamedList a{"a", List({1}, {5})};
  NamedList other = a;
  other.name = "b";
  other.list.fingerprint = "g";
  EXPECT_THAT(Error({a, other}),
              HasSubstr("b: the tokenizer's fingerprint is \"g\", that of a \"f\""));
  other = {"b", List({1}, {})};
  EXPECT_THAT(Error({a, other}), HasSubstr("b has no counts, and a has"));
  other = {"b", List({1}, {0})};
  EXPECT_THAT(Error({a, other}), HasSubstr("b: its counts are all 0"));
  other = {"b", List({1}, {5})};
  other.list.vocab_size = 11;
  EXPECT_THAT(Error({a, other}), HasSubstr("b: vocab_size 11, that of a is 10"));
  EXPECT_THAT(Error({}), HasSubstr("no list"));
  EXPECT_THAT(Error({a}, {1, 2}), HasSubstr("2 weights for 1 list"));
  for (const double weight : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(Error({a}, {weight}), HasSubstr(" not in (0, 1e+09]"));
  }
}

}  // namespace
}  // namespace shortlist
