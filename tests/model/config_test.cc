#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"
#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json GoodConfig() {
  return json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 100,
    "hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0, "hidden_act": "silu", "tie_word_embeddings": true,
    "attention_bias": false, "mlp_bias": false, "pretraining_tp": 1, "bos_token_id": 1,
    "eos_token_id": 2, "torch_dtype": "bfloat16", "use_cache": true})");
}

class ConfigTest : public testing::Test {
 protected:
  absl::StatusOr<ModelConfig> Read(const std::string& text) {
    dir_.Write("config.json", text);
    return ReadModelConfig(dir_.path());
  }
  absl::StatusOr<ModelConfig> ReadWith(const char* patch) {
    json config = GoodConfig();
    config.update(json::parse(patch));
    return Read(config.dump());
  }
  absl::StatusOr<ModelConfig> ReadWithout(const char* field) {
    json config = GoodConfig();
    config.erase(field);
    return Read(config.dump());
  }
  TempDir dir_;
};

TEST_F(ConfigTest, ReadsEveryField) {
  const auto config = Read(GoodConfig().dump());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, ModelConfig::Architecture::kLlama);
  EXPECT_EQ(config->vocab_size, 100);
  EXPECT_EQ(config->hidden, 32);
  EXPECT_EQ(config->intermediate, 56);
  EXPECT_EQ(config->num_layers, 2);
  EXPECT_EQ(config->num_heads, 4);
  EXPECT_EQ(config->num_kv_heads, 2);
  EXPECT_EQ(config->head_dim, 8);
  EXPECT_EQ(config->context_len, 64);
  EXPECT_EQ(config->rms_norm_eps, 1e-5);
  EXPECT_EQ(config->rope_theta, 500000.0);
  EXPECT_EQ(config->rope_scaling.type, RopeScaling::Type::kDefault);
  EXPECT_TRUE(config->tie_word_embeddings);
  EXPECT_THAT(config->eos_token_ids, ElementsAre(2));
  EXPECT_EQ(config->checkpoint_dtype, DType::kBf16);
}

TEST_F(ConfigTest, AbsentAndNullFieldsTakeTheirDefaults) {
  EXPECT_EQ(ReadWithout("num_key_value_heads")->num_kv_heads, 4);
  EXPECT_EQ(ReadWith(R"({"num_key_value_heads": null, "head_dim": null})")->num_kv_heads, 4);
  EXPECT_EQ(ReadWithout("rope_theta")->rope_theta, 10000.0);
  EXPECT_EQ(ReadWithout("rms_norm_eps")->rms_norm_eps, 1e-6);
  EXPECT_FALSE(ReadWithout("tie_word_embeddings")->tie_word_embeddings);
  EXPECT_THAT(ReadWithout("eos_token_id")->eos_token_ids, IsEmpty());
  EXPECT_THAT(ReadWith(R"({"eos_token_id": null})")->eos_token_ids, IsEmpty());
  EXPECT_TRUE(
      ReadWith(R"({"quantization_config": null, "sliding_window": null, "rope_scaling": null})")
          .ok());
  EXPECT_TRUE(ReadWith(R"({"layer_types": ["full_attention", "full_attention"]})").ok());
  EXPECT_EQ(ReadWithout("torch_dtype")->checkpoint_dtype, DType::kF32);
  EXPECT_EQ(ReadWith(R"({"dtype": "float16"})")->checkpoint_dtype, DType::kF16);
  EXPECT_EQ(ReadWith(R"({"head_dim": 16})")->head_dim, 16);
}

TEST_F(ConfigTest, EosIsAnIdOrAListAndGenerationConfigWins) {
  EXPECT_THAT(ReadWith(R"({"eos_token_id": [2, 7, 2]})")->eos_token_ids, ElementsAre(2, 7));
  dir_.Write("generation_config.json", R"({"eos_token_id": [9, 3]})");
  EXPECT_THAT(Read(GoodConfig().dump())->eos_token_ids, ElementsAre(9, 3));
  dir_.Write("generation_config.json", R"({"temperature": 0.6})");
  EXPECT_THAT(Read(GoodConfig().dump())->eos_token_ids, ElementsAre(2));
  dir_.Write("generation_config.json", R"({"eos_token_id": 100})");
  EXPECT_THAT(Read(GoodConfig().dump()).status().message(),
              AllOf(HasSubstr("generation_config.json"), HasSubstr("eos_token_id = 100"),
                    HasSubstr("[0, 99]")));
}

