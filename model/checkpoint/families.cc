#include "model/checkpoint/families.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/checkpoint/expert_config.h"
#include "model/checkpoint/family_fields.h"
#include "model/checkpoint/qwen3_5_config.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr const char* kLlamaBodies[] = {"LlamaModel", "LlamaEmbeddingModel"};
constexpr const char* kMistralBodies[] = {"MistralModel"};
constexpr const char* kQwen2Bodies[] = {"Qwen2Model"};
constexpr const char* kQwen3Bodies[] = {"Qwen3Model"};
constexpr const char* kGemmaBodies[] = {"GemmaModel"};
constexpr const char* kGemma3Bodies[] = {"Gemma3TextModel"};

constexpr NormNames kGemma3Norms = {
    .mixer_output = "post_attention_layernorm",
    .mlp_input = "pre_feedforward_layernorm",
    .mlp_output = "post_feedforward_layernorm",
};
constexpr NormNames kOutputNorms = {
    .mixer_input = nullptr,
    .mixer_output = "post_attention_layernorm",
    .mlp_input = nullptr,
    .mlp_output = "post_feedforward_layernorm",
};
constexpr NormNames kGlm4Norms = {
    .mixer_output = "post_self_attn_layernorm",
    .mlp_output = "post_mlp_layernorm",
};

constexpr MlpNames kFusedMlp = {.gate_up = "gate_up_proj"};
constexpr MlpNames kBlockSparseMoe = {.prefix = "block_sparse_moe."};
constexpr MlpNames kGraniteHybridMlp = {
    .prefix = "shared_mlp.", .gate_up = "input_linear", .down = "output_linear"};

/// Models of texts and pictures. The family of their text model is that of text_config's
/// model_type.
constexpr const char* kWithPictures[] = {"Mistral3ForConditionalGeneration",
                                         "Qwen3_5ForConditionalGeneration",
                                         "Qwen3_5MoeForConditionalGeneration"};

