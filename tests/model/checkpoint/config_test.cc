#include "model/checkpoint/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
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
    "architectures": ["LlamaForCausalLM"], "vocab_size": 100,
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
    return ReadModelConfig(ModelSource::OfDirectory(dir_.path()));
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

TEST_F(ConfigTest, ModelTypeMustAgreeWithArchitecture) {
  EXPECT_TRUE(ReadWith(R"({"model_type": "llama"})").ok());
  EXPECT_TRUE(ReadWith(R"({"model_type": null})").ok());
  // EAGLE heads have types of their own.
  EXPECT_TRUE(
      ReadWith(R"({"architectures": ["LlamaForCausalLMEagle"], "model_type": "eagle"})").ok());
  for (const char* type : {R"("qwen2")", R"("Llama")", "3", R"([])"}) {
    const std::string patch = std::string(R"({"model_type": )") + type + "}";
    const absl::Status status = ReadWith(patch.c_str()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(std::string("model_type = ") + type),
                      HasSubstr("contradicts architectures = [\"LlamaForCausalLM\"], of model_type "
                                "llama")));
  }
}

TEST_F(ConfigTest, GgufOnlyDirectoryIsNamed) {
  dir_.Write("m.gguf", "GGUF");
  const absl::Status status = ReadModelConfig(ModelSource::OfDirectory(dir_.path())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a GGUF file; give its path, "));
  EXPECT_TRUE(Read(GoodConfig().dump()).ok());
}

TEST_F(ConfigTest, ReadsEveryField) {
  const auto config = Read(GoodConfig().dump());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "LlamaForCausalLM");
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

TEST_F(ConfigTest, AbsentAndNullFieldsTakeDefaults) {
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

TEST_F(ConfigTest, EosIsIdOrList) {
  EXPECT_THAT(ReadWith(R"({"eos_token_id": [2, 7, 2]})")->eos_token_ids, ElementsAre(2, 7));
  EXPECT_THAT(std::string(ReadWith(R"({"eos_token_id": 100})").status().message()),
              AllOf(HasSubstr("eos_token_id = 100"), HasSubstr("[0, 99]")));
}

TEST_F(ConfigTest, GenerationFieldsAreIgnored) {
  dir_.Write("generation_config.json", R"({"num_beams": 4})");  // a draft may have one
  EXPECT_TRUE(Read(GoodConfig().dump()).ok());
}

TEST_F(ConfigTest, ReadsWeightPacking) {
  EXPECT_EQ(Read(GoodConfig().dump())->packing.kind, WeightPacking::Kind::kNone);
  const auto gptq = ReadWith(R"({"quantization_config": {"quant_method": "gptq", "bits": 4,
      "group_size": 128, "desc_act": true, "sym": true, "checkpoint_format": "gptq"}})");
  ASSERT_TRUE(gptq.ok()) << gptq.status();
  EXPECT_EQ(gptq->packing.kind, WeightPacking::Kind::kGptq);
  EXPECT_EQ(gptq->packing.group_size, 128);
  EXPECT_TRUE(gptq->packing.act_order);
  EXPECT_EQ(gptq->packing.zero_offset, 1);
  const auto second = ReadWith(R"({"quantization_config": {"quant_method": "gptq", "bits": 4,
      "group_size": -1, "checkpoint_format": "gptq_v2"}})");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->packing.group_size, 0);
  EXPECT_EQ(second->packing.zero_offset, 0);
  const auto awq = ReadWith(R"({"quantization_config": {"quant_method": "awq", "w_bit": 4,
      "q_group_size": 64, "zero_point": true, "version": "GEMM"}})");
  ASSERT_TRUE(awq.ok()) << awq.status();
  EXPECT_EQ(awq->packing.kind, WeightPacking::Kind::kAwq);
  EXPECT_EQ(awq->packing.group_size, 64);
}

TEST_F(ConfigTest, ReadsOldAndNewRopeScaling) {
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

TEST_F(ConfigTest, DynamicAndYarnScalingExtendContext) {
  const auto dynamic = ReadWith(R"({"rope_scaling": {"type": "dynamic", "factor": 2.5}})");
  ASSERT_TRUE(dynamic.ok()) << dynamic.status();
  EXPECT_EQ(dynamic->rope_scaling.type, RopeScaling::Type::kDynamic);
  EXPECT_EQ(dynamic->rope_scaling.original_max_position_embeddings, 64);
  EXPECT_EQ(dynamic->context_len, 160);

  const auto yarn = ReadWith(R"({"rope_scaling": {"type": "yarn", "factor": 4.0,
      "original_max_position_embeddings": 32}})");
  ASSERT_TRUE(yarn.ok()) << yarn.status();
  EXPECT_EQ(yarn->rope_scaling.type, RopeScaling::Type::kYarn);
  EXPECT_EQ(yarn->context_len, 128);
  EXPECT_NEAR(yarn->rope_scaling.attention_factor, 1.1386294361119891, 1e-15);
  EXPECT_EQ(yarn->rope_scaling.beta_fast, 32.0);
  EXPECT_TRUE(yarn->rope_scaling.truncate);
  // Without its own length it scales max_position_embeddings; one next to the object wins.
  EXPECT_EQ(ReadWith(R"({"rope_scaling": {"type": "yarn", "factor": 4.0}})")->context_len, 256);
  EXPECT_EQ(ReadWith(R"({"original_max_position_embeddings": 48, "rope_scaling": {"type": "yarn",
      "factor": 4.0, "original_max_position_embeddings": 32}})")
                ->context_len,
            192);
  EXPECT_EQ(ReadWith(R"({"rope_scaling": {"type": "yarn", "factor": 1e6}})")->context_len, 1 << 24);
}

