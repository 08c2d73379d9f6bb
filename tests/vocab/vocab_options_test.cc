#include "vocab/vocab_options.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const VocabTarget kTarget{.vocab_size = 20, .fingerprint = ""};

/// ids 10, 11, 12, 13, 14 with counts 50, 30, 15, 5, 0 (of 100); pinned 13 and 3.
VocabList SmallList() {
  return {.vocab_size = 20,
          .fingerprint = "",
          .source = "",
          .ids = Ids({10, 11, 12, 13, 14}),
          .counts = {50, 30, 15, 5, 0},
          .pinned = Ids({13, 3}),
          .ranked = true};
}

/// OpenVocabBase for a list in one of the formats of ReadVocabList.
absl::StatusOr<std::shared_ptr<const VocabBase>> OpenBase(const VocabOptions& options,
                                                          const VocabTarget& target = kTarget) {
  if (!options.names_list()) return SelectVocabBase(options, target);
  const absl::StatusOr<VocabList> list = ReadVocabList(options.custom_vocab_path, target);
  if (!list.ok()) return list.status();
  return SelectVocabBase(options, *list, target);
}

absl::StatusOr<std::vector<int32_t>> Select(const std::string& flag) {
  const auto options = ParseVocabFlag(flag);
  if (!options.ok()) return options.status();
  const auto base = OpenBase(*options);
  if (!base.ok()) return base.status();
  return ToVector((*base)->ids());
}

std::string Error(const std::string& flag) {
  const auto ids = Select(flag);
  EXPECT_FALSE(ids.ok()) << flag;
  EXPECT_EQ(ids.status().code(), absl::StatusCode::kInvalidArgument) << ids.status();
  return std::string(ids.status().message());
}

class VocabOptionsListTest : public testing::Test {
 protected:
  VocabOptionsListTest() : path_(TempPath("small:list.vocab.json")) {
    EXPECT_TRUE(WriteVocabList(path_, SmallList()).ok());
  }
  const std::string path_;
};

TEST(VocabOptionsTest, FullMeansFullHead) {
  const auto options = ParseVocabFlag("full");
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->use_static_vocab);
  EXPECT_TRUE((*OpenBase(*options))->is_full_head());
}

TEST(VocabOptionsTest, OffIgnoresTheOtherFields) {
  VocabOptions options{.use_static_vocab = false, .static_vocab_ratio = kNan};
  options.custom_vocab_path = "/no/such/file";
  EXPECT_TRUE((*OpenBase(options))->is_full_head());
}