TEST_F(ConfigTest, ReadsRopeScalingInItsOldAndNewForm) {
  const auto linear = ReadWith(R"({"rope_scaling": {"type": "linear", "factor": 4.0}})");
  ASSERT_TRUE(linear.ok()) << linear.status();
  EXPECT_EQ(linear->rope_scaling.type, RopeScaling::Type::kLinear);
  EXPECT_EQ(linear->rope_scaling.factor, 4.0);
  EXPECT_EQ(linear->rope_theta, 500000.0);

  json config = GoodConfig();
  config.erase("rope_theta");
  config["rope_parameters"] = json::parse(R"({"rope_type": "llama3", "rope_theta": 1e6, "factor": 8,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})");
  const auto llama3 = Read(config.dump());
  ASSERT_TRUE(llama3.ok()) << llama3.status();
  EXPECT_EQ(llama3->rope_scaling.type, RopeScaling::Type::kLlama3);
  EXPECT_EQ(llama3->rope_scaling.factor, 8.0);
  EXPECT_EQ(llama3->rope_scaling.high_freq_factor, 4.0);
  EXPECT_EQ(llama3->rope_scaling.original_max_position_embeddings, 8192);
  EXPECT_EQ(llama3->rope_theta, 1e6);
}

TEST_F(ConfigTest, EagleHasAnFcBiasUnlessToldOtherwise) {
  const auto eagle = ReadWith(R"({"architectures": ["LlamaForCausalLMEagle"], "bias": false})");
  ASSERT_TRUE(eagle.ok()) << eagle.status();
  EXPECT_EQ(eagle->architecture, ModelConfig::Architecture::kLlamaEagle);
  EXPECT_FALSE(eagle->fc_bias);
  EXPECT_TRUE(ReadWith(R"({"architectures": ["LlamaForCausalLMEagle"]})")->fc_bias);
}

