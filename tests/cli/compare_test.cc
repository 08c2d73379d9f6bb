#include "cli/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string List() { return SourcePath("vocab_lists/demo.vocab.json"); }

Args Prompts() {
  return {"--prompts", SourcePath("examples/prompts.jsonl"), "--max-new-tokens", "8"};
}

nlohmann::json Report(const Args& args) {
  const Outcome outcome = RunCompare(args + Args{"--json"});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(Lines(outcome.out).size(), 1u);
  return nlohmann::json::parse(outcome.out);
}

TEST(CompareTest, EveryConfigurationMatchesPlainDecoding) {
  const nlohmann::json report =
      Report(DemoPair() + Prompts() +
             Args{"--batch", "4", "--dynamic-rows", "64", "--vocab", List() + ":top=2048"});
  EXPECT_EQ(report["num_prompts"], 7);
  EXPECT_EQ(report["repetitions"], 3);
  std::vector<std::string> names;
  for (const nlohmann::json& row : report["rows"]) {
    if (row["group"] != "all") continue;
    names.push_back(row["decoding"]);
    EXPECT_EQ(row["source"], nullptr) << row;
    EXPECT_EQ(row["num_prompts"], 7) << row;
    EXPECT_EQ(row["identical"], true) << row;
    EXPECT_GT(row["tokens_per_s"], 0.0) << row;
    EXPECT_GE(row["accept_length"], 1.0) << row;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"plain", "draft, full head", "draft, top 2048",
                                             "draft, top 2048 + 64 dynamic"}));
}

TEST(CompareTest, SweepSizeBeyondListGetsErrorRow) {
  const TempDir dir;
  const std::string small = dir.Join("small.vocab.json");
  ASSERT_TRUE(RunVocab({"convert", List(), small, "--top", "2500"}).status.ok());
  const Args args =
      DemoPair() + Prompts() + Args{"--repetitions", "1", "--vocab", small, "--sweep"};
  std::vector<std::string> measured, refused;
  const nlohmann::json report = Report(args);
  for (const nlohmann::json& row : report["rows"]) {
    if (row["group"] != "all") continue;
    (row.contains("error") ? refused : measured).push_back(row["decoding"]);
  }
  EXPECT_EQ(measured, (std::vector<std::string>{"plain", "draft, full head", "draft, top 2048",
                                                "draft, top 1024", "draft, top 512"}));
  EXPECT_EQ(refused, (std::vector<std::string>{"draft, top 8192", "draft, top 4096"}));
  const Outcome table = RunCompare(args);
  EXPECT_TRUE(table.status.ok()) << table.status;
  EXPECT_THAT(table.out, HasSubstr("draft, top 8192: "));
  EXPECT_THAT(table.out, HasSubstr("holds 2500 ids, fewer than the 8192 asked for"));
}

TEST(CompareTest, PromptSourcesAreReportedSeparately) {
  const TempDir dir;
  const std::string prompts = dir.Write("p.jsonl",
                                        "{\"prompt\": \"The old man\", \"source\": \"stories\"}\n"
                                        "{\"turns\": [\"Question: 1\"], \"category\": \"math\"}\n"
                                        "{\"prompt\": \"The sea\", \"source\": \"stories\"}\n");
  const nlohmann::json report =
      Report(DemoPair() + Args{"--prompts", prompts, "--max-new-tokens", "6", "--repetitions", "1",
                               "--temperature", "0.8", "--vocab", "full"});
  struct Expected {
    nlohmann::json source;
    int num_prompts;
  };
  const Expected expected[] = {{nullptr, 3}, {"stories", 2}, {"math", 1}};
  ASSERT_EQ(report["rows"].size(), 6u);  // plain and full head
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(report["rows"][i]["group"], "all");
    EXPECT_EQ(report["rows"][i]["source"], expected[i / 2].source);
    EXPECT_EQ(report["rows"][i]["num_prompts"], expected[i / 2].num_prompts);
  }
}

TEST(CompareTest, WithoutListSketchIsLearnedAndExplained) {
  const Args args =
      DemoPair() + Args{"--prompt", "The old man", "--max-new-tokens", "200", "--repetitions", "1"};
  const nlohmann::json report = Report(args);
  const nlohmann::json* learned = nullptr;
  for (const nlohmann::json& row : report["rows"]) {
    if (row["group"] != "all") continue;
    EXPECT_EQ(row["identical"], true) << row;
    if (row["sketch_rows"] == 1024) learned = &row;
  }
  ASSERT_NE(learned, nullptr) << report;
  EXPECT_THAT((*learned)["decoding"], StartsWith("draft, no list + 256 dynamic + 1024 by sketch"));
  const Outcome table = RunCompare(args + Args{"--explain"});
  ASSERT_TRUE(table.status.ok()) << table.status;
  EXPECT_THAT(table.out, testing::ContainsRegex(
                             "draft, full head\n  costs: a step takes [0-9.]+ plain steps of .*\n"
                             "  brings: [0-9.]+ tokens; of [0-9.]+ drafted [0-9]+ % are taken; .*\n"
                             "  so [0-9.]+ x plain is expected and [0-9.]+ x measured: it "));
}

