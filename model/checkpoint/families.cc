#include "model/checkpoint/families.h"

#include <algorithm>
#include <array>

#include "model/checkpoint/family_fields.h"
#include "model/checkpoint/qwen3_5_config.h"

namespace shortlist {
namespace {

constexpr const char* kLlamaBodies[] = {"LlamaModel", "LlamaEmbeddingModel"};
constexpr const char* kMistralBodies[] = {"MistralModel"};
constexpr const char* kQwen2Bodies[] = {"Qwen2Model"};
constexpr const char* kQwen3Bodies[] = {"Qwen3Model"};
constexpr const char* kGemmaBodies[] = {"GemmaModel"};
constexpr const char* kGemma3Bodies[] = {"Gemma3TextModel"};

constexpr std::array kFamilies = {
    Family{
        .name = "Llama",
        .architecture = "LlamaForCausalLM",
        .model_type = "llama",
        .bodies = kLlamaBodies,
        .classifier = "LlamaForSequenceClassification",
        .eagle = "LlamaForCausalLMEagle",
        .has_default_kv_heads = true,
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
        .output_norms = true,
        .windows = WindowRule::kPattern,
        .has_rope_by_layer_type = true,
        .activation = Activation::kGeluTanh,
        .is_tied = true,
        .read = ReadGemma3,
        .fields = kGemma3Fields,
    },
};

bool IsName(const char* known, std::string_view name) { return known != nullptr && name == known; }

}  // namespace

std::span<const Family> Families() { return kFamilies; }

std::optional<NamedFamily> FindFamily(std::string_view architecture) {
  for (const Family& family : kFamilies) {
    if (IsName(family.architecture, architecture)) return NamedFamily{&family};
    if (IsName(family.eagle, architecture)) return NamedFamily{.family = &family, .is_eagle = true};
    const auto is_name = [&](const char* body) { return IsName(body, architecture); };
    const bool is_classifier = is_name(family.classifier);
    if (is_classifier || std::ranges::any_of(family.bodies, is_name)) {
      return NamedFamily{.family = &family, .is_body = true, .is_classifier = is_classifier};
    }
  }
  return std::nullopt;
}

}  // namespace shortlist
