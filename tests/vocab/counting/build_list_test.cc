#include "vocab/counting/build_list.h"

#include <limits>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kVocabSize = 400;

CorpusCounts Corpus(const std::map<int32_t, int64_t>& tokens, double weight = 0) {
  CorpusCounts corpus("c", weight, kVocabSize, 1 << 10);
  for (const auto& [id, count] : tokens) {
    corpus.tokens[id] = count;
    corpus.num_tokens += count;
  }
  return corpus;
}

std::string Error(const std::vector<CorpusCounts>& corpora, const BuildOptions& options = {}) {
  return std::string(BuildList(corpora, options).status().message());
}

TEST(BuildListTest, RanksByCountAndTiesGoToLowerId) {
  const auto list = BuildList({Corpus({{7, 2}, {3, 5}, {1, 2}}), Corpus({{1, 1}})}, {});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(RawIds(list->ids), ElementsAre(3, 1, 7));
  EXPECT_THAT(list->counts, ElementsAre(5, 3, 2));
  EXPECT_TRUE(list->ranked);
  EXPECT_EQ(list->vocab_size, kVocabSize);
}

TEST(BuildListTest, WeightIsShareRegardlessOfCorpusSize) {
  // 1,000 tokens at a quarter, 10 at three quarters: of 1,010, 757.5 are 7.
  const auto list = BuildList({Corpus({{5, 1000}}, 1), Corpus({{7, 10}}, 3)}, {});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(RawIds(list->ids), ElementsAre(7, 5));
  EXPECT_THAT(list->counts, ElementsAre(758, 253));
  EXPECT_THAT(Error({Corpus({{5, 1}}, 1), Corpus({{7, 1}})}),
              HasSubstr("1 of 2 corpora have a weight"));
  EXPECT_THAT(Error({Corpus({{5, 1}}, 1), Corpus({}, 1)}), HasSubstr("c holds no token"));
}

TEST(BuildListTest, SizesIncludePinnedIds) {
  const std::vector<CorpusCounts> corpora = {Corpus({{1, 50}, {2, 30}, {3, 15}, {4, 5}})};
  BuildOptions options{.top_n = 3, .pinned = Ids({4, 9})};
  auto list = BuildList(corpora, options);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(RawIds(list->ids), ElementsAre(1, 4));
  EXPECT_THAT(list->counts, ElementsAre(50, 5));
  EXPECT_THAT(RawIds(list->pinned), ElementsAre(4, 9));
  EXPECT_EQ(list->PinnedFirst().size(), 3u);

  options = {.ratio = 0.005, .pinned = Ids({9})};
  EXPECT_EQ(BuildList(corpora, options)->PinnedFirst().size(), 2u);
  options = {.coverage = 0.8};
  EXPECT_THAT(RawIds(BuildList(corpora, options)->ids), ElementsAre(1, 2));
  options = {.coverage = 0.81};
  EXPECT_THAT(RawIds(BuildList(corpora, options)->ids), ElementsAre(1, 2, 3));
  options = {.coverage = 0.84, .pinned = Ids({4})};
  EXPECT_THAT(RawIds(BuildList(corpora, options)->ids), ElementsAre(1, 2, 4));
  options = {.coverage = 1};
  EXPECT_EQ(BuildList(corpora, options)->ids.size(), 4u);
}