constexpr std::array kFamilies = {
    Family{
        .name = "Llama",
        .architecture = "LlamaForCausalLM",
        .model_type = "llama",
        .bodies = kLlamaBodies,
        .classifier = "LlamaForSequenceClassification",
        .eagle = "LlamaForCausalLMEagle",
        .has_default_kv_heads = true,
        .read = ReadLlama,
        .fields = kLlamaFields,
    },
    Family{
        .name = "Mistral",
        .architecture = "MistralForCausalLM",
        .model_type = "mistral",
        .bodies = kMistralBodies,
        .classifier = "MistralForSequenceClassification",
        .windows = WindowRule::kAll,
    },
    Family{
        .name = "Ministral 3",
        .architecture = "Ministral3ForCausalLM",
        .model_type = "ministral3",
        .default_head_dim = 128,
        .default_epsilon = 1e-5,
        .windows = WindowRule::kAll,
        .default_window = 0,
        .read = ReadMinistral3,
    },
    Family{
        .name = "Qwen2",
        .architecture = "Qwen2ForCausalLM",
        .model_type = "qwen2",
        .bodies = kQwen2Bodies,
        .classifier = "Qwen2ForSequenceClassification",
        .eagle = "Qwen2ForCausalLMEagle",
        .qkv_bias = true,
        .windows = WindowRule::kFromLayer,
    },
    Family{
        .name = "Qwen3",
        .architecture = "Qwen3ForCausalLM",
        .model_type = "qwen3",
        .bodies = kQwen3Bodies,
        .classifier = "Qwen3ForSequenceClassification",
        .eagle = "Qwen3ForCausalLMEagle",
        .default_head_dim = 128,
        .qk_norm = true,
        .windows = WindowRule::kFromLayer,
    },
    Family{
        .name = "Qwen3.5",
        .architecture = "Qwen3_5ForCausalLM",
        .model_type = "qwen3_5_text",
        .default_head_dim = 256,
        .qk_norm = true,
        .windows = WindowRule::kRecurrent,
        .rotary_part = 0.25,
        .may_rotate_part = true,
        .read = ReadQwen35,
    },
    Family{
        .name = "Phi-3 (Phi-4 too)",
        .architecture = "Phi3ForCausalLM",
        .model_type = "phi3",
        .has_default_kv_heads = true,
        .default_epsilon = 1e-5,
        .fused_qkv = true,
        .mlp = kFusedMlp,
        .windows = WindowRule::kAll,
        .default_window = 0,
        .may_rotate_part = true,
        .fields = kPhi3Fields,
    },
    Family{
        .name = "Granite",
        .architecture = "GraniteForCausalLM",
        .model_type = "granite",
        .has_default_kv_heads = true,
        .read = ReadGranite,
        .fields = kGraniteFields,
    },
    Family{
        .name = "Granite 4 without Mamba layers",
        .architecture = "GraniteMoeHybridForCausalLM",
        .model_type = "granitemoehybrid",
        .intermediate_field = "shared_intermediate_size",
        .has_default_kv_heads = true,
        .mlp = kGraniteHybridMlp,
        .windows = WindowRule::kRecurrent,
        .read = ReadGraniteHybrid,
        .fields = kGraniteHybridFields,
    },
    Family{
        .name = "OLMo 2",
        .architecture = "Olmo2ForCausalLM",
        .model_type = "olmo2",
        .has_default_kv_heads = true,
        .default_epsilon = 1e-5,
        .qk_norm = true,
        .norms_all_heads = true,
        .norms = kOutputNorms,
    },
    Family{
        .name = "OLMo 3",
        .architecture = "Olmo3ForCausalLM",
        .model_type = "olmo3",
        .has_default_kv_heads = true,
        .default_epsilon = 1e-5,
        .qk_norm = true,
        .norms_all_heads = true,
        .norms = kOutputNorms,
        .windows = WindowRule::kPattern,
        .default_pattern = 4,
        .default_theta = 5e5,
        .default_window_theta = 5e5,
    },
    Family{
        .name = "SmolLM3",
        .architecture = "SmolLM3ForCausalLM",
        .model_type = "smollm3",
        .default_theta = 2e6,
        .is_tied = true,
        .read = ReadSmolLm3,
        .fields = kSmolLm3Fields,
    },
    Family{
        .name = "EXAONE 4",
        .architecture = "Exaone4ForCausalLM",
        .model_type = "exaone4",
        .default_epsilon = 1e-5,
        .qk_norm = true,
        .norms = kOutputNorms,
        .windows = WindowRule::kPattern,
        .default_pattern = 4,
        .read = ReadExaone4,
    },
    Family{
        .name = "ERNIE 4.5",
        .architecture = "Ernie4_5ForCausalLM",
        .model_type = "ernie4_5",
        .has_default_kv_heads = true,
        .default_head_dim = 128,
        .default_epsilon = 1e-5,
        .rotates_neighbours = true,
        .default_theta = 5e5,
        .is_tied = true,
    },
    Family{
        .name = "GLM",
        .architecture = "GlmForCausalLM",
        .model_type = "glm",
        .has_default_kv_heads = true,
        .default_head_dim = 128,
        .default_epsilon = 1.5625e-7,
        .rotates_neighbours = true,
        .mlp = kFusedMlp,
        .rotary_part = 0.5,
        .may_rotate_part = true,
        .read = ReadGlm,
        .fields = kGlmFields,
    },
    Family{
        .name = "GLM-4",
        .architecture = "Glm4ForCausalLM",
        .model_type = "glm4",
        .default_head_dim = 128,
        .default_epsilon = 1.5625e-7,
        .rotates_neighbours = true,
        .norms = kGlm4Norms,
        .mlp = kFusedMlp,
        .rotary_part = 0.5,
        .may_rotate_part = true,
        .read = ReadGlm,
        .fields = kGlmFields,
    },
    Family{
        .name = "Seed-OSS",
        .architecture = "SeedOssForCausalLM",
        .model_type = "seed_oss",
        .default_head_dim = 128,
        .read = ReadSeedOss,
        .fields = kSeedOssFields,
    },
    Family{
        .name = "Qwen3-MoE",
        .architecture = "Qwen3MoeForCausalLM",
        .model_type = "qwen3_moe",
        .qk_norm = true,
        .windows = WindowRule::kFromLayer,
        .read = ReadQwen3Moe,
        .fields = kExpertFields,
    },
    Family{
        .name = "Qwen2-MoE",
        .architecture = "Qwen2MoeForCausalLM",
        .model_type = "qwen2_moe",
        .qkv_bias = true,
        .windows = WindowRule::kFromLayer,
        .read = ReadQwen2Moe,
        .fields = kExpertFields,
    },
    Family{
        .name = "Qwen3.5-MoE",
        .architecture = "Qwen3_5MoeForCausalLM",
        .model_type = "qwen3_5_moe_text",
        .intermediate_field = "moe_intermediate_size",
        .default_head_dim = 256,
        .qk_norm = true,
        .windows = WindowRule::kRecurrent,
        .rotary_part = 0.25,
        .may_rotate_part = true,
        .read = ReadQwen35Moe,
        .fields = kExpertFields,
    },
    Family{
        .name = "OLMoE",
        .architecture = "OlmoeForCausalLM",
        .model_type = "olmoe",
        .has_default_kv_heads = true,
        .default_epsilon = 1e-5,
        .qk_norm = true,
        .norms_all_heads = true,
        .read = ReadOlmoe,
        .fields = kExpertFields,
    },
    Family{
        .name = "Mixtral",
        .architecture = "MixtralForCausalLM",
        .model_type = "mixtral",
        .has_default_kv_heads = true,
        .default_epsilon = 1e-5,
        .mlp = kBlockSparseMoe,
        .windows = WindowRule::kAll,
        .default_window = 0,
        .default_theta = 1e6,
        .read = ReadMixtral,
        .fields = kExpertFields,
    },
    Family{
        .name = "Granite 3 with experts",
        .architecture = "GraniteMoeForCausalLM",
        .model_type = "granitemoe",
        .has_default_kv_heads = true,
        .mlp = kBlockSparseMoe,
        .read = ReadGraniteMoe,
        .fields = kGraniteHybridFields,
    },
    Family{
        .name = "Gemma",
        .architecture = "GemmaForCausalLM",
        .model_type = "gemma",
        .bodies = kGemmaBodies,
        .classifier = "GemmaForSequenceClassification",
        .activation = Activation::kGeluTanh,
        .gelu_is_tanh = true,
        .is_tied = true,
        .read = ReadGemma,
    },
    Family{
        .name = "Gemma 3",
        .architecture = "Gemma3ForCausalLM",
        .model_type = "gemma3_text",
        .bodies = kGemma3Bodies,
        .default_head_dim = 256,
        .qk_norm = true,
        .norms = kGemma3Norms,
        .windows = WindowRule::kPattern,
        .default_theta = 1e6,
        .default_window_theta = 1e4,
        .activation = Activation::kGeluTanh,
        .is_tied = true,
        .read = ReadGemma3,
        .fields = kGemma3Fields,
    },
};

