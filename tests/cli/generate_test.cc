#include "cli/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

Args Prompts() {
  return {"--prompts", SourcePath("examples/prompts.jsonl"), "--max-new-tokens", "24"};
}

/// The rows of a run with --json.
std::vector<nlohmann::json> Rows(const Args& args) {
  const Outcome outcome = RunGenerate(args + Args{"--json"});
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  std::vector<nlohmann::json> rows;
  for (const std::string& line : Lines(outcome.out)) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

/// Index, text and ids of each row: what must not depend on how it was decoded.
std::vector<nlohmann::json> Outputs(const Args& args) {
  std::vector<nlohmann::json> outputs;
  for (const nlohmann::json& row : Rows(args)) {
    outputs.push_back({row["index"], row["text"], row["output_ids"]});
  }
  return outputs;
}

TEST(GenerateTest, RowsKeepInputOrderForAnyBatch) {
  for (const char* batch : {"1", "3"}) {
    SCOPED_TRACE(batch);
    const std::vector<nlohmann::json> rows = Rows(DemoPair() + Prompts() + Args{"--batch", batch});
    ASSERT_GE(rows.size(), 3u);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i]["index"], i);
      const nlohmann::json& meta = rows[i]["meta_info"];
      EXPECT_EQ(meta["completion_tokens"], rows[i]["output_ids"].size());
      EXPECT_GT(meta["prompt_tokens"], 0);
      EXPECT_GE(meta["spec_accept_length"], 1.0);
      EXPECT_GT(meta["tokens_per_s"], 0.0);
    }
  }
}

TEST(GenerateTest, OutputEqualsPlainDecoding) {
  const TempDir dir;
  const std::string small = dir.Join("small");
  ASSERT_TRUE(TruncateLayers(SourcePath("models/demo/target"), small, /*num_layers=*/2).ok());
  const std::string list = SourcePath("vocab_lists/demo.vocab.json");
  const std::vector<Args> ways = {
      DemoPair(),
      DemoPair() + Args{"--vocab", "ratio:0.25", "--num-draft-tokens", "1"},
      DemoPair() + Args{"--vocab", list + ":top=2048", "--batch", "3"},
      DemoPair() +
          Args{"--vocab", list + ":coverage=0.8", "--dynamic-rows", "64", "--threads", "1"},
      DemoPair() + Args{"--vocab", list + ":auto=256..4096:successors=64", "--dynamic-rows", "64",
                        "--dynamic-capacity", "16", "--continuation-rows", "8", "--coverage-floor",
                        "0.95"},
      DemoTarget() + Args{"--draft", small},
      DemoTarget() + Args{"--draft", small, "--vocab", list + ":ratio=0.05", "--dynamic-rows", "32",
                          "--num-draft-tokens", "6", "--batch", "8"},
  };
  for (const Args& sampling :
       {Args{}, Args{"--temperature", "0.8", "--top-p", "0.95", "--seed", "11"}}) {
    const std::vector<nlohmann::json> plain = Outputs(DemoTarget() + Prompts() + sampling);
    ASSERT_GE(plain.size(), 3u);
    for (size_t i = 0; i < ways.size(); ++i) {
      SCOPED_TRACE(testing::Message()
                   << "way " << i << (sampling.empty() ? ", greedy" : ", sampled"));
      EXPECT_EQ(Outputs(ways[i] + Prompts() + sampling), plain);
    }
  }
}

TEST(GenerateTest, DefaultsToModelSampling) {
  const TempDir dir;
  const std::string model = dir.Join("m");
  std::filesystem::copy(SourcePath("models/demo/target"), model);
  dir.Write("m/generation_config.json",
            R"({"do_sample": true, "temperature": 0.9, "top_k": 5, "top_p": 0.8})");
  const Args own = Args{"--model", model} + Prompts();
  const Args demo = DemoTarget() + Prompts();
  EXPECT_EQ(Outputs(own),
            Outputs(demo + Args{"--temperature", "0.9", "--top-k", "5", "--top-p", "0.8"}));
  // A flag that is given wins, each for itself.
  EXPECT_EQ(Outputs(own + Args{"--temperature", "0"}), Outputs(demo));
  EXPECT_EQ(Outputs(own + Args{"--top-p", "1"}),
            Outputs(demo + Args{"--temperature", "0.9", "--top-k", "5"}));
}

TEST(GenerateTest, DraftGenerationConfigIsIgnored) {
  const TempDir dir;
  const std::string draft = dir.Join("draft");
  std::filesystem::copy(SourcePath("models/demo/draft"), draft);
  dir.Write("draft/generation_config.json", R"({"num_beams": 4, "max_new_tokens": 1})");
  const Args prompt = {"--prompt", "The"};
  EXPECT_EQ(Outputs(DemoTarget() + Args{"--draft", draft} + prompt),
            Outputs(DemoTarget() + prompt));
}

