#include "cli/flags/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/cli/cli_testing.h"

namespace shortlist {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Args kLeast = {"--model", "m", "--prompt", "p"};

TEST(FlagsTest, DefaultsMatchDocumentation) {
  const absl::StatusOr<RunFlags> flags = ParseRunFlags(kLeast);
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->models.model, "m");
  EXPECT_EQ(flags->prompt, "p");
  EXPECT_TRUE(flags->models.draft.empty());
  EXPECT_FALSE(flags->vocab.use_static_vocab);
  EXPECT_EQ(flags->dynamic_rows, 0);
  EXPECT_EQ(flags->decoding.num_draft_tokens, 8);
  EXPECT_EQ(flags->decoding.draft_p_min, std::nullopt);
  EXPECT_TRUE(flags->decoding.suffix_drafts);
  EXPECT_FALSE(flags->decoding.copies_alone);
  EXPECT_EQ(flags->sampling.max_new_tokens, 128);
  EXPECT_EQ(flags->sampling.temperature, 0.0);
  EXPECT_EQ(flags->sampling.top_p, 1.0);
  EXPECT_EQ(flags->sampling.top_k, 0);
  EXPECT_EQ(flags->sampling.min_p, 0.0);
  EXPECT_EQ(flags->sampling.seed, 0u);
  EXPECT_EQ(flags->decoding.verify, VerifyMode::kCoupled);
  EXPECT_EQ(flags->batch, 1);
  EXPECT_GE(flags->num_threads, 1);
  EXPECT_EQ(flags->models.dtype, std::nullopt);
  EXPECT_FALSE(flags->json);
}

TEST(FlagsTest, SuffixIsADraftWithoutModel) {
  const absl::StatusOr<RunFlags> alone =
      ParseRunFlags({"--model", "m", "--prompt", "p", "--draft", "suffix"});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_TRUE(alone->decoding.copies_alone);
  EXPECT_EQ(alone->models.draft, "");
  const absl::StatusOr<RunFlags> folder =
      ParseRunFlags({"--model", "m", "--prompt", "p", "--draft", "./suffix"});
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_FALSE(folder->decoding.copies_alone);
  EXPECT_EQ(folder->models.draft, "./suffix");
}