TEST(VocabOptionsTest, RatioWithoutListTakesFirstIds) {
  EXPECT_THAT(*Select("ratio:0.25"), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(Select("ratio:1")->size(), 20u);
  EXPECT_EQ(Select("ratio:0.99")->size(), 19u);
  const auto defaults = OpenBase({.use_static_vocab = true});
  EXPECT_EQ((*defaults)->size(), 10);
}

TEST(VocabOptionsTest, BadRatiosNameValueAndBound) {
  EXPECT_EQ(Error("ratio:0"), "ratio 0 not in (0, 1]");
  EXPECT_EQ(Error("ratio:-1"), "ratio -1 not in (0, 1]");
  EXPECT_EQ(Error("ratio:1.5"), "ratio 1.5 not in (0, 1]");
  EXPECT_EQ(Error("ratio:NaN"), "ratio nan not in (0, 1]");
  EXPECT_EQ(Error("ratio:inf"), "ratio inf not in (0, 1]");
  EXPECT_EQ(Error("ratio:"), "ratio \"\" is not a number");
  EXPECT_EQ(Error("ratio:half"), "ratio \"half\" is not a number");
  EXPECT_EQ(Error("ratio:0.5x"), "ratio \"0.5x\" is not a number");
  EXPECT_EQ(Error("ratio:0.01"), "static_vocab_ratio 0.01 of 20 ids comes to none");
  for (const double ratio : {0.0, -0.5, 1.0000001, kNan, -kNan, HUGE_VAL, -HUGE_VAL}) {
    const VocabOptions options{.use_static_vocab = true, .static_vocab_ratio = ratio};
    EXPECT_FALSE(OpenBase(options).ok()) << ratio;
  }
}

TEST(VocabOptionsTest, BadListOptionsNameValueAndBound) {
  EXPECT_THAT(Error("f:top=0"), HasSubstr("top_n 0 not in [1, vocab_size]"));
  EXPECT_THAT(Error("f:top=-3"), HasSubstr("top_n -3 not in [1, vocab_size]"));
  EXPECT_THAT(Error("f:top="), HasSubstr("top \"\" is not an integer"));
  EXPECT_THAT(Error("f:top=5.5"), HasSubstr("top \"5.5\" is not an integer"));
  EXPECT_THAT(Error("f:top=1e3"), HasSubstr("top \"1e3\" is not an integer"));
  EXPECT_THAT(Error("f:top=9223372036854775808"), HasSubstr("is not an integer below 2^63"));
  EXPECT_THAT(Error("f:ratio=2"), HasSubstr("ratio 2 not in (0, 1]"));
  EXPECT_THAT(Error("f:ratio=nan"), HasSubstr("ratio nan not in (0, 1]"));
  EXPECT_THAT(Error("f:coverage=0"), HasSubstr("coverage 0 not in (0, 1]"));
  EXPECT_THAT(Error("f:coverage=-nan"), HasSubstr("not in (0, 1]"));
  EXPECT_THAT(Error(""), HasSubstr("names no file"));
  EXPECT_THAT(Error(":top=5"), HasSubstr("names no file"));
}

TEST(VocabOptionsTest, OnlyKnownLastSuffixIsOption) {
  const auto path = [](const std::string& flag) { return ParseVocabFlag(flag)->custom_vocab_path; };
  EXPECT_EQ(path("a:b.txt"), "a:b.txt");
  EXPECT_EQ(path("a:top=1:b.txt"), "a:top=1:b.txt");
  EXPECT_EQ(path("C:/a:b.txt:top=7"), "C:/a:b.txt");
  EXPECT_EQ(ParseVocabFlag("C:/a:b.txt:top=7")->top_n, 7);
  EXPECT_EQ(ParseVocabFlag("a:coverage=0.5")->coverage, 0.5);
  EXPECT_EQ(ParseVocabFlag("a:ratio=0.5")->ratio, 0.5);
  EXPECT_EQ(path("./ratio:0.5"), "./ratio:0.5");
}

TEST(VocabOptionsTest, SuccessorsCombineWithAnyOptionInAnyOrder) {
  for (const std::string flag : {"a:b:top=7:successors=5", "a:b:successors=5:top=7"}) {
    const auto options = ParseVocabFlag(flag);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_EQ(options->custom_vocab_path, "a:b");
    EXPECT_EQ(options->top_n, 7);
    EXPECT_EQ(options->successors, 5);
  }
  EXPECT_THAT(Error("f:successors=0"), HasSubstr("successors 0 not in [1, vocab_size]"));
  EXPECT_THAT(Error("f:successors=few"), HasSubstr("successors \"few\" is not an integer"));
  EXPECT_THAT(Error("f:top=3:top=4"), HasSubstr("top is there twice"));
  EXPECT_THAT(Error("f:top=3:ratio=0.5"), HasSubstr("at most 1"));
}

TEST(VocabOptionsTest, ValidateRejectsContradictions) {
  VocabOptions options{.use_static_vocab = true};
  options.custom_vocab_path = "f";
  options.top_n = 5;
  EXPECT_TRUE(options.Validate().ok());
  options.coverage = 0.5;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("at most 1"));
  options.coverage.reset();
  options.custom_vocab_path.clear();
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("custom_vocab_path is empty"));
}

TEST(VocabOptionsTest, UnreadableListIsError) {
  VocabOptions options{.use_static_vocab = true, .static_vocab_ratio = 0.5};
  options.custom_vocab_path = TempPath("absent.txt");
  EXPECT_EQ(OpenBase(options).status().code(), absl::StatusCode::kNotFound);
}