TEST(CompareTest, SweepCoversListSizesWithAndWithoutDynamicRows) {
  const nlohmann::json report =
      Report(DemoPair() + Args{"--prompt", "The old man", "--max-new-tokens", "6", "--repetitions",
                               "1", "--sweep", "--vocab", List(), "--dynamic-rows", "100"});
  std::vector<std::pair<int, int>> sizes;  // base and dynamic rows
  for (const nlohmann::json& row : report["rows"]) {
    if (row["group"] == "all") sizes.emplace_back(row["base_rows"], row["dynamic_rows"]);
  }
  EXPECT_EQ(sizes, (std::vector<std::pair<int, int>>{{0, 0},
                                                     {16384, 0},
                                                     {8192, 0},
                                                     {8092, 100},
                                                     {4096, 0},
                                                     {3996, 100},
                                                     {2048, 0},
                                                     {1948, 100},
                                                     {1024, 0},
                                                     {924, 100},
                                                     {512, 0},
                                                     {412, 100}}));
}

TEST(CompareTest, SweepWithSuccessorsKeepsTotalRows) {
  const nlohmann::json report = Report(
      DemoPair() + Args{"--prompt", "The old man", "--max-new-tokens", "6", "--repetitions", "1",
                        "--sweep", "--vocab", List() + ":successors=384", "--dynamic-rows", "100"});
  std::vector<std::vector<int>> sizes;  // base, dynamic and successor rows
  for (const nlohmann::json& row : report["rows"]) {
    if (row["group"] != "all" || row["successor_rows"] == 0) continue;
    sizes.push_back({row["base_rows"], row["dynamic_rows"], row["successor_rows"]});
    EXPECT_LE(row["active_rows"], sizes.back()[0] + 100 + sizes.back()[2]);
    EXPECT_EQ(row["identical"], true);
  }
  EXPECT_EQ(
      sizes,
      (std::vector<std::vector<int>>{
          {7708, 100, 384}, {3612, 100, 384}, {1564, 100, 384}, {540, 100, 384}, {206, 100, 206}}));
}

TEST(CompareTest, AutoSizeIsOneOfSweepSizes) {
  const nlohmann::json report =
      Report(DemoPair() + Args{"--prompt", "The old man", "--max-new-tokens", "24", "--repetitions",
                               "1", "--sweep", "--vocab", List() + ":auto=4096..9000:successors=64",
                               "--dynamic-rows", "32", "--dynamic-capacity", "8"});
  std::vector<std::string> names;
  for (const auto& row : report["rows"]) {
    if (row["group"] != "all" || !row["source"].is_null()) continue;
    names.push_back(row["decoding"]);
    EXPECT_EQ(row["identical"], true) << row;
    int64_t num_tokens = 0;
    for (const auto& source : row["sources"]) num_tokens += source["tokens"].get<int64_t>();
    if (row["decoding"] == "plain") continue;
    EXPECT_EQ(num_tokens, row["num_tokens"]) << row;
  }
  const std::string rest = " + 32 dynamic + 8 shared + 64 successors";
  EXPECT_EQ(names, (std::vector<std::string>{"plain", "draft, full head", "draft, top 4096" + rest,
                                             "draft, top 5793" + rest, "draft, top 9000" + rest,
                                             "draft, size by itself" + rest + ": top 9000"}));
}

TEST(CompareTest, SweepRejectsUnsizableVocabulary) {
  const Args sweep = DemoPair() + Args{"--prompt", "x", "--sweep"};
  for (const Args& vocab :
       {Args{}, Args{"--vocab", "ratio:0.5"}, Args{"--vocab", List() + ":top=300"},
        Args{"--vocab", List(), "--dynamic-rows", "512"}}) {
    const Outcome outcome = RunCompare(sweep + vocab);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("--sweep"));
  }
}

TEST(CompareTest, TableHasOneLinePerConfiguration) {
  const Args one = {"--prompt", "The old man", "--max-new-tokens", "8"};
  const Outcome full = RunCompare(DemoPair() + one + Args{"--vocab", "full"});
  ASSERT_TRUE(full.status.ok()) << full.status;
  EXPECT_EQ(Lines(full.out).size(), 5u) << full.out;  // title, header, rule, plain, full head
  const Outcome pruned = RunCompare(DemoPair() + one + Args{"--vocab", "ratio:0.5"});
  ASSERT_TRUE(pruned.status.ok()) << pruned.status;
  EXPECT_EQ(Lines(pruned.out).size(), 6u) << pruned.out;
}

TEST(CompareTest, RequiresDraft) {
  const Outcome outcome = RunCompare(DemoTarget() + Args{"--prompt", "x"});
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("--draft"));
}

}  // namespace
}  // namespace shortlist
