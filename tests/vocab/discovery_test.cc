#include "vocab/discovery.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::Each;
using ::testing::UnorderedElementsAre;

ActiveVocab Active(const std::vector<int32_t>& base) {
  return ActiveVocab(/*version=*/1, Base(base, /*vocab_size=*/100), {});
}

class ExtendTailTest : public testing::Test {
 protected:
  void Extend(const Discovered& found, int64_t continuation_rows, const ActiveVocab& active) {
    ExtendTail(found, continuation_rows, active, tail_, added_);
  }
  int64_t Added(RowSource source) const { return added_[Index(source)]; }

  RequestTail tail_{/*capacity=*/50};
  CountsBySource added_{};
};

TEST_F(ExtendTailTest, EachSourceAddsIdsUnderItsName) {
  const auto prompt = Ids({1, 10, 11}), output = Ids({12}), given = Ids({13}), prefix = Ids({14}),
             continuations = Ids({15, 16, 12, 17});
  Extend({.prompt = prompt,
          .output = output,
          .given = given,
          .prefix = prefix,
          .continuations = continuations},
         /*continuation_rows=*/2, Active({1}));
  EXPECT_THAT(ToVector(tail_.ids()), UnorderedElementsAre(10, 11, 12, 13, 14, 17));
  EXPECT_EQ(tail_.SourceOf(TokenId{10}), RowSource::kPrompt);
  EXPECT_EQ(tail_.SourceOf(TokenId{12}), RowSource::kOutput);  // a fact wins over a guess
  EXPECT_EQ(tail_.SourceOf(TokenId{13}), RowSource::kGiven);
  EXPECT_EQ(tail_.SourceOf(TokenId{14}), RowSource::kPrefix);
  EXPECT_EQ(tail_.SourceOf(TokenId{17}), RowSource::kContinuations);
  EXPECT_EQ(Added(RowSource::kPrompt), 2);
}

TEST_F(ExtendTailTest, ContinuationsWithoutRowsAreIgnored) {
  const auto ids = Ids({15, 16});
  Extend({.continuations = ids}, /*continuation_rows=*/0, Active({1}));
  EXPECT_EQ(tail_.size(), 0);
  EXPECT_THAT(added_, Each(0));
}

TEST_F(ExtendTailTest, FullHeadNeedsNoRows) {
  const auto prompt = Ids({10});
  Extend({.prompt = prompt}, /*continuation_rows=*/64, *ActiveVocab::FullHead(100));
  EXPECT_EQ(tail_.size(), 0);
  EXPECT_THAT(added_, Each(0));
}

}  // namespace
}  // namespace shortlist