TEST(VocabOptionsTest, PathWinsOverStaticRatio) {
  VocabOptions options{.use_static_vocab = true, .static_vocab_ratio = 0.5};
  options.custom_vocab_path = WriteTemp("two.txt", "19\n4\n");
  EXPECT_THAT(ToVector((*OpenBase(options))->ids()), ElementsAre(4, 19));
}

TEST(VocabOptionsTest, PlainTextHasNoRanksForTop) {
  const std::string path = WriteTemp("plain.txt", "9\n4\n6\n");
  EXPECT_THAT(*Select(path), ElementsAre(4, 6, 9));
  EXPECT_THAT(Error(path + ":top=2"),
              HasSubstr("top_n 2 takes the best ids, and its ids have no ranks"));
  EXPECT_THAT(Error(path + ":ratio=0.05"), HasSubstr("ratio 0.05 takes the best ids"));
  EXPECT_THAT(Error(path + ":coverage=0.5"), HasSubstr("needs counts"));
}

TEST_F(VocabOptionsListTest, WithoutOptionTakesAll) {
  EXPECT_THAT(*Select(path_), ElementsAre(3, 10, 11, 12, 13, 14));
}

TEST_F(VocabOptionsListTest, UnknownOptionIsNamedIfListExists) {
  const auto refusal = [](const std::string& flag) {
    const auto options = ParseVocabFlag(flag);
    return options.ok() ? "" : std::string(options.status().message());
  };
  EXPECT_THAT(refusal(path_ + ":TOP=5"),
              HasSubstr("\"TOP=5\" is no option of " + path_ + "; full"));
  EXPECT_THAT(refusal(path_ + ":foo=1:top=5"), HasSubstr("\"foo=1\" is no option of " + path_));
  EXPECT_THAT(refusal(path_ + ":top=5:foo=1"), HasSubstr("\"foo=1\" is no option of " + path_));
  EXPECT_EQ(refusal("absent:TOP=5"), "");  // a name, until it is read
}

TEST_F(VocabOptionsListTest, TopIncludesPinned) {
  EXPECT_THAT(*Select(path_ + ":top=2"), ElementsAre(3, 13));
  EXPECT_THAT(*Select(path_ + ":top=4"), ElementsAre(3, 10, 11, 13));
  EXPECT_THAT(Error(path_ + ":top=1"), HasSubstr("its 2 pinned ids are more than the 1 asked for"));
  EXPECT_THAT(Error(path_ + ":top=7"), HasSubstr("holds 6 ids, fewer than the 7 asked for"));
  EXPECT_THAT(Error(path_ + ":top=21"), HasSubstr("top_n 21 not in [1, 20]"));
}

TEST_F(VocabOptionsListTest, RatioRefersToWholeVocabulary) {
  EXPECT_THAT(*Select(path_ + ":ratio=0.15"), ElementsAre(3, 10, 13));
  EXPECT_THAT(*Select(path_ + ":ratio=0.199"), ElementsAre(3, 10, 13));
  EXPECT_THAT(Error(path_ + ":ratio=0.01"), HasSubstr("ratio 0.01 of 20 ids comes to none"));
}

TEST_F(VocabOptionsListTest, SuccessorsComeFromList) {
  EXPECT_THAT(Error(path_ + ":successors=2"),
              HasSubstr("it holds no successors, and 2 of a token"));
  VocabList list = SmallList();
  list.successors.resize(20);
  list.successors[5] = Ids({10, 7, 8, 9});
  ASSERT_TRUE(WriteVocabList(path_, list).ok());
  const auto base = OpenBase(*ParseVocabFlag(path_ + ":top=3:successors=2"));
  ASSERT_TRUE(base.ok()) << base.status();
  EXPECT_THAT(ToVector((*base)->ids()), ElementsAre(3, 10, 13));
  EXPECT_THAT((*base)->SuccessorsOf(TokenId{5}), ElementsAre(7, 8));
  EXPECT_EQ((*OpenBase(*ParseVocabFlag(path_ + ":top=3")))->max_successors(), 0);
  EXPECT_THAT(Error(path_ + ":successors=21"), HasSubstr("successors 21 not in [1, 20]"));
}