TEST_F(ConfigTest, UnsupportedFieldsAreNamedWithTheirValue) {
  struct Case {
    const char* patch;
    const char* message;
  };
  for (const auto& [patch, message] : {
           Case{R"({"architectures": ["MistralForCausalLM"]})",
                "architecture = \"MistralForCausalLM\""},
           Case{R"({"hidden_act": "gelu"})", "hidden_act = \"gelu\""},
           Case{R"({"attention_bias": true})", "attention_bias = true"},
           Case{R"({"mlp_bias": true})", "mlp_bias = true"},
           Case{R"({"pretraining_tp": 2})", "pretraining_tp = 2"},
           Case{R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor = 0.5"},
           Case{R"({"quantization_config": {"bits": 4}})", "quantization_config = {\"bits\":4}"},
           Case{R"({"sliding_window": 4096})", "sliding_window = 4096"},
           Case{R"({"attention_multiplier": 0.1})", "attention_multiplier = 0.1"},
           Case{R"({"logits_scaling": 8.0})", "logits_scaling = 8.0"},
           Case{R"({"logit_scale": 0.25})", "logit_scale = 0.25"},
           Case{R"({"final_logit_softcapping": 30.0})", "final_logit_softcapping = 30.0"},
           Case{R"({"layer_types": ["sliding_attention"]})", "layer_types"},
           Case{R"({"torch_dtype": "float64"})", "torch_dtype = \"float64\""},
           Case{R"({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}})",
                "rope_type = \"yarn\""},
           Case{R"({"rope_scaling": {"type": "dynamic", "factor": 2.0}})",
                "rope_type = \"dynamic\""},
           Case{R"({"rope_scaling": {"type": "linear", "factor": 2.0, "mscale": 1.1}})",
                "\"mscale\" = 1.1"},
           Case{R"({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}})",
                "partial_rotary_factor = 0.25"},
       }) {
    SCOPED_TRACE(patch);
    const absl::Status status = ReadWith(patch).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST_F(ConfigTest, BadValuesAreNamedWithTheirBound) {
  struct Case {
    const char* patch;
    const char* message;
  };
  for (const auto& [patch, message] : {
           Case{R"({"hidden_size": 0})", "hidden_size = 0 not in [1, 1048576]"},
           Case{R"({"hidden_size": -32})", "hidden_size = -32 not in"},
           Case{R"({"hidden_size": 18446744073709551615})",
                "hidden_size = 18446744073709551615 not in"},
           Case{R"({"hidden_size": 32.5})", "hidden_size = 32.5 is no integer"},
           Case{R"({"hidden_size": "32"})", "hidden_size = \"32\" is no integer"},
           Case{R"({"hidden_size": [32]})", "hidden_size = [32] is no integer"},
           Case{R"({"hidden_size": null})", "hidden_size is missing"},
           Case{R"({"hidden_size": 33})",
                "hidden_size = 33 is no multiple of num_attention_heads = 4"},
           Case{R"({"hidden_size": 36})", "head_dim = 9 is not even"},
           Case{R"({"head_dim": 7})", "head_dim = 7 is not even"},
           Case{R"({"num_key_value_heads": 3})", "no multiple of num_key_value_heads = 3"},
           Case{R"({"num_key_value_heads": 8})", "num_key_value_heads = 8 not in [1, 4]"},
           Case{R"({"num_hidden_layers": 1025})", "num_hidden_layers = 1025 not in [1, 1024]"},
           Case{R"({"vocab_size": 16777217})", "vocab_size = 16777217 not in [1, 16777216]"},
           Case{R"({"max_position_embeddings": 16777217})",
                "max_position_embeddings = 16777217 not in"},
           Case{R"({"rms_norm_eps": 0})", "rms_norm_eps = 0 not in (0, 1]"},
           Case{R"({"rms_norm_eps": -1e-5})", "rms_norm_eps = -1e-05 not in"},
           Case{R"({"rms_norm_eps": true})", "rms_norm_eps = true is no number"},
           Case{R"({"rope_theta": 0})", "rope_theta = 0 not in"},
           Case{R"({"tie_word_embeddings": 1})",
                "tie_word_embeddings = 1 is neither true nor false"},
           Case{R"({"eos_token_id": 100})", "eos_token_id = 100 not in [0, 99]"},
           Case{R"({"eos_token_id": [2, -1]})", "eos_token_id = -1 not in [0, 99]"},
           Case{R"({"eos_token_id": "2"})", "eos_token_id = \"2\" is no integer"},
           Case{R"({"architectures": null})", "architectures is missing"},
           Case{R"({"architectures": "LlamaForCausalLM"})", "is no list of one name"},
           Case{R"({"architectures": ["LlamaForCausalLM", "X"]})", "is no list of one name"},
           Case{R"({"rope_scaling": "linear"})", "rope_scaling = \"linear\" is no object"},
           Case{R"({"rope_scaling": {"type": "linear"}})", "rope_scaling: factor is missing"},
           Case{R"({"rope_scaling": {"type": "linear", "factor": 0}})", "factor = 0 not in"},
           Case{R"({"rope_scaling": {"type": "linear", "rope_type": "llama3"}})",
                "contradicts type"},
           Case{R"({"rope_scaling": {"type": "linear", "factor": 2},
                    "rope_parameters": {"type": "linear", "factor": 3}})",
                "contradicts rope_parameters"},
           Case{R"({"rope_parameters": {"rope_type": "default", "rope_theta": 1.0}})",
                "contradicts the model's"},
           Case{R"({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
                    "high_freq_factor": 4, "original_max_position_embeddings": 8192}})",
                "high_freq_factor = 4 not in (4,"},
       }) {
    SCOPED_TRACE(patch);
    const absl::Status status = ReadWith(patch).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(message), HasSubstr("config.json")));
  }
}

TEST_F(ConfigTest, BrokenFilesAreRefused) {
  EXPECT_EQ(ReadModelConfig(dir_.path()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadModelConfig(dir_.Join("nowhere")).status().code(), absl::StatusCode::kNotFound);
  for (const std::string text : {"", "{", "[1]", "null", "{\"vocab_size\": NaN}", "\xff\xfe",
                                 "{\"vocab_size\": 1e999}", "{\"a\": 1, \"a\": 2}"}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(Read(text).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(std::string(Read(std::string(100'000, '[')).status().message()),
              HasSubstr("nested deeper"));
  json truncated = GoodConfig();
  const std::string text = truncated.dump();
  for (size_t length = 0; length < text.size(); length += 7)
    EXPECT_FALSE(Read(text.substr(0, length)).ok());
}

}  // namespace
}  // namespace shortlist
