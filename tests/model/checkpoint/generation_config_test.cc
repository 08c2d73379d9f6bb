#include "model/checkpoint/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class GenerationConfigTest : public testing::Test {
 protected:
  absl::StatusOr<GenerationConfig> Read(const std::string& text) {
    dir_.Write("generation_config.json", text);
    return ReadGenerationConfig(ModelSource::OfDirectory(dir_.path()), /*vocab_size=*/100);
  }
  TempDir dir_;
};

TEST_F(GenerationConfigTest, WithoutFileNothingIsSet) {
  const auto config = ReadGenerationConfig(ModelSource::OfDirectory(dir_.path()), 100);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->eos_token_ids, std::nullopt);
  EXPECT_FALSE(config->sampling.do_sample);
  EXPECT_EQ(config->sampling.max_new_tokens, std::nullopt);
}

TEST_F(GenerationConfigTest, ReadsEndOfText) {
  EXPECT_THAT(*Read(R"({"eos_token_id": [9, 3]})")->eos_token_ids, ElementsAre(9, 3));
  EXPECT_EQ(Read(R"({"eos_token_id": null})")->eos_token_ids, std::nullopt);
  EXPECT_THAT(std::string(Read(R"({"eos_token_id": 100})").status().message()),
              AllOf(HasSubstr("generation_config.json"), HasSubstr("eos_token_id = 100"),
                    HasSubstr("[0, 99]")));
}

TEST_F(GenerationConfigTest, ReadsSampling) {
  const SamplingDefaults all = Read(R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9,
      "top_k": 20, "min_p": 0, "repetition_penalty": 1.05})")
                                   ->sampling;
  EXPECT_TRUE(all.do_sample);
  SamplingParams params{.min_p = 0.5};
  all.ApplyTo(params);
  EXPECT_EQ(params.temperature, 0.6);
  EXPECT_EQ(params.top_p, 0.9);
  EXPECT_EQ(params.top_k, 20);
  EXPECT_EQ(params.min_p, 0.0);
  EXPECT_EQ(params.repetition_penalty, 1.05);
  const SamplingValues none{};
  EXPECT_EQ(Read(R"({"do_sample": true})")->sampling.values, none);
  // Greedy unless it says otherwise; filters of an unused temperature do not count.
  const SamplingDefaults greedy = Read(R"({"temperature": 0.6, "top_p": 0.9})")->sampling;
  EXPECT_FALSE(greedy.do_sample);
  EXPECT_EQ(greedy.values, none);
  for (const auto& [text, message] :
       {std::pair(R"({"do_sample": true, "temperature": -1})", "temperature = -1 not in (0, 100]"),
        std::pair(R"({"do_sample": true, "top_p": 1.5})", "top_p = 1.5 not in (0, 1]"),
        std::pair(R"({"do_sample": true, "top_k": -1})", "top_k = -1 not in [0,"),
        std::pair(R"({"do_sample": true, "min_p": -0.1})", "min_p = -0.1 not in"),
        std::pair(R"({"do_sample": 1})", "do_sample = 1 is neither"),
        std::pair(R"({"repetition_penalty": 0})", "repetition_penalty = 0 not in (0, 100]"),
        std::pair("[]", "not a JSON object")}) {
    EXPECT_THAT(std::string(Read(text).status().message()),
                AllOf(HasSubstr("generation_config.json"), HasSubstr(message)));
  }
}

TEST_F(GenerationConfigTest, UnsupportedFieldsAreRejectedByName) {
  for (const char* field : {
           R"("no_repeat_ngram_size": 3)",
           R"("suppress_tokens": [1, 2])",
           R"("begin_suppress_tokens": [5])",
           R"("bad_words_ids": [[3]])",
           R"("force_words_ids": [[3]])",
           R"("sequence_bias": [[[3], -1.5]])",
           R"("stop_strings": ["x"])",
           R"("stop_strings": "x")",
           R"("forced_bos_token_id": 0)",
           R"("forced_eos_token_id": [2])",
           R"("min_length": 1)",
           R"("min_new_tokens": 4)",
           R"("max_time": 1.0)",
           R"("num_beams": 4)",
           R"("num_return_sequences": 2)",
           R"("penalty_alpha": 0.6)",
           R"("dola_layers": "low")",
           R"("exponential_decay_length_penalty": [1, 1.1])",
           R"("guidance_scale": 1.5)",
           R"("token_healing": true)",
           R"("do_sample": true, "typical_p": 0.9)",
           R"("do_sample": true, "epsilon_cutoff": 3e-4)",
       }) {
    SCOPED_TRACE(field);
    const absl::Status status = Read(absl::StrCat("{", field, "}")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("generation_config.json: "), HasSubstr("is not supported; only "),
                      HasSubstr("remove the field")));
  }
  EXPECT_THAT(std::string(Read(R"({"num_beams": 4})").status().message()),
              HasSubstr("num_beams = 4 is not supported; only 1 is"));
  const auto neutral = Read(R"({"no_repeat_ngram_size": 0, "suppress_tokens": null,
      "begin_suppress_tokens": [], "sequence_bias": {}, "num_beams": 1, "num_beam_groups": 1.0,
      "min_length": 0, "penalty_alpha": 0.0, "guidance_scale": null, "token_healing": false,
      "typical_p": 0.9, "max_length": 4096, "pad_token_id": 0, "transformers_version": "4.40.0"})");
  EXPECT_TRUE(neutral.ok()) << neutral.status();
}

TEST_F(GenerationConfigTest, ReadsLength) {
  EXPECT_EQ(Read("{}")->sampling.max_new_tokens, std::nullopt);
  EXPECT_EQ(Read(R"({"max_new_tokens": 2048})")->sampling.max_new_tokens, 2048);
  for (const char* text : {R"({"max_new_tokens": 0})", R"({"max_new_tokens": 4294967296})"}) {
    EXPECT_THAT(std::string(Read(text).status().message()), HasSubstr("not in [1, 2147483647]"));
  }
}

TEST_F(GenerationConfigTest, DanglingLinkIsNamed) {
  std::filesystem::create_symlink(dir_.Join("nowhere"), dir_.Join("generation_config.json"));
  const absl::Status status =
      ReadGenerationConfig(ModelSource::OfDirectory(dir_.path()), 100).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("generation_config.json: a symbolic link"));
}

}  // namespace
}  // namespace shortlist