TEST_F(VocabOptionsListTest, IdsWithoutDraftRowAreRejected) {
  VocabList list = SmallList();
  list.successors.resize(20);
  list.successors[5] = Ids({17, 7});
  ASSERT_TRUE(WriteVocabList(path_, list).ok());
  const auto refusal = [](const std::string& flag, int64_t num_rows) {
    return std::string(OpenBase(*ParseVocabFlag(flag), {.vocab_size = 20, .num_rows = num_rows})
                           .status()
                           .message());
  };
  EXPECT_EQ(refusal(path_ + ":top=3", 14), "");
  EXPECT_EQ(refusal(path_ + ":top=3", 13),
            path_ + ": token id 13 has no row in the draft's head, which has 13: take fewer ids");
  EXPECT_EQ(refusal(path_ + ":top=3:successors=1", 18), "");
  EXPECT_THAT(refusal(path_ + ":top=3:successors=1", 17), HasSubstr("token id 17 has no row"));
  EXPECT_EQ(refusal("ratio:0.5", 10), "");
  EXPECT_THAT(refusal("ratio:0.5", 9), HasSubstr("static_vocab_ratio 0.5: token id 9 has no row"));
}

TEST_F(VocabOptionsListTest, CoverageTakesFewestIds) {
  EXPECT_THAT(*Select(path_ + ":coverage=0.05"), ElementsAre(3, 13));
  EXPECT_THAT(*Select(path_ + ":coverage=0.55"), ElementsAre(3, 10, 13));
  EXPECT_THAT(*Select(path_ + ":coverage=0.551"), ElementsAre(3, 10, 11, 13));
  EXPECT_THAT(*Select(path_ + ":coverage=1"), ElementsAre(3, 10, 11, 12, 13));
}

TEST_F(VocabOptionsListTest, CoverageNeedsCounts) {
  VocabList list = SmallList();
  list.counts = {0, 0, 0, 0, 0};
  ASSERT_TRUE(WriteVocabList(path_, list).ok());
  EXPECT_THAT(Error(path_ + ":coverage=0.5"), HasSubstr("all 0"));
  list.counts.clear();
  ASSERT_TRUE(WriteVocabList(path_, list).ok());
  EXPECT_THAT(Error(path_ + ":coverage=0.5"), HasSubstr("needs counts"));
}

TEST_F(VocabOptionsListTest, CoverageIsMinimalOnRandomLists) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    VocabList list{.vocab_size = 20,
                   .fingerprint = "",
                   .source = "",
                   .ids = {},
                   .counts = {},
                   .pinned = {},
                   .ranked = true};
    std::vector<int32_t> all(20);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random);
    list.ids = Ids(all);
    for (int i = 0; i < 20; ++i) list.counts.push_back(random() % 50 + (i == 0));
    std::sort(list.counts.rbegin(), list.counts.rend());
    list.pinned = Ids({all[random() % 20]});
    ASSERT_TRUE(WriteVocabList(path_, list).ok());
    const double share = std::uniform_real_distribution<double>(0.01, 1)(random);
    const double all_counts = std::accumulate(list.counts.begin(), list.counts.end(), 0.0);
    const auto covered = [&](const std::set<int32_t>& ids) {
      double sum = 0;
      for (int i = 0; i < 20; ++i) sum += ids.contains(all[i]) ? list.counts[i] : 0;
      return sum / all_counts >= share;
    };
    std::set<int32_t> expected{Raw(list.pinned[0])};
    for (int i = 0; i < 20 && !covered(expected); ++i) expected.insert(all[i]);

    VocabOptions options{.use_static_vocab = true};
    options.custom_vocab_path = path_;
    options.coverage = share;
    const auto base = OpenBase(options);
    ASSERT_TRUE(base.ok()) << base.status();
    EXPECT_EQ(ToVector((*base)->ids()), std::vector<int32_t>(expected.begin(), expected.end()));
  }
}

TEST(VocabOptionsTest, InvalidTargetsAreRejected) {
  for (const int64_t vocab_size : {int64_t{0}, int64_t{-1}, int64_t{1} << 40}) {
    EXPECT_FALSE(SelectVocabBase({.use_static_vocab = true}, VocabTarget{vocab_size, ""}).ok());
  }
}

}  // namespace
}  // namespace shortlist