TEST(BuildListTest, RejectsMoreIdsThanTextsHold) {
  const std::vector<CorpusCounts> corpora = {Corpus({{1, 50}, {2, 30}})};
  EXPECT_THAT(Error({}), HasSubstr("no text"));
  EXPECT_THAT(Error({Corpus({})}), HasSubstr("the texts hold no token"));
  EXPECT_THAT(Error(corpora, {.top_n = 4, .pinned = Ids({9})}),
              HasSubstr("hold 2 different tokens, with those pinned 3, fewer than the 4"));
  EXPECT_THAT(Error(corpora, {.top_n = 401}), HasSubstr("401 ids asked for, not in [1, 400]"));
  EXPECT_THAT(Error(corpora, {.top_n = 1, .pinned = Ids({8, 9})}),
              HasSubstr("2 pinned ids are more than the 1"));
  EXPECT_THAT(Error(corpora, {.ratio = 0.001}), HasSubstr("0 ids asked for"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Error(corpora, {.ratio = nan}), HasSubstr("ratio nan not in (0, 1]"));
  EXPECT_THAT(Error(corpora, {.coverage = nan}), HasSubstr("coverage nan not in (0, 1]"));
}

TEST(BuildListTest, OptionErrorsAreReportedBeforeCounting) {
  const auto error = [](const BuildOptions& options) {
    return std::string(options.Validate(kVocabSize).message());
  };
  EXPECT_THAT(error({.top_n = 401}), HasSubstr("401 ids asked for, not in [1, 400]"));
  EXPECT_THAT(error({.ratio = 0.001}), HasSubstr("0 ids asked for"));
  EXPECT_THAT(error({.top_n = 1, .pinned = Ids({8, 9})}),
              HasSubstr("2 pinned ids are more than the 1"));
  EXPECT_EQ(error({.top_n = 400}), "");
  EXPECT_EQ(error({.ratio = 1}), "");
  EXPECT_EQ(error({.pinned = Ids({8, 9})}), "");
  EXPECT_TRUE(CheckWeights({}).ok());
  EXPECT_TRUE(CheckWeights(std::vector<double>{0, 0}).ok());
  EXPECT_TRUE(CheckWeights(std::vector<double>{1, 2}).ok());
  EXPECT_THAT(std::string(CheckWeights(std::vector<double>{1, 0, 2}).message()),
              HasSubstr("2 of 3 corpora have a weight"));
}

/// Ids 0 to 255 are common, so those above are successors.
CorpusCounts WithPairs(double weight, const std::vector<std::tuple<int, int, int>>& pairs) {
  std::map<int32_t, int64_t> tokens = {{300, 1}, {301, 1}, {302, 1}, {303, 1}};
  for (int32_t id = 0; id < 256; ++id) tokens[id] = 1000;
  CorpusCounts corpus = Corpus(tokens, weight);
  for (const auto& [last, next, count] : pairs) {
    corpus.pairs.Add(PairCounts::KeyOf(TokenId{last}, TokenId{next}), static_cast<uint32_t>(count));
  }
  return corpus;
}

TEST(BuildListTest, SuccessorsExcludeCommonTokensAndRarePairs) {
  const std::vector<CorpusCounts> corpora = {
      WithPairs(1, {{5, 300, 4}, {5, 301, 3}, {5, 7, 99}, {6, 302, 1}, {303, 300, 2}}),
      WithPairs(3, {{5, 301, 1}, {5, 302, 1}, {6, 302, 1}})};
  BuildOptions options;
  auto list = BuildList(corpora, options);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(RawIds(list->successors[5]), ElementsAre(301, 300));  // 3 + 3 x 1, 4
  EXPECT_THAT(RawIds(list->successors[6]), ElementsAre(302));
  EXPECT_THAT(RawIds(list->successors[303]), ElementsAre(300));
  EXPECT_THAT(list->successors[7], IsEmpty());
  options.min_pair_count = 1;
  options.max_successors = 2;
  EXPECT_THAT(RawIds(BuildList(corpora, options)->successors[5]), ElementsAre(301, 300));
  options.max_successors = 3;
  EXPECT_THAT(RawIds(BuildList(corpora, options)->successors[5]), ElementsAre(301, 300, 302));
  options.max_successors = 0;
  EXPECT_THAT(BuildList(corpora, options)->successors, IsEmpty());
}

TEST(BuildListTest, NoveltyRanksByNewPairs) {
  CorpusCounts corpus = Corpus({{1, 10}, {2, 10}});
  corpus.pairs.Add(PairCounts::KeyOf(TokenId{9}, TokenId{1}), 10);
  for (int32_t last = 0; last < 10; ++last)
    corpus.pairs.Add(PairCounts::KeyOf(TokenId{last}, TokenId{2}));
  const auto list = BuildList({corpus}, {.rank = BuildOptions::Rank::kNovelty});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(RawIds(list->ids), ElementsAre(2, 1));
  EXPECT_THAT(list->counts, ElementsAre(11, 1));  // 10 + 0.1 x 10, 0.1 x 10
}

}  // namespace
}  // namespace shortlist