TEST(GenerateTest, DefaultsToModelLength) {
  const TempDir dir;
  const std::string model = dir.Join("m");
  std::filesystem::copy(SourcePath("models/demo/target"), model);
  dir.Write("m/generation_config.json", R"({"max_new_tokens": 5})");
  const Args own = {"--model", model, "--prompt", "The"};
  const Args demo = DemoTarget() + Args{"--prompt", "The"};
  EXPECT_EQ(Outputs(own), Outputs(demo + Args{"--max-new-tokens", "5"}));
  EXPECT_EQ(Outputs(own + Args{"--max-new-tokens", "7"}),
            Outputs(demo + Args{"--max-new-tokens", "7"}));
}

/// A tokenizer of the words t0 to t94, and with a [PAD] as id 96, which the model lacks.
std::string TokenizerWithPad() {
  nlohmann::json vocab = {{"[UNK]", 95}};
  for (int id = 0; id < 95; ++id) vocab[absl::StrCat("t", id)] = id;
  return nlohmann::json{
      {"added_tokens",
       {{{"id", 96},
         {"content", "[PAD]"},
         {"special", false},
         {"normalized", true},
         {"single_word", false},
         {"lstrip", false},
         {"rstrip", false}}}},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"model", {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "[UNK]"}}}}
      .dump();
}

TEST(GenerateTest, TokenizerMayHaveMoreIdsThanModel) {
  const TempDir dir;
  const std::string model = dir.Join("m");
  ASSERT_TRUE(WriteTinyLlama(model, {.vocab_size = 96}, /*seed=*/1).ok());
  ASSERT_TRUE(WriteTinyLlama(dir.Join("draft"), {.vocab_size = 96, .num_layers = 1}, 2).ok());
  for (const char* name : {"m", "draft"}) {
    dir.Write(absl::StrCat(name, "/tokenizer.json"), TokenizerWithPad());
  }
  const Args target = {"--model", model, "--max-new-tokens", "16", "--temperature", "2"};
  const Args prompt = {"--prompt", "t5 t6"};
  const auto plain = Outputs(target + prompt);
  EXPECT_EQ(Outputs(target + prompt + Args{"--draft", dir.Join("draft")}), plain);
  const absl::Status refused = RunGenerate(target + Args{"--prompt", "t5 [PAD]"}).status;
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              testing::HasSubstr("token id 96 \" [PAD]\" at position 1 not in [0, 96)"));
}

TEST(GenerateTest, TextMatchesRows) {
  const Args one = {"--prompt", "# `vector` class", "--max-new-tokens", "24"};
  const std::vector<nlohmann::json> rows = Rows(DemoPair() + one);
  ASSERT_EQ(rows.size(), 1u);
  const Outcome text = RunGenerate(DemoPair() + one);
  ASSERT_TRUE(text.status.ok()) << text.status;
  EXPECT_EQ(text.out, rows[0]["text"].get<std::string>() + "\n");
}

TEST(GenerateTest, ControlTokensInPromptAreTokensByDefault) {
  const auto num_prompt_tokens = [](const Args& args) {
    const std::vector<nlohmann::json> rows =
        Rows(DemoTarget() + Args{"--max-new-tokens", "1"} + args);
    return rows.at(0)["meta_info"]["prompt_tokens"].get<int>();
  };
  const int plain = num_prompt_tokens({"--prompt", "Hello there"});
  EXPECT_EQ(num_prompt_tokens({"--prompt", "<s> Hello there"}), plain);
  EXPECT_EQ(num_prompt_tokens({"--prompt", "Hello there</s>"}), plain + 1);
  EXPECT_GT(num_prompt_tokens({"--prompt", "Hello there</s>", "--parse-special", "off"}),
            plain + 1);
}

TEST(GenerateTest, StopsWhenContextIsFull) {
  const std::vector<nlohmann::json> rows =
      Rows(DemoPair() + Args{"--prompt", "The", "--max-new-tokens", "5000"});
  ASSERT_EQ(rows.size(), 1u);
  const nlohmann::json& meta = rows[0]["meta_info"];
  const int64_t total =
      meta["prompt_tokens"].get<int64_t>() + meta["completion_tokens"].get<int64_t>();
  EXPECT_LE(total, 1024);
  if (meta["finish_reason"] == "length") {
    EXPECT_EQ(total, 1024);
  }
}

TEST(GenerateTest, RejectionSamplingGivesCompleteRows) {
  const std::vector<nlohmann::json> rows =
      Rows(DemoPair() + Prompts() +
           Args{"--temperature", "0.8", "--verify", "rejection", "--vocab", "ratio:0.25"});
  for (const nlohmann::json& row : rows) EXPECT_FALSE(row["output_ids"].empty());
}

TEST(GenerateTest, PrunedRowsAreReported) {
  const std::vector<nlohmann::json> rows =
      Rows(DemoPair() + Prompts() +
           Args{"--vocab", SourcePath("vocab_lists/demo.vocab.json") + ":top=512", "--dynamic-rows",
                "16"});
  for (const nlohmann::json& row : rows) {
    EXPECT_GE(row["meta_info"]["active_rows"], 512);
    EXPECT_LE(row["meta_info"]["active_rows"], 528);
    EXPECT_LE(row["meta_info"]["coverage"], 1.0);
  }
}

}  // namespace
}  // namespace shortlist