TEST_F(ConfigTest, FamiliesDifferInBiasNormsAndWindows) {
  const auto mistral = ReadWith(R"({"architectures": ["MistralForCausalLM"],
      "sliding_window": 16, "head_dim": 10})");
  ASSERT_TRUE(mistral.ok()) << mistral.status();
  EXPECT_EQ(mistral->architecture, "MistralForCausalLM");
  EXPECT_THAT(mistral->windows, ElementsAre(16, 16));
  EXPECT_EQ(mistral->head_dim, 10);
  EXPECT_FALSE(mistral->qkv_bias || mistral->qk_norm);
  EXPECT_THAT(ReadWith(R"({"architectures": ["MistralForCausalLM"]})")->windows,
              ElementsAre(4096, 4096));
  EXPECT_THAT(
      ReadWith(R"({"architectures": ["MistralForCausalLM"], "sliding_window": null})")->windows,
      IsEmpty());

  const auto qwen2 = ReadWith(R"({"architectures": ["Qwen2ForCausalLM"], "sliding_window": 32,
      "use_sliding_window": false, "max_window_layers": 1})");
  ASSERT_TRUE(qwen2.ok()) << qwen2.status();
  EXPECT_TRUE(qwen2->qkv_bias);
  EXPECT_FALSE(qwen2->qk_norm);
  EXPECT_THAT(qwen2->windows, IsEmpty());
  EXPECT_THAT(ReadWith(R"({"architectures": ["Qwen2ForCausalLM"], "sliding_window": 32,
      "use_sliding_window": true, "max_window_layers": 1})")
                  ->windows,
              ElementsAre(0, 32));

  const auto qwen3 = ReadWith(R"({"architectures": ["Qwen3ForCausalLM"], "sliding_window": 32,
      "use_sliding_window": true, "layer_types": ["sliding_attention", "full_attention"]})");
  ASSERT_TRUE(qwen3.ok()) << qwen3.status();
  EXPECT_TRUE(qwen3->qk_norm);
  EXPECT_FALSE(qwen3->qkv_bias);
  EXPECT_EQ(qwen3->head_dim, 128);
  EXPECT_THAT(qwen3->windows, ElementsAre(32, 0));
}

TEST_F(ConfigTest, LlamaMayHaveBiases) {
  const auto config = ReadWith(R"({"attention_bias": true, "mlp_bias": true})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->qkv_bias && config->output_bias && config->mlp_bias);
  EXPECT_FALSE(Read(GoodConfig().dump())->qkv_bias);
  EXPECT_FALSE(Read(GoodConfig().dump())->output_bias);
}

TEST_F(ConfigTest, LongRopeLimitsContextToItsOriginalLength) {
  const auto phi = ReadWith(R"({"architectures": ["Phi3ForCausalLM"], "model_type": "phi3",
      "auto_map": {"AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"},
      "original_max_position_embeddings": 16, "partial_rotary_factor": 0.75, "sliding_window": 40,
      "rope_scaling": {"type": "longrope", "short_factor": [1, 2, 3.5], "long_factor": [1, 8, 9]}})");
  ASSERT_TRUE(phi.ok()) << phi.status();
  EXPECT_EQ(phi->context_len, 16);
  EXPECT_EQ(phi->rotary_dim, 6);
  EXPECT_THAT(phi->rope_scaling.short_factors, ElementsAre(1, 2, 3.5));
  EXPECT_NEAR(phi->rope_scaling.attention_factor, std::sqrt(1.5), 1e-12);  // 4 times as long
  EXPECT_TRUE(phi->fused_qkv);
  EXPECT_STREQ(phi->mlp.gate_up, "gate_up_proj");
  EXPECT_THAT(phi->windows, ElementsAre(40, 40));
  EXPECT_THAT(ReadWith(R"({"architectures": ["Phi3ForCausalLM"]})")->windows, IsEmpty());
}

