#include "vocab/discovery.h"

#include <memory>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"
#include "vocab/surface_variants.h"

namespace shortlist {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

ActiveVocab Active(const std::vector<int32_t>& base) {
  return ActiveVocab(/*version=*/1, Base(base, /*vocab_size=*/100), {});
}

TEST(DiscoveryTest, EachSourceAddsWhatItFindsUnderItsName) {
  const Discovery discovery(
      {.continuation_rows = 2, .prompt_target_rows = 1, .target_rows = 2, .target_top_k = 3});
  EXPECT_EQ(discovery.target_top_k(), 3);
  EXPECT_EQ(discovery.prompt_top_k(), 1);
  const auto prompt = Ids({1, 10, 11}), output = Ids({12}), given = Ids({13}), prefix = Ids({14}),
             continuations = Ids({15, 16, 17}), prompt_likely = Ids({30, 31}),
             likely = Ids({18, 19, 20, 12});
  RequestTail tail(/*capacity=*/50);
  CountsBySource added{};
  discovery.Extend({.prompt = prompt,
                    .output = output,
                    .given = given,
                    .prefix = prefix,
                    .continuations = continuations,
                    .prompt_likely = prompt_likely,
                    .likely = likely},
                   Active({1}), tail, added);
  EXPECT_THAT(ToVector(tail.ids()), UnorderedElementsAre(10, 11, 12, 13, 14, 16, 17, 20, 31));
  EXPECT_EQ(tail.SourceOf(TokenId{10}), RowSource::kPrompt);
  EXPECT_EQ(tail.SourceOf(TokenId{12}), RowSource::kOutput);  // though the target held it likely
  EXPECT_EQ(tail.SourceOf(TokenId{13}), RowSource::kGiven);
  EXPECT_EQ(tail.SourceOf(TokenId{14}), RowSource::kPrefix);
  EXPECT_EQ(tail.SourceOf(TokenId{17}), RowSource::kContinuations);
  EXPECT_EQ(tail.SourceOf(TokenId{20}), RowSource::kTarget);
  EXPECT_EQ(added[Index(RowSource::kPrompt)], 2);
  EXPECT_EQ(added[Index(RowSource::kContinuations)], 2);
  EXPECT_EQ(added[Index(RowSource::kTarget)], 2);
  EXPECT_EQ(tail.SourceOf(TokenId{31}), RowSource::kPromptTarget);
  EXPECT_EQ(added[Index(RowSource::kPromptTarget)], 1);
}

TEST(DiscoveryTest, ASourceWithoutABudgetIsNotAsked) {
  const Discovery discovery({.continuation_rows = 0, .target_rows = 0});
  EXPECT_EQ(discovery.target_top_k(), 0);
  EXPECT_EQ(discovery.prompt_top_k(), 0);
  const auto ids = Ids({15, 16});
  RequestTail tail(/*capacity=*/50);
  CountsBySource added{};
  discovery.Extend({.continuations = ids, .likely = ids}, Active({1}), tail, added);
  EXPECT_EQ(tail.size(), 0);
  EXPECT_THAT(added, Each(0));
}

TEST(DiscoveryTest, TheFullHeadNeedsNothing) {
  const Discovery discovery({});
  const auto prompt = Ids({10});
  RequestTail tail(/*capacity=*/50);
  CountsBySource added{};
  discovery.Extend({.prompt = prompt}, *ActiveVocab::FullHead(100), tail, added);
  EXPECT_EQ(tail.size(), 0);
}

TEST(DiscoveryTest, VariantsOfWhatTheTextHolds) {
  auto variants = std::make_shared<std::vector<std::vector<TokenId>>>(100);
  (*variants)[10] = Ids({50, 51});
  (*variants)[12] = Ids({52});
  const Discovery discovery({.variant_rows = 2, .variants = variants});
  const auto prompt = Ids({10, 11}), output = Ids({12});
  RequestTail tail(/*capacity=*/50);
  CountsBySource added{};
  discovery.Extend({.prompt = prompt, .output = output}, Active({1}), tail, added);
  EXPECT_THAT(ToVector(tail.ids()), UnorderedElementsAre(10, 11, 12, 51, 52));
  EXPECT_EQ(tail.SourceOf(TokenId{51}), RowSource::kVariants);
}

TEST(DiscoveryTest, FlagNamesBudgets) {
  const auto options =
      ParseDiscoveryFlag("target=32,top=8,variants=5,continuations=0,prompt_target=7");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->target_rows, 32);
  EXPECT_EQ(options->target_top_k, 8);
  EXPECT_EQ(options->prompt_target_rows, 7);
  EXPECT_EQ(options->variant_rows, 5);
  EXPECT_EQ(options->continuation_rows, 0);
  for (const char* bad :
       {"", "target", "target=", "target=-1", "target=x", "top=0", "top=33", "target=1,",
        "prompt_target=33", "prompt=3", "=3", "target=99999999999999999999"}) {
    EXPECT_FALSE(ParseDiscoveryFlag(bad).ok()) << bad;
  }
}

TEST(SurfaceVariantsTest, AreTheSameWordButForCaseAndOneLeadingSpace) {
  const std::vector<std::string_view> pieces = {
      " the", "The", "THE", "then", "  the", "", "1", " 1", "-", " The", "\xC3\xA9", " \xC3\xA9"};
  const auto variants = SurfaceVariants(pieces);
  ASSERT_EQ(variants.size(), pieces.size());
  EXPECT_THAT(RawIds(variants[0]), ElementsAre(1, 2, 9));
  EXPECT_THAT(RawIds(variants[9]), ElementsAre(0, 1, 2));
  EXPECT_THAT(RawIds(variants[10]), ElementsAre(11));
  for (const size_t alone : {3, 4, 5, 6, 7, 8}) EXPECT_TRUE(variants[alone].empty()) << alone;
}

}  // namespace
}  // namespace shortlist