TEST(FlagsTest, ReadsDiscoveryAndAutoSizeFlags) {
  const auto flags =
      ParseRunFlags(kLeast + Args{"--vocab", "l.json:auto=5..9", "--dynamic-capacity", "7",
                                  "--continuation-rows", "3", "--coverage-floor", "0.5"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_TRUE(flags->vocab.auto_size);
  EXPECT_EQ(flags->vocab.max_rows, 9);
  EXPECT_EQ(flags->dynamic_capacity, 7);
  EXPECT_TRUE(flags->given.dynamic_capacity);
  EXPECT_EQ(flags->decoding.continuation_rows, 3);
  EXPECT_EQ(flags->decoding.coverage_floor, 0.5);
  for (const Args& bad : {Args{"--dynamic-capacity", "-1"}, Args{"--dynamic-capacity", "x"},
                          Args{"--continuation-rows", "x"}, Args{"--continuation-rows", "-1"},
                          Args{"--coverage-floor", "1.1"}, Args{"--coverage-floor", "nan"}}) {
    const auto refused = ParseRunFlags(kLeast + bad);
    EXPECT_FALSE(refused.ok()) << bad[1];
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(bad[0]));
  }
}

TEST(FlagsTest, AcceptsNamesOfOtherServers) {
  const auto flags = ParseRunFlags({"--model-path", "m", "--prompt", "p", "--dtype", "bfloat16"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->models.model, "m");
  EXPECT_EQ(flags->models.dtype, DType::kBf16);
  EXPECT_EQ(ParseRunFlags(kLeast + Args{"--dtype", "float16"})->models.dtype, DType::kF16);
}

TEST(FlagsTest, ReadsEveryFlag) {
  const absl::StatusOr<RunFlags> flags = ParseRunFlags({"--model",
                                                        "m",
                                                        "--draft",
                                                        "d",
                                                        "--vocab",
                                                        "list.json:top=7",
                                                        "--dynamic-rows",
                                                        "5",
                                                        "--num-draft-tokens",
                                                        "6",
                                                        "--draft-p-min",
                                                        "0.3",
                                                        "--suffix-drafts",
                                                        "off",
                                                        "--prompts",
                                                        "p.jsonl",
                                                        "--max-new-tokens",
                                                        "9",
                                                        "--temperature",
                                                        "0.8",
                                                        "--top-p",
                                                        "0.9",
                                                        "--top-k",
                                                        "40",
                                                        "--min-p",
                                                        "0.1",
                                                        "--seed",
                                                        "18446744073709551615",
                                                        "--verify",
                                                        "rejection",
                                                        "--batch",
                                                        "3",
                                                        "--threads",
                                                        "2",
                                                        "--dtype",
                                                        "bf16",
                                                        "--quantize",
                                                        "int4",
                                                        "--quantize-draft",
                                                        "int8",
                                                        "--draft-taps",
                                                        "2,16,29",
                                                        "--json"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->models.draft, "d");
  EXPECT_EQ(flags->vocab.custom_vocab_path, "list.json");
  EXPECT_EQ(flags->vocab.top_n, 7);
  EXPECT_EQ(flags->dynamic_rows, 5);
  EXPECT_EQ(flags->decoding.num_draft_tokens, 6);
  EXPECT_EQ(flags->decoding.draft_p_min, 0.3);
  EXPECT_FALSE(flags->decoding.suffix_drafts);
  EXPECT_EQ(flags->prompt, std::nullopt);
  EXPECT_EQ(flags->prompts_path, "p.jsonl");
  EXPECT_EQ(flags->sampling.max_new_tokens, 9);
  EXPECT_EQ(flags->sampling.temperature, 0.8);
  EXPECT_EQ(flags->sampling.top_p, 0.9);
  EXPECT_EQ(flags->sampling.top_k, 40);
  EXPECT_EQ(flags->sampling.min_p, 0.1);
  EXPECT_EQ(flags->sampling.seed, 18446744073709551615u);
  EXPECT_EQ(flags->decoding.verify, VerifyMode::kRejection);
  EXPECT_EQ(flags->batch, 3);
  EXPECT_EQ(flags->num_threads, 2);
  EXPECT_EQ(flags->models.dtype, DType::kBf16);
  EXPECT_EQ(flags->models.quantize, DType::kInt4);
  EXPECT_EQ(flags->models.quantize_draft, DType::kInt8);
  EXPECT_EQ(flags->models.draft_taps, (std::vector<int64_t>{2, 16, 29}));
  EXPECT_TRUE(flags->json);
}

TEST(FlagsTest, CompareHasGenerateFlagsAndItsOwn) {
  const absl::StatusOr<CompareFlags> least = ParseCompareFlags(kLeast);
  ASSERT_TRUE(least.ok()) << least.status();
  EXPECT_FALSE(least->sweep);
  EXPECT_EQ(least->num_repetitions, 3);
  const absl::StatusOr<CompareFlags> flags =
      ParseCompareFlags(kLeast + Args{"--sweep", "--repetitions", "5", "--batch", "2"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_TRUE(flags->sweep);
  EXPECT_EQ(flags->num_repetitions, 5);
  EXPECT_EQ(flags->run.batch, 2);
  for (const char* value : {"0", "-1", "1001", "x"}) {
    EXPECT_FALSE(ParseCompareFlags(kLeast + Args{"--repetitions", value}).ok()) << value;
  }
}

TEST(FlagsTest, PromptMayBeginWithDash) {
  const absl::StatusOr<RunFlags> flags = ParseRunFlags({"--model", "m", "--prompt", "--seed"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->prompt, "--seed");
}

TEST(FlagsTest, RejectsOutOfBoundsWithFlagValueAndBound) {
  struct Case {
    const char *flag, *value, *bound;
  };
  for (const Case& c : {
           Case{"--temperature", "nan", "[0, 100]"},
           Case{"--temperature", "-0.5", "[0, 100]"},
           Case{"--temperature", "inf", "[0, 100]"},
           Case{"--temperature", "warm", "[0, 100]"},
           Case{"--temperature", "0.5x", "[0, 100]"},
           Case{"--top-p", "0", "(0, 1]"},
           Case{"--top-p", "nan", "(0, 1]"},
           Case{"--top-p", "1.5", "(0, 1]"},
           Case{"--min-p", "-0.1", "[0, 1]"},
           Case{"--min-p", "nan", "[0, 1]"},
           Case{"--top-k", "-1", "[0, 2147483647]"},
           Case{"--max-new-tokens", "-3", "[1, 2147483647]"},
           Case{"--max-new-tokens", "0", "[1, 2147483647]"},
           Case{"--max-new-tokens", "99999999999999999999", "[1, 2147483647]"},
           Case{"--num-draft-tokens", "0", "[1, 64]"},
           Case{"--num-draft-tokens", "-2", "[1, 64]"},
           Case{"--num-draft-tokens", "65", "[1, 64]"},
           Case{"--draft-p-min", "-0.1", "[0, 1]"},
           Case{"--draft-p-min", "1.5", "[0, 1]"},
           Case{"--draft-p-min", "nan", "[0, 1]"},
           Case{"--draft-p-min", "Auto", "is not auto"},
           Case{"--suffix-drafts", "maybe", "off|on"},
           Case{"--dynamic-rows", "-1", "[0, 2147483647]"},
           Case{"--batch", "0", "[1, 1024]"},
           Case{"--threads", "0", "[1, 1024]"},
           Case{"--seed", "-1", "[0, 18446744073709551615]"},
           Case{"--seed", "1.5", "[0, 18446744073709551615]"},
           Case{"--dtype", "int8", "bf16"},
           Case{"--quantize", "int5", "int4|int8"},
           Case{"--quantize-draft", "bf16", "int4|int8"},
           Case{"--draft-taps", "", "[0, 1024]"},
           Case{"--draft-taps", "2,,5", "[0, 1024]"},
           Case{"--draft-taps", "2,-1", "[0, 1024]"},
           Case{"--draft-taps", "2,1025", "layer boundaries"},
           Case{"--draft-taps", "2, 5", "[0, 1024]"},
           Case{"--quantize", "", "int4|int8"},
           Case{"--quantize", "INT8", "int4|int8"},
           Case{"--quantize", "bf16", "int4|int8"},
           Case{"--verify", "hope", "coupled|rejection"},
           Case{"--device", "cuda:0", "cpu|cuda"},
           Case{"--device", "", "cpu|cuda"},
       }) {
    SCOPED_TRACE(std::string(c.flag) + " " + c.value);
    const absl::StatusOr<RunFlags> flags = ParseRunFlags(kLeast + Args{c.flag, c.value});
    ASSERT_FALSE(flags.ok());
    EXPECT_THAT(std::string(flags.status().message()),
                AllOf(HasSubstr(c.flag), HasSubstr(c.value), HasSubstr(c.bound)));
  }
}

TEST(FlagsTest, BadVocabNamesFlag) {
  for (const char* value : {"ratio:0", "ratio:nan", "ratio:-0.5", "ratio:1.01", "ratio:", "ratio:x",
                            "l.json:top=0", "l.json:top=-4", "l.json:top=x", "l.json:ratio=0",
                            "l.json:coverage=nan", "l.json:coverage=1.5", ""}) {
    SCOPED_TRACE(value);
    const absl::StatusOr<RunFlags> flags = ParseRunFlags(kLeast + Args{"--vocab", value});
    ASSERT_FALSE(flags.ok());
    EXPECT_THAT(std::string(flags.status().message()), HasSubstr("--vocab"));
  }
}

TEST(FlagsTest, RequiresModelAndExactlyOnePromptFlag) {
  EXPECT_FALSE(ParseRunFlags({"--prompt", "p"}).ok());
  EXPECT_FALSE(ParseRunFlags({"--model", "m"}).ok());
  EXPECT_FALSE(ParseRunFlags(kLeast + Args{"--prompts", "f"}).ok());
  EXPECT_FALSE(ParseRunFlags(kLeast + Args{"--frobnicate"}).ok());
  EXPECT_FALSE(ParseRunFlags(kLeast + Args{"stray"}).ok());
}

}  // namespace
}  // namespace shortlist