TEST_F(ConfigTest, TextModelOfPicturesIsRead) {
  json text = GoodConfig();
  text.erase("architectures");
  text.update(json::parse(R"({"model_type": "mistral", "sliding_window": null})"));
  json config = {{"architectures", {"Mistral3ForConditionalGeneration"}},
                 {"model_type", "mistral3"},
                 {"vision_config", json::object()},
                 {"text_config", text}};
  const auto read = Read(config.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->architecture, "MistralForCausalLM");
  EXPECT_TRUE(read->has_pictures);
  EXPECT_EQ(read->hidden, 32);
  EXPECT_THAT(read->eos_token_ids, ElementsAre(2));
  config["text_config"]["num_hidden_layers"] = 0;
  EXPECT_THAT(std::string(Read(config.dump()).status().message()),
              HasSubstr("text_config: num_hidden_layers = 0 not in [1, 1024]"));
  config["text_config"]["model_type"] = "mistral4";
  EXPECT_EQ(Read(config.dump()).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(ConfigTest, GraniteHasMultipliers) {
  const auto granite = ReadWith(R"({"architectures": ["GraniteForCausalLM"],
      "embedding_multiplier": 12, "attention_multiplier": 0.0078125, "residual_multiplier": 0.22,
      "logits_scaling": 8})");
  ASSERT_TRUE(granite.ok()) << granite.status();
  EXPECT_EQ(granite->embedding_scale, 12.0);
  EXPECT_EQ(granite->attention_scale, 0.0078125);
  EXPECT_EQ(granite->residual_scale, 0.22);
  EXPECT_EQ(granite->logit_scale, 0.125);
  EXPECT_FALSE(granite->rounds_embedding_scale);
}

TEST_F(ConfigTest, Granite4MayNotHaveMambaLayersOrExperts) {
  const auto with = [&](const char* patch) {
    json config = GoodConfig();
    config.update(json::parse(R"({"architectures": ["GraniteMoeHybridForCausalLM"],
        "layer_types": ["attention", "full_attention"], "num_local_experts": 0,
        "shared_intermediate_size": 48, "position_embedding_type": "rope"})"));
    config.update(json::parse(patch));
    return Read(config.dump());
  };
  ASSERT_TRUE(with("{}").ok()) << with("{}").status();
  EXPECT_EQ(with("{}")->intermediate, 48);
  EXPECT_THAT(with("{}")->unrotated, ElementsAre(false, false));
  EXPECT_THAT(with(R"({"position_embedding_type": "nope"})")->unrotated, ElementsAre(true, true));
  for (const auto& [patch, message] : {
           std::pair{R"({"layer_types": ["mamba", "attention"]})", "layer_types = \"mamba\""},
           std::pair{R"({"layer_types": null})", "layer_types = null"},
           std::pair{R"({"num_local_experts": 62})", "num_local_experts = 62"},
           std::pair{R"({"num_local_experts": null})", "num_local_experts = null"},
           std::pair{R"({"position_embedding_type": "alibi"})", "type = \"alibi\""},
       }) {
    const absl::Status status = with(patch).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST_F(ConfigTest, SmolLm3LeavesLayersUnrotated) {
  EXPECT_THAT(ReadWith(R"({"architectures": ["SmolLM3ForCausalLM"], "pretraining_tp": 2,
      "no_rope_layers": [0, 1]})")
                  ->unrotated,
              ElementsAre(true, false));
  EXPECT_THAT(ReadWith(R"({"architectures": ["SmolLM3ForCausalLM"], "no_rope_layer_interval": 2})")
                  ->unrotated,
              ElementsAre(false, true));
}

json MoeConfig() {
  json config = GoodConfig();
  config.update(json::parse(R"({"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 8,
      "num_experts_per_tok": 2, "moe_intermediate_size": 24, "norm_topk_prob": true,
      "num_hidden_layers": 4, "sliding_window": 4096, "use_sliding_window": false,
      "max_window_layers": 4, "router_aux_loss_coef": 0.001})"));
  return config;
}

TEST_F(ConfigTest, ExpertsTakeThePlaceOfMlps) {
  const auto with = [&](const char* patch) {
    json config = MoeConfig();
    config.update(json::parse(patch));
    return Read(config.dump());
  };
  const auto moe = with("{}");
  ASSERT_TRUE(moe.ok()) << moe.status();
  EXPECT_EQ(moe->experts.num_experts, 8);
  EXPECT_EQ(moe->experts.num_used, 2);
  EXPECT_EQ(moe->experts.intermediate, 24);
  EXPECT_EQ(moe->experts.shared_intermediate, 0);
  EXPECT_TRUE(moe->experts.normalises);
  EXPECT_TRUE(moe->qk_norm);
  EXPECT_THAT(moe->experts.layers, ElementsAre(true, true, true, true));
  EXPECT_THAT(with(R"({"decoder_sparse_step": 2})")->experts.layers,
              ElementsAre(false, true, false, true));
  EXPECT_THAT(with(R"({"mlp_only_layers": [0, 3], "norm_topk_prob": null})")->experts.layers,
              ElementsAre(false, true, true, false));
  EXPECT_FALSE(with(R"({"norm_topk_prob": null})")->experts.normalises);
  for (const auto& [patch, message] : {
           std::pair{R"({"num_experts": 0})", "num_experts = 0 not in [1, 4096]"},
           std::pair{R"({"num_experts": 5000})", "num_experts = 5000 not in [1, 4096]"},
           std::pair{R"({"num_experts_per_tok": 9})", "num_experts_per_tok = 9 not in [1, 8]"},
           std::pair{R"({"num_experts_per_tok": 0})", "num_experts_per_tok = 0 not in [1, 8]"},
           std::pair{R"({"moe_intermediate_size": -1})", "moe_intermediate_size = -1 not in [1, "},
           std::pair{R"({"moe_intermediate_size": null})", "moe_intermediate_size is missing"},
           std::pair{R"({"decoder_sparse_step": 0})", "decoder_sparse_step = 0 not in [1, 1024]"},
           std::pair{R"({"mlp_only_layers": [4]})", "mlp_only_layers = [4] "},
           std::pair{R"({"mlp_only_layers": 1})", "mlp_only_layers = 1 "},
       }) {
    SCOPED_TRACE(patch);
    const absl::Status status = with(patch).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

/// As in transformers' own configurations.
TEST_F(ConfigTest, EpsilonOfNormsHasTheFamilysDefault) {
  for (const auto& [architecture, epsilon] :
       {std::pair("LlamaForCausalLM", 1e-6), std::pair("Phi3ForCausalLM", 1e-5),
        std::pair("Olmo2ForCausalLM", 1e-5), std::pair("Ernie4_5ForCausalLM", 1e-5)}) {
    json config = GoodConfig();
    config["architectures"] = {architecture};
    config.erase("model_type");
    config.erase("rms_norm_eps");
    const auto parsed = ParseModelConfig(config, "config.json");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->rms_norm_eps, epsilon) << architecture;
  }
}

TEST_F(ConfigTest, MutatedConfigsGiveErrorsOrShapesInBounds) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  json granite = GoodConfig();
  granite.update(json::parse(R"({"architectures": ["GraniteForCausalLM"], "logits_scaling": 8.0,
      "attention_multiplier": 0.1, "embedding_multiplier": 12, "residual_multiplier": 0.2})"));
  json phi = GoodConfig();
  phi.update(json::parse(R"({"architectures": ["Phi3ForCausalLM"],
      "original_max_position_embeddings": 16, "partial_rotary_factor": 0.75,
      "rope_scaling": {"type": "longrope", "short_factor": [1, 2, 3.5], "long_factor": [1, 8, 9]}})"));
  json smol = GoodConfig();
  smol.update(
      json::parse(R"({"architectures": ["SmolLM3ForCausalLM"], "no_rope_layers": [1, 0]})"));
  json hybrid = GoodConfig();
  hybrid.update(json::parse(R"({"architectures": ["Qwen3_5ForCausalLM"], "linear_num_key_heads": 2,
      "full_attention_interval": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
      "layer_types": ["linear_attention", "full_attention"], "linear_value_head_dim": 8,
      "linear_conv_kernel_dim": 4, "partial_rotary_factor": 0.5})"));
  const json values = json::parse(
      R"([null, true, -1, 0, 1, 2, 3, 0.5, 1e300, 18446744073709551615, "x", [], [1], {}])");
  int num_refused = 0;
  for (const json& whole : {MoeConfig(), granite, phi, smol, hybrid}) {
    const absl::Status status = ParseModelConfig(whole, "config.json").status();
    ASSERT_TRUE(status.ok()) << status;
    for (const auto& [name, unused] : whole.items()) {
      for (const json& value : values) {
        json mutated = whole;
        mutated[name] = value;
        const std::string text = mutated.dump();
        const auto config = ParseModelConfig(mutated, "config.json");
        num_refused += config.ok() ? 0 : 1;
        if (!config.ok()) {
          EXPECT_FALSE(absl::IsInternal(config.status())) << text;
          EXPECT_FALSE(config.status().message().empty()) << text;
          continue;
        }
        const ExpertShape& experts = config->experts;
        EXPECT_TRUE(experts.num_used <= experts.num_experts && experts.num_used >= 0) << text;
        EXPECT_TRUE(experts.layers.empty() || std::ssize(experts.layers) == config->num_layers);
        EXPECT_TRUE(config->unrotated.empty() ||
                    std::ssize(config->unrotated) == config->num_layers);
        EXPECT_TRUE(config->rotary_dim >= 2 && config->rotary_dim <= config->head_dim) << text;
        EXPECT_TRUE(config->recurrent.empty() ||
                    std::ssize(config->recurrent) == config->num_layers);
        const DeltaNetShape& delta_net = config->delta_net;
        EXPECT_TRUE(delta_net.num_key_heads == 0 ||
                    delta_net.num_value_heads % delta_net.num_key_heads == 0);
        EXPECT_TRUE(std::isfinite(config->logit_scale) && config->context_len > 0) << text;
      }
    }
    const std::string text = whole.dump();
    for (int i = 0; i < 300; ++i) {
      std::string mutated = text;
      for (int n = 0; n <= i % 3; ++n) {
        mutated[random() % text.size()] = static_cast<char>(random() % 256);
      }
      const auto object = ParseJson(mutated, "config.json");
      if (!object.ok()) continue;
      const absl::Status parsed = ParseModelConfig(*object, "config.json").status();
      EXPECT_FALSE(absl::IsInternal(parsed)) << parsed;
    }
  }
  EXPECT_GT(num_refused, 300);
}

TEST_F(ConfigTest, EagleHasFcBiasByDefault) {
  const auto eagle = ReadWith(R"({"architectures": ["LlamaForCausalLMEagle"], "bias": false})");
  ASSERT_TRUE(eagle.ok()) << eagle.status();
  EXPECT_EQ(eagle->architecture, "LlamaForCausalLMEagle");
  EXPECT_FALSE(eagle->fc_bias);
  EXPECT_TRUE(ReadWith(R"({"architectures": ["LlamaForCausalLMEagle"]})")->fc_bias);
}

TEST_F(ConfigTest, GemmaScalesEmbeddingsAndShiftsNorms) {
  const auto gemma = ReadWith(
      R"({"architectures": ["GemmaForCausalLM"], "hidden_act": "gelu", "hidden_activation": null,
          "tie_word_embeddings": null})");
  ASSERT_TRUE(gemma.ok()) << gemma.status();
  EXPECT_EQ(gemma->activation, Activation::kGeluTanh);  // whatever "gelu" says
  EXPECT_EQ(gemma->embedding_scale, std::sqrt(static_cast<double>(gemma->hidden)));
  EXPECT_EQ(gemma->norm_offset, 1.0);
  EXPECT_TRUE(gemma->tie_word_embeddings);
  EXPECT_EQ(ReadWith("{}")->activation, Activation::kSilu);
  EXPECT_EQ(ReadWith("{}")->embedding_scale, 1.0);
  for (const char* name : {"hidden_act", "hidden_activation"}) {
    nlohmann::json patch = {{"architectures", {"GemmaForCausalLM"}}, {"hidden_act", "gelu"}};
    patch[name] = "silu";
    EXPECT_THAT(std::string(ReadWith(patch.dump().c_str()).status().message()),
                HasSubstr(std::string(name) + " = \"silu\" is not supported"));
  }
}

json Gemma3Config() {
  json config = GoodConfig();
  config.erase("rope_theta");
  config.erase("hidden_act");
  config.erase("tie_word_embeddings");
  config.update(json::parse(R"({"architectures": ["Gemma3ForCausalLM"], "head_dim": 12,
      "num_hidden_layers": 8, "model_type": "gemma3_text", "sliding_window": 16,
      "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": null,
      "final_logit_softcapping": null, "use_bidirectional_attention": false})"));
  return config;
}

TEST_F(ConfigTest, Gemma3HasDefaultsOfTransformers) {
  const auto config = Read(Gemma3Config().dump());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "Gemma3ForCausalLM");
  EXPECT_THAT(config->windows, ElementsAre(16, 16, 16, 16, 16, 0, 16, 16));
  EXPECT_EQ(config->rope_theta, 1e6);
  EXPECT_EQ(config->window_rope_theta, 1e4);
  EXPECT_EQ(config->attention_scale, 1.0 / 16.0);  // of a scalar of 256
  EXPECT_EQ(config->activation, Activation::kGeluTanh);
  EXPECT_EQ(config->embedding_scale, std::sqrt(32.0));
  EXPECT_EQ(config->norm_offset, 1.0);
  EXPECT_TRUE(config->qk_norm && config->tie_word_embeddings);
  EXPECT_STREQ(config->norms.mlp_output, "post_feedforward_layernorm");
  EXPECT_FALSE(config->qkv_bias);
  // Of other families too: neither norms nor a base of their own.
  EXPECT_EQ(Read(GoodConfig().dump())->norms.mlp_output, nullptr);
  EXPECT_EQ(Read(GoodConfig().dump())->window_rope_theta, 0.0);
  EXPECT_EQ(Read(GoodConfig().dump())->attention_scale, 1.0 / std::sqrt(8.0));
  json patch = Gemma3Config();
  patch.erase("head_dim");
  EXPECT_EQ(Read(patch.dump())->head_dim, 256);
}

