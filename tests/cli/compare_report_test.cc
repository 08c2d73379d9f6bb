#include "cli/compare_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PromptResult Result(double seconds, int64_t num_steps, int64_t num_repeated, bool identical) {
  PromptResult result;
  result.step_seconds = seconds;
  result.stats.num_verify_steps = num_steps;
  result.stats.num_step_tokens = 100;
  result.stats.num_drafted = 2 * num_steps;
  result.stats.num_copied = num_steps / 2;
  result.stats.num_accepted = 100 - num_steps;
  result.stats.num_covered = 90;
  result.engine.num_steps = num_steps;
  result.engine.num_draft_passes = 2 * num_steps;
  result.engine.draft_ms = 3.0 * num_steps;
  result.engine.verify_ms = 4.0 * num_steps;
  result.repetition = {.num_ngrams = 100, .num_repeated = num_repeated};
  result.identical = identical;
  return result;
}

/// Three prompts: the second one loops (30 of 100 6-grams), the first and the last do not.
Comparison ThreePrompts() {
  Comparison comparison;
  comparison.sources = {"a", "b", "a"};
  comparison.greedy = true;
  comparison.comparable = true;
  comparison.contenders = {{.name = "plain", .prompts = {}},
                           {.name = "full", .base_rows = 1000, .prompts = {}},
                           {.name = "pruned", .base_rows = 90, .dynamic_rows = 10, .prompts = {}}};
  const int64_t num_repeated[] = {29, 30, 0};
  for (int i = 0; i < 3; ++i) {
    comparison.contenders[0].prompts.push_back(Result(2.0, 100, num_repeated[i], true));
    comparison.contenders[1].prompts.push_back(Result(1.0, 50, num_repeated[i], true));
    // Fast where the text loops.
    comparison.contenders[2].prompts.push_back(
        Result(i == 1 ? 0.1 : 0.5, i == 1 ? 20 : 40, num_repeated[i], true));
  }
  return comparison;
}

nlohmann::json Row(const Comparison& comparison, const std::string& group,
                   const nlohmann::json& source, const std::string& decoding) {
  std::ostringstream out;
  WriteJson(comparison, out);
  const nlohmann::json report = nlohmann::json::parse(out.str());
  for (const nlohmann::json& row : report["rows"]) {
    if (row["group"] == group && row["source"] == source && row["decoding"] == decoding) return row;
  }
  return nullptr;
}

TEST(CompareReportTest, RowsSumTheirPrompts) {
  const nlohmann::json all = Row(ThreePrompts(), "all", nullptr, "pruned");
  EXPECT_EQ(all["num_prompts"], 3);
  EXPECT_EQ(all["num_tokens"], 300);
  EXPECT_EQ(all["base_rows"], 90);
  EXPECT_EQ(all["dynamic_rows"], 10);
  EXPECT_DOUBLE_EQ(all["tokens_per_s"], 300 / 1.1);
  EXPECT_DOUBLE_EQ(all["speed_up"], 6.0 / 1.1);
  EXPECT_DOUBLE_EQ(all["speed_up_over_full_head"], 3.0 / 1.1);
  EXPECT_DOUBLE_EQ(all["draft_length"], 2.0);
  EXPECT_DOUBLE_EQ(all["copied_length"], 0.5);
  EXPECT_DOUBLE_EQ(all["accept_length"], 3.0);
  EXPECT_DOUBLE_EQ(all["accept_rate"], 1.0);
  EXPECT_DOUBLE_EQ(all["coverage"], 0.9);
  EXPECT_DOUBLE_EQ(all["ms_per_draft_step"], 1.5);
  EXPECT_DOUBLE_EQ(all["ms_per_verify"], 4.0);
  EXPECT_NEAR(all["repeated_6gram_share"], 59 / 300.0, 1e-12);
}

TEST(CompareReportTest, LoopingPromptsAreExcludedFromOtherGroup) {
  const nlohmann::json few = Row(ThreePrompts(), "few_repeats", nullptr, "pruned");
  EXPECT_EQ(few["num_prompts"], 2);
  EXPECT_DOUBLE_EQ(few["speed_up"], 4.0);
  EXPECT_DOUBLE_EQ(few["accept_length"], 2.5);
  EXPECT_EQ(Row(ThreePrompts(), "few_repeats", "a", "plain")["num_prompts"], 2);
  EXPECT_EQ(Row(ThreePrompts(), "few_repeats", "b", "plain"), nullptr);  // no prompt, no row
  Comparison sampled = ThreePrompts();
  sampled.greedy = false;
  EXPECT_EQ(Row(sampled, "few_repeats", nullptr, "plain"), nullptr);
}

TEST(CompareReportTest, DifferingOutputShowsInEveryRowThatCountsIt) {
  Comparison comparison = ThreePrompts();
  EXPECT_TRUE(AllIdentical(comparison));
  comparison.contenders[2].prompts[1].identical = false;
  EXPECT_FALSE(AllIdentical(comparison));
  EXPECT_EQ(Row(comparison, "all", nullptr, "pruned")["identical"], false);
  EXPECT_EQ(Row(comparison, "few_repeats", nullptr, "pruned")["identical"], true);
  comparison.comparable = false;
  EXPECT_EQ(Row(comparison, "all", nullptr, "pruned")["identical"], nullptr);
}

TEST(CompareReportTest, SecondTableOnlyIfItDiffers) {
  std::ostringstream both;
  WriteTables(ThreePrompts(), both);
  EXPECT_THAT(both.str(), HasSubstr("2 of them, whose plain output repeats less than 30%"));
  for (int64_t num_repeated : {0, 100}) {
    Comparison comparison = ThreePrompts();
    for (PromptResult& result : comparison.contenders[0].prompts) {
      result.repetition.num_repeated = num_repeated;
    }
    std::ostringstream out;
    WriteTables(comparison, out);
    EXPECT_THAT(out.str(), Not(HasSubstr("of them")));
  }
}

}  // namespace
}  // namespace shortlist
