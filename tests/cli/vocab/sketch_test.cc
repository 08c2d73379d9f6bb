#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/sketch_file.h"
#include "tests/cli/cli_testing.h"
#include "tests/support/matrices.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

const Args kPrompt = {"--prompt", "The old man went", "--max-new-tokens", "24"};

class VocabSketchTest : public testing::Test {
 protected:
  std::string path() const { return dir_.Join("demo.sketch"); }

  /// Returns the error message of `vocab sketch` with these flags.
  Outcome Make(const Args& args, int64_t rank = 16) {
    return RunVocab(Args{"sketch", "--out", path(), "--rank", std::to_string(rank)} + args);
  }

  TempDir dir_;
};

TEST_F(VocabSketchTest, UnwritableOutputIsReportedBeforeLoading) {
  const auto refusal = [](const std::string& out) {
    const Outcome made = RunVocab(Args{"sketch", "--out", out, "--rank", "16"} +
                                  Args{"--model", "/x", "--draft", "/y", "--prompt", "a"});
    return std::string(made.status.message());
  };
  EXPECT_THAT(refusal(dir_.Join("absent/demo.sketch")),
              HasSubstr("absent/: No such file or directory"));
  EXPECT_EQ(refusal(dir_.Join("")), "--out " + dir_.Join("") + ": a directory");
  EXPECT_EQ(refusal(""), "--out an empty name of a file");
}

TEST_F(VocabSketchTest, SketchFileReplacesEveryList) {
  testing::internal::CaptureStderr();
  const Outcome made = Make(DemoPair() + kPrompt);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::ContainsRegex("vocab sketch: [0-9]+ hidden states; 2000 or more make"));
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_THAT(made.out, HasSubstr("rank 16 of 256"));
  const Outcome compared =
      RunCompare(DemoPair() + kPrompt +
                 Args{"--json", "--repetitions", "1", "--vocab", "empty", "--sketch", path(),
                      "--sketch-rows", "200", "--dynamic-rows", "50", "--draft-p-min", "0.35"});
  ASSERT_TRUE(compared.status.ok()) << compared.status;
  std::vector<std::string> names;
  const nlohmann::json report = nlohmann::json::parse(compared.out);
  for (const nlohmann::json& row : report["rows"]) {
    if (row["group"] != "all") continue;
    names.push_back(row["decoding"]);
    EXPECT_EQ(row["identical"], true) << row;
    if (row["sketch_rows"] != 200) continue;
    EXPECT_GT(row["accept_length"], 1.5) << row;
    EXPECT_GT(row["coverage"], 0.5) << row;
    // 10 bytes a row and the basis, 200 or 250 rows, of 512 bytes a row.
    EXPECT_GT(row["head_bytes_share"], 10.0 / 512 + 200.0 / 16384) << row;
    EXPECT_LT(row["head_bytes_share"], 0.04) << row;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"plain", "draft, full head", "draft, no list + 50 dynamic",
                                      "draft, no list + 200 by sketch",
                                      "draft, no list + 50 dynamic + 200 by sketch"}));
}

/// A draft as large as its target cannot pay, and so few tokens cannot pay for a long prompt.
TEST_F(VocabSketchTest, DraftThatDoesNotPayIsSketched) {
  const std::string target = SourcePath("models/demo/target");
  std::string prompt;
  for (int i = 0; i < 30; ++i) prompt += "The old man went to the sea. ";
  const Outcome made =
      Make({"--model", target, "--draft", target, "--prompt", prompt, "--max-new-tokens", "4"});
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_THAT(made.out, HasSubstr("rank 16 of 256"));
}

TEST_F(VocabSketchTest, HeadOnlySketchNeedsNoFile) {
  const Outcome outcome = RunGenerate(
      DemoPair() + kPrompt +
      Args{"--json", "--vocab", "empty", "--sketch-rows", "200", "--draft-p-min", "0.35"});
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  const nlohmann::json row = nlohmann::json::parse(outcome.out);
  EXPECT_GT(row["meta_info"]["spec_accept_length"], 1.0) << row;
  EXPECT_EQ(row["meta_info"]["active_rows"], 200) << row;
}

TEST_F(VocabSketchTest, ErrorsNameValueAndBoundAndKeepOldFile) {
  ASSERT_TRUE(WriteSketchFile({.rows = Filled(8, 10, 1.0f),
                               .states = Filled(8, 10, 1.0f),
                               .probe_ids = {0},
                               .probes = Filled(1, 8, 1.0f)},
                              path())
                  .ok());
  const auto expect_refused = [&](const Outcome& outcome, const std::string& words) {
    EXPECT_TRUE(absl::IsInvalidArgument(outcome.status)) << outcome.status;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(words));
    EXPECT_EQ(outcome.out, "");
    const auto old = ReadSketchFile(path());
    ASSERT_TRUE(old.ok()) << old.status();
    EXPECT_EQ(old->hidden(), 10);
  };
  expect_refused(Make(DemoTarget() + kPrompt), "needs --draft");
  expect_refused(Make(DemoPair() + kPrompt, /*rank=*/12), "rank 12 is not a multiple of 8");
  expect_refused(Make(DemoPair() + Args{"--prompt", "The", "--max-new-tokens", "1"}),
                 "no hidden state was met");

  const Args empty = DemoPair() + kPrompt + Args{"--vocab", "empty"};
  expect_refused(RunGenerate(empty), "--vocab: empty leaves a draft no rows");
  expect_refused(RunGenerate(empty + Args{"--sketch", path(), "--sketch-rows", "0"}),
                 "--vocab: empty leaves a draft no rows");
  expect_refused(RunGenerate(empty + Args{"--sketch", path()}),
                 path() + ": sketch of another head: of hidden states of 10, not 256");
  const Outcome missing = RunGenerate(empty + Args{"--sketch", dir_.Join("none")});
  EXPECT_TRUE(absl::IsNotFound(missing.status)) << missing.status;
  EXPECT_THAT(std::string(missing.status.message()), HasSubstr(dir_.Join("none")));
  for (const char* rows :
       {"-1", "x", "2147483648", "1.5", "", "0..5", "6..5", "5..", "..5", "1..x"}) {
    const auto flags = ParseRunFlags(empty + Args{"--sketch-rows", rows});
    EXPECT_THAT(std::string(flags.status().message()), HasSubstr("--sketch-rows")) << rows;
  }
  const auto range = ParseRunFlags(empty + Args{"--sketch-rows", "32..512"});
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->sketch.num_rows, 512);
  EXPECT_EQ(range->sketch.min_rows, 32);
}

}  // namespace
}  // namespace shortlist