TEST_F(ConfigTest, Gemma3ReadsOldAndNewFields) {
  const auto read = [&](const char* patch) {
    json config = Gemma3Config();
    config.update(json::parse(patch));
    return Read(config.dump());
  };
  const auto older = read(R"({"sliding_window_pattern": 3, "rope_theta": 500.0,
      "rope_local_base_freq": 70.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
      "query_pre_attn_scalar": 16})");
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_THAT(older->windows, ElementsAre(16, 16, 0, 16, 16, 0, 16, 16));
  const auto newer = read(R"({"layer_types": ["sliding_attention", "sliding_attention",
      "full_attention", "sliding_attention", "sliding_attention", "full_attention",
      "sliding_attention", "sliding_attention"], "query_pre_attn_scalar": 16,
      "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 500.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 70.0}}})");
  ASSERT_TRUE(newer.ok()) << newer.status();
  EXPECT_EQ(newer->windows, older->windows);
  for (const ModelConfig& config : {*older, *newer}) {
    EXPECT_EQ(config.rope_theta, 500.0);
    EXPECT_EQ(config.window_rope_theta, 70.0);
    EXPECT_EQ(config.rope_scaling.type, RopeScaling::Type::kLinear);
    EXPECT_EQ(config.rope_scaling.factor, 8.0);
    EXPECT_EQ(config.attention_scale, 0.25);
    EXPECT_EQ(config.context_len, 64);
  }
  EXPECT_THAT(read(R"({"sliding_window": null, "sliding_window_pattern": 1})")->windows, IsEmpty());
}