/// Returns null unless architectures is a list of one name.
const json* OneArchitecture(const json& object) {
  if (!object.is_object()) return nullptr;
  const auto list = object.find("architectures");
  const bool has_one = list != object.end() && list->is_array() && list->size() == 1;
  return has_one && (*list)[0].is_string() ? &(*list)[0] : nullptr;
}

}  // namespace

std::span<const Family> Families() { return kFamilies; }

std::optional<NamedFamily> FindFamily(const json& object) {
  const json* const architecture = OneArchitecture(object);
  if (architecture == nullptr) return std::nullopt;
  const auto& name = architecture->get_ref<const std::string&>();
  if (std::ranges::find(kWithPictures, name) != std::end(kWithPictures)) {
    const auto text = object.find("text_config");
    if (text == object.end() || !text->is_object()) return std::nullopt;
    const auto type = text->find("model_type");
    for (const Family& family : kFamilies) {
      if (type == text->end() || *type != family.model_type) continue;
      return NamedFamily{.family = &family, .has_pictures = true};
    }
    return std::nullopt;
  }
  const auto is_name = [&](const char* known) { return known != nullptr && name == known; };
  for (const Family& family : kFamilies) {
    if (is_name(family.architecture)) return NamedFamily{&family};
    if (is_name(family.eagle)) return NamedFamily{.family = &family, .is_eagle = true};
    const bool is_classifier = is_name(family.classifier);
    if (is_classifier || std::ranges::any_of(family.bodies, is_name)) {
      return NamedFamily{.family = &family, .is_body = true, .is_classifier = is_classifier};
    }
  }
  return std::nullopt;
}

}  // namespace shortlist