TEST_F(ConfigTest, Gemma3RejectsWhatChangesTheResult) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"final_logit_softcapping": 30.0})", "final_logit_softcapping = 30.0"},
      {R"({"attn_logit_softcapping": 50.0})", "attn_logit_softcapping = 50.0"},
      {R"({"use_bidirectional_attention": true})", "use_bidirectional_attention = true"},
      {R"({"hidden_activation": "gelu"})", "hidden_activation = \"gelu\" is not supported"},
      {R"({"attention_bias": true})", "attention_bias = true"},
      {R"({"sliding_window": null})", "sliding_window = null"},
      {R"({"rope_scaling": {"rope_type": "dynamic", "factor": 8.0}})",
       "only \"default\", \"linear\" and"},
      {R"({"rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rope_parameters": {}})",
       "next to rope_parameters only null is"},
      {R"({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}})",
       "rope_parameters: \"rope_theta\" = 1000000.0 is not supported"},
      {R"({"rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 8.0}}})",
       "rope_type = \"linear\" is not supported"}};
  for (const auto& [patch, message] : cases) {
    SCOPED_TRACE(patch);
    json config = Gemma3Config();
    config.update(json::parse(patch));
    const absl::Status status = Read(config.dump()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
  const std::pair<const char*, const char*> invalid[] = {
      {R"({"query_pre_attn_scalar": 0})", "query_pre_attn_scalar = 0 not in (0, 1e+06]"},
      {R"({"sliding_window_pattern": 0})", "sliding_window_pattern = 0 not in [1, 1024]"},
      {R"({"rope_local_base_freq": -1})", "rope_local_base_freq = -1 not in"},
      {R"({"rope_parameters": {"full_attention": 3}})", "full_attention = 3 is not an object"},
      {R"({"rope_local_base_freq": 5.0, "rope_parameters": {"sliding_attention":
           {"rope_theta": 6.0}}})",
       "contradicts the model's rope_local_base_freq = 5"}};
  for (const auto& [patch, message] : invalid) {
    SCOPED_TRACE(patch);
    json config = Gemma3Config();
    config.update(json::parse(patch));
    const absl::Status status = Read(config.dump()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST_F(ConfigTest, UnsupportedFieldsAreNamedWithValue) {
  struct Case {
    const char* patch;
    const char* message;
  };
  for (const auto& [patch, message] : {
           Case{R"({"architectures": ["Gemma2ForCausalLM"]})",
                "architecture = \"Gemma2ForCausalLM\""},
           Case{R"({"hidden_act": "gelu"})", "hidden_act = \"gelu\""},
           Case{R"({"architectures": ["MistralForCausalLM"], "attention_bias": true})",
                "attention_bias = true"},
           Case{R"({"architectures": ["LlamaForCausalLMEagle"], "mlp_bias": true})",
                "mlp_bias = true"},
           Case{R"({"pretraining_tp": 2})", "pretraining_tp = 2"},
           Case{R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor = 0.5"},
           Case{R"({"quantization_config": {"load_in_8bit": true}})",
                "quantization_config: quant_method = null"},
           Case{R"({"quantization_config": {"quant_method": "fp8"}})",
                "quantization_config: quant_method = \"fp8\""},
           Case{R"({"quantization_config": {"quant_method": "bitsandbytes", "bits": 4}})",
                "quant_method = \"bitsandbytes\""},
           Case{R"({"quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": 1}})",
                "bits = 8"},
           Case{R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8,
                    "checkpoint_format": "marlin"}})",
                "checkpoint_format = \"marlin\""},
           Case{R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8,
                    "lm_head": true}})",
                "lm_head = true"},
           Case{R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8,
                    "dynamic": {"+:x": {"bits": 8}}}})",
                "dynamic = "},
           Case{R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 8,
                    "version": "gemv"}})",
                "version = \"gemv\""},
           Case{R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 8,
                    "zero_point": false}})",
                "zero_point = false"},
           Case{R"({"sliding_window": 4096})", "sliding_window = 4096"},
           Case{R"({"query_pre_attn_scalar": 256})", "query_pre_attn_scalar = 256"},
           Case{R"({"attention_multiplier": 0.1})", "attention_multiplier = 0.1"},
           Case{R"({"logits_scaling": 8.0})", "logits_scaling = 8.0"},
           Case{R"({"logit_scale": 0.25})", "logit_scale = 0.25"},
           Case{R"({"final_logit_softcapping": 30.0})", "final_logit_softcapping = 30.0"},
           Case{R"({"use_sliding_window": true})", "use_sliding_window = true"},
           Case{R"({"layer_types": ["full_attention", "sliding_attention"]})",
                "layer_types = \"sliding_attention\""},
           Case{R"({"torch_dtype": "float64"})", "torch_dtype = \"float64\""},
           Case{R"({"rope_scaling": {"rope_type": "proportional", "factor": 2.0}})",
                "rope_type = \"proportional\""},
           Case{R"({"rope_scaling": {"type": "linear", "factor": 2.0,
                    "llama_4_scaling_beta": 0.1}})",
                "llama_4_scaling_beta = 0.1"},
           Case{R"({"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 4,
                    "num_experts_per_tok": 2, "moe_intermediate_size": 8,
                    "use_sliding_window": true})",
                "use_sliding_window = true"},
           Case{R"({"num_experts": 4})", "num_experts = 4"},
           Case{R"({"rope_scaling": {"type": "linear", "factor": 2.0, "finetuned": true}})",
                "\"finetuned\" = true"},
           Case{R"({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}})",
                "partial_rotary_factor = 0.25"},
       }) {
    SCOPED_TRACE(patch);
    const absl::Status status = ReadWith(patch).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST_F(ConfigTest, BadValuesAreNamedWithBound) {
  struct Case {
    const char* patch;
    const char* message;
  };
  for (const auto& [patch, message] : {
           Case{R"({"hidden_size": 0})", "hidden_size = 0 not in [1, 1048576]"},
           Case{R"({"hidden_size": -32})", "hidden_size = -32 not in"},
           Case{R"({"hidden_size": 18446744073709551615})",
                "hidden_size = 18446744073709551615 not in"},
           Case{R"({"hidden_size": 32.5})", "hidden_size = 32.5 is not an integer"},
           Case{R"({"hidden_size": "32"})", "hidden_size = \"32\" is not an integer"},
           Case{R"({"hidden_size": [32]})", "hidden_size = [32] is not an integer"},
           Case{R"({"hidden_size": null})", "hidden_size is missing"},
           Case{R"({"hidden_size": 33})",
                "hidden_size = 33 is not a multiple of num_attention_heads = 4"},
           Case{R"({"hidden_size": 36})", "head_dim = 9 is not even"},
           Case{R"({"head_dim": 7})", "head_dim = 7 is not even"},
           Case{R"({"num_key_value_heads": 3})", "not a multiple of num_key_value_heads = 3"},
           Case{R"({"num_key_value_heads": 8})", "num_key_value_heads = 8 not in [1, 4]"},
           Case{R"({"num_hidden_layers": 1025})", "num_hidden_layers = 1025 not in [1, 1024]"},
           Case{R"({"vocab_size": 16777217})", "vocab_size = 16777217 not in [1, 16777216]"},
           Case{R"({"max_position_embeddings": 16777217})",
                "max_position_embeddings = 16777217 not in"},
           Case{R"({"rms_norm_eps": 0})", "rms_norm_eps = 0 not in (0, 1]"},
           Case{R"({"rms_norm_eps": -1e-5})", "rms_norm_eps = -1e-05 not in"},
           Case{R"({"rms_norm_eps": true})", "rms_norm_eps = true is not a number"},
           Case{R"({"rope_theta": 0})", "rope_theta = 0 not in"},
           Case{R"({"rope_theta": 1e-300})", "rope_theta = 1e-300 not in (1e-06, 1e+12]"},
           Case{R"({"rope_theta": 5e-324})", "rope_theta = 5e-324 not in"},
           Case{R"({"rope_theta": 1e300})", "rope_theta = 1e+300 not in"},
           Case{R"({"rope_scaling": {"rope_theta": 1e-300, "type": "default"}})",
                "rope_theta = 1e-300 not in"},
           Case{R"({"rope_scaling": {"type": "linear", "factor": 1e-300}})",
                "factor = 1e-300 not in (1e-06,"},
           Case{R"({"rope_scaling": {"type": "yarn", "factor": 2, "attention_factor": 1e-300}})",
                "attention_factor = 1e-300 not in"},
           Case{R"({"tie_word_embeddings": 1})",
                "tie_word_embeddings = 1 is neither true nor false"},
           Case{R"({"eos_token_id": 100})", "eos_token_id = 100 not in [0, 99]"},
           Case{R"({"eos_token_id": [2, -1]})", "eos_token_id = -1 not in [0, 99]"},
           Case{R"({"eos_token_id": "2"})", "eos_token_id = \"2\" is not an integer"},
           Case{R"({"architectures": null})", "architectures is missing"},
           Case{R"({"architectures": "LlamaForCausalLM"})", "is not a list of one name"},
           Case{R"({"architectures": ["LlamaForCausalLM", "X"]})", "is not a list of one name"},
           Case{R"({"rope_scaling": "linear"})", "rope_scaling = \"linear\" is not an object"},
           Case{R"({"rope_scaling": {"type": "linear"}})", "rope_scaling: factor is missing"},
           Case{R"({"rope_scaling": {"type": "linear", "factor": 0}})", "factor = 0 not in"},
           Case{R"({"rope_scaling": {"type": "linear", "rope_type": "llama3"}})",
                "contradicts type"},
           Case{R"({"rope_scaling": {"type": "linear", "factor": 2},
                    "rope_parameters": {"type": "linear", "factor": 3}})",
                "contradicts rope_parameters"},
           Case{R"({"rope_parameters": {"rope_type": "default", "rope_theta": 1.0}})",
                "contradicts the model's"},
           Case{R"({"quantization_config": "gptq"})",
                "quantization_config = \"gptq\" is not an object"},
           Case{R"({"quantization_config": {"quant_method": "gptq", "group_size": 128}})",
                "bits is missing"},
           Case{R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})",
                "group_size is missing"},
           Case{R"({"quantization_config": {"quant_method": "gptq", "bits": 4,
                    "group_size": -7}})",
                "group_size = -7 not in [-1,"},
           Case{R"({"layer_types": ["full_attention"]})", "is not a list of 2 names"},
           Case{R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1]}})",
                "original_max_position_embeddings is missing"},
           Case{R"({"original_max_position_embeddings": 1, "rope_scaling": {"type": "su"}})",
                "original_max_position_embeddings = 1 not in [2, "},
           Case{R"({"original_max_position_embeddings": 32, "rope_scaling": {"type": "longrope",
                    "short_factor": [1, 1, 1], "long_factor": [1, 1, 1, 1]}})",
                "short_factor = [1,1,1] is not a list of 4 numbers"},
           Case{R"({"original_max_position_embeddings": 32, "rope_scaling": {"type": "longrope",
                    "short_factor": [1, 1, 1, 1], "long_factor": [1, 1, 0, 1]}})",
                "long_factor holds 0, not in (1e-06, 1e+06]"},
           Case{R"({"architectures": ["Ministral3ForCausalLM"]})",
                "rope_parameters lacks llama_4_scaling_beta"},
           Case{R"({"architectures": ["GraniteForCausalLM"], "logits_scaling": 0})",
                "logits_scaling = 0 not in (1e-06, 1e+06]"},
           Case{R"({"architectures": ["GraniteForCausalLM"], "residual_multiplier": -1})",
                "residual_multiplier = -1 not in (0, 1e+06]"},
           Case{R"({"architectures": ["SmolLM3ForCausalLM"], "no_rope_layers": [1]})",
                "no_rope_layers = [1] is not a list of at least 2 numbers"},
           Case{R"({"architectures": ["SmolLM3ForCausalLM"], "no_rope_layers": [1, 2]})",
                "no_rope_layers = 2 at layer 1 is neither 0 nor 1"},
           Case{R"({"rope_scaling": {"type": "dynamic", "factor": 0.5}})",
                "factor = 0.5 not in [1,"},
           Case{R"({"head_dim": 2, "rope_scaling": {"type": "dynamic", "factor": 2}})",
                "head_dim = 2 not at least 4"},
           Case{R"({"rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2}})",
                "rope_theta = 1 not in (1,"},
           Case{R"({"rope_scaling": {"type": "yarn", "factor": 2, "beta_fast": 1}})",
                "beta_fast = 1 not in (1,"},
           Case{R"({"rope_scaling": {"type": "yarn", "factor": 2, "mscale": -1}})",
                "mscale = -1 not in (1e-06,"},
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

TEST_F(ConfigTest, BrokenFilesAreRejected) {
  EXPECT_EQ(ReadModelConfig(ModelSource::OfDirectory(dir_.path())).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadModelConfig(ModelSource::OfDirectory(dir_.Join("nowhere"))).status().code(),
            absl::StatusCode::kNotFound);
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
