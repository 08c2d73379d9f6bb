#include "model/checkpoint/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/generation_config.h"
#include "model/checkpoint/other_models.h"
#include "model/checkpoint/packing_config.h"
#include "model/checkpoint/rope_config.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr std::array kSiluFields = {
    NeutralField{"hidden_act", "\"silu\""},
    NeutralField{"hidden_activation", "\"silu\""},
};

constexpr std::array kNoQueryScalar = {NeutralField{"query_pre_attn_scalar", "null"}};

constexpr std::array kNeutralFields = {
    NeutralField{"attention_bias", "false"},
    NeutralField{"attention_out_bias", "false"},
    NeutralField{"mlp_bias", "false"},
    NeutralField{"lm_head_bias", "false"},
    NeutralField{"pretraining_tp", "1"},
    NeutralField{"partial_rotary_factor", "1"},
    NeutralField{"rope_interleaved", "false"},
    NeutralField{"compression_config", "null"},
    NeutralField{"attention_chunk_size", "null"},
    NeutralField{"no_rope_layers", "null"},
    NeutralField{"attention_multiplier", "null"},
    NeutralField{"embedding_multiplier", "1"},
    NeutralField{"residual_multiplier", "1"},
    NeutralField{"logits_scaling", "1"},
    NeutralField{"logit_scale", "1"},
    NeutralField{"scale_emb", "1"},
    NeutralField{"scale_depth", "null"},
    NeutralField{"dim_model_base", "null"},
    NeutralField{"attn_logit_softcapping", "null"},
    NeutralField{"final_logit_softcapping", "null"},
    NeutralField{"clip_qkv", "null"},
    NeutralField{"qk_norm", "false"},
    NeutralField{"use_qk_norm", "false"},
    NeutralField{"qk_layernorm", "false"},
    NeutralField{"attn_temperature_tuning", "false"},
    NeutralField{"alibi", "false"},
    NeutralField{"is_causal", "true"},
    NeutralField{"use_bidirectional_attention", "false"},
    NeutralField{"is_encoder_decoder", "false"},
    NeutralField{"add_cross_attention", "false"},
    NeutralField{"num_local_experts", "null"},
    NeutralField{"num_experts", "null"},
    NeutralField{"auto_map", "null"},
};

using Architecture = ModelConfig::Architecture;

constexpr std::array kArchitectures = {
    Architecture::kLlama,      Architecture::kMistral,    Architecture::kQwen2,
    Architecture::kQwen3,      Architecture::kGemma,      Architecture::kGemma3,
    Architecture::kLlamaEagle, Architecture::kQwen2Eagle, Architecture::kQwen3Eagle};

/// Bodies without a head, for embeddings, with the architecture of the model that has the head.
constexpr std::array<std::pair<const char*, Architecture>, 7> kBodies = {{
    {"LlamaModel", Architecture::kLlama},
    {"LlamaEmbeddingModel", Architecture::kLlama},
    {"MistralModel", Architecture::kMistral},
    {"Qwen2Model", Architecture::kQwen2},
    {"Qwen3Model", Architecture::kQwen3},
    {"GemmaModel", Architecture::kGemma},
    {"Gemma3TextModel", Architecture::kGemma3},
}};

/// Bodies with a `score` layer on their last token's state.
constexpr std::array<std::pair<const char*, Architecture>, 5> kClassifiers = {{
    {"LlamaForSequenceClassification", Architecture::kLlama},
    {"MistralForSequenceClassification", Architecture::kMistral},
    {"Qwen2ForSequenceClassification", Architecture::kQwen2},
    {"Qwen3ForSequenceClassification", Architecture::kQwen3},
    {"GemmaForSequenceClassification", Architecture::kGemma},
}};

struct NamedArchitecture {
  Architecture architecture;
  bool is_body = false;
  bool is_classifier = false;
};

std::optional<NamedArchitecture> FindArchitecture(const json& name) {
  for (const Architecture architecture : kArchitectures) {
    if (name == ArchitectureName(architecture)) return NamedArchitecture{architecture};
  }
  for (const auto& [body, architecture] : kBodies) {
    if (name == body) return NamedArchitecture{architecture, /*is_body=*/true};
  }
  for (const auto& [classifier, architecture] : kClassifiers) {
    if (name != classifier) continue;
    return NamedArchitecture{architecture, /*is_body=*/true, /*is_classifier=*/true};
  }
  return std::nullopt;
}

const char* ModelTypeOf(Architecture architecture) {
  switch (architecture) {
    case Architecture::kMistral:
      return "mistral";
    case Architecture::kQwen2:
    case Architecture::kQwen2Eagle:
      return "qwen2";
    case Architecture::kQwen3:
    case Architecture::kQwen3Eagle:
      return "qwen3";
    case Architecture::kGemma:
      return "gemma";
    case Architecture::kGemma3:
      return "gemma3_text";
    case Architecture::kLlama:
    case Architecture::kLlamaEagle:
      return "llama";
  }
  SHORTLIST_CHECK(false);
}

/// Sets architecture, is_body and is_classifier.
absl::Status ReadArchitecture(const ConfigFields& fields, ModelConfig& config) {
  const json* list = fields.Find("architectures");
  if (list == nullptr) return fields.Invalid("architectures", "is missing");
  if (!list->is_array() || list->size() != 1 || !(*list)[0].is_string()) {
    return fields.Invalid("architectures",
                          absl::StrCat("= ", Quote(*list), " is not a list of one name"));
  }
  const auto found = FindArchitecture((*list)[0]);
  if (!found) return UnsupportedArchitecture(fields, (*list)[0]);
  config.architecture = found->architecture;
  config.is_body = found->is_body;
  config.is_classifier = found->is_classifier;
  if (config.is_eagle()) return absl::OkStatus();
  return fields.CheckModelType((*list)[0].get<std::string>(), {ModelTypeOf(config.architecture)});
}

/// True if the query, key and value layers have biases. EAGLE's own code reads qkv_bias.
absl::StatusOr<bool> ReadQkvBias(const ConfigFields& fields, const ModelConfig& config) {
  constexpr char kName[] = "qkv_bias";
  const bool is_qwen2 = config.architecture == Architecture::kQwen2 ||
                        config.architecture == Architecture::kQwen2Eagle;
  SHORTLIST_ASSIGN_OR_RETURN(const bool has_bias, fields.Bool(kName, is_qwen2));
  if (has_bias == is_qwen2 || config.is_eagle()) return has_bias;
  return fields.Unsupported(kName, has_bias, is_qwen2 ? "only true is" : "only false is");
}

/// Returns the window of the layers that have one; 0: no layer has a window.
absl::StatusOr<int64_t> ReadWindow(const ConfigFields& fields, Architecture architecture) {
  const bool is_qwen =
      architecture == Architecture::kQwen2 || architecture == Architecture::kQwen3 ||
      architecture == Architecture::kQwen2Eagle || architecture == Architecture::kQwen3Eagle;
  SHORTLIST_ASSIGN_OR_RETURN(const bool qwen_uses_it, fields.Bool("use_sliding_window", false));
  const json* value = fields.Find("sliding_window");
  if (is_qwen && !qwen_uses_it) return 0;
  if (is_qwen || architecture == Architecture::kMistral || architecture == Architecture::kGemma3) {
    // Null disables the window; if absent, transformers' default applies.
    constexpr int64_t kDefault = 4096;
    if (value == nullptr) return fields.object().contains("sliding_window") ? 0 : kDefault;
    return fields.Int("sliding_window", 1, kMaxContextLen);
  }
  if (value != nullptr) return fields.Unsupported("sliding_window", *value, "only null is");
  if (qwen_uses_it) return fields.Unsupported("use_sliding_window", true, "only false is");
  return 0;
}

/// Sets the layers that have the window: those that layer_types calls "sliding_attention". Without
/// layer_types: all of Mistral's layers, Qwen's from max_window_layers on, and Gemma 3's except
/// every sliding_window_pattern-th.
absl::Status ReadWindows(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t window, ReadWindow(fields, config.architecture));
  const bool is_mistral = config.architecture == Architecture::kMistral;
  constexpr int64_t kQwenDefault = 28;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_full,
                             fields.Int("max_window_layers", 0, kMaxLayers, kQwenDefault));
  const bool is_gemma3 = config.architecture == Architecture::kGemma3;
  int64_t pattern = 6;
  if (is_gemma3) {
    SHORTLIST_ASSIGN_OR_RETURN(pattern,
                               fields.Int("sliding_window_pattern", 1, kMaxLayers, pattern));
  }
  std::vector<bool> slides(config.num_layers);
  for (int64_t i = 0; i < config.num_layers; ++i) {
    slides[i] = is_gemma3 ? (i + 1) % pattern != 0 : window > 0 && (is_mistral || i >= num_full);
  }
  const json* types = fields.Find("layer_types");
  if (is_gemma3 && window == 0 && types == nullptr && pattern > 1) {
    return fields.Unsupported("sliding_window", json(), "without it only full attention is");
  }
  if (types != nullptr) {
    if (!types->is_array() || static_cast<int64_t>(types->size()) != config.num_layers) {
      return fields.Invalid("layer_types", absl::StrCat("= ", Quote(*types), " is not a list of ",
                                                        config.num_layers, " names"));
    }
    for (int64_t i = 0; i < config.num_layers; ++i) {
      const json& type = (*types)[i];
      const bool wants_window = type == "sliding_attention" && window > 0;
      // Mistral's own code ignores the types.
      const bool contradicts = is_mistral && wants_window != slides[i];
      if ((!wants_window && type != "full_attention") || contradicts) {
        return fields.Unsupported(
            "layer_types", type,
            window == 0  ? "without a sliding window only \"full_attention\" is"
            : is_mistral ? "with a sliding window only \"sliding_attention\" is"
                         : "only \"full_attention\" and \"sliding_attention\" are");
      }
      slides[i] = wants_window;
    }
  }
  if (window == 0) return absl::OkStatus();
  for (const bool has_window : slides) config.windows.push_back(has_window ? window : 0);
  return absl::OkStatus();
}

absl::Status ReadShape(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(config.vocab_size, fields.Int("vocab_size", 1, kMaxVocabSize));
  SHORTLIST_ASSIGN_OR_RETURN(config.hidden, fields.Int("hidden_size", 1, kMaxHidden));
  SHORTLIST_ASSIGN_OR_RETURN(config.intermediate,
                             fields.Int("intermediate_size", 1, kMaxIntermediate));
  SHORTLIST_ASSIGN_OR_RETURN(config.num_layers, fields.Int("num_hidden_layers", 1, kMaxLayers));
  SHORTLIST_ASSIGN_OR_RETURN(config.num_heads, fields.Int("num_attention_heads", 1, kMaxHeads));
  // Only for Llama, the default is known to be the number of heads.
  const bool is_llama = config.architecture == Architecture::kLlama ||
                        config.architecture == Architecture::kLlamaEagle;
  SHORTLIST_ASSIGN_OR_RETURN(config.num_kv_heads,
                             fields.Int("num_key_value_heads", 1, config.num_heads,
                                        is_llama ? std::optional(config.num_heads) : std::nullopt));
  if (config.num_heads % config.num_kv_heads != 0) {
    return fields.Invalid(
        "num_attention_heads",
        absl::StrCat("= ", config.num_heads,
                     " is not a multiple of num_key_value_heads = ", config.num_kv_heads));
  }
  const bool is_qwen3 = config.architecture == Architecture::kQwen3 ||
                        config.architecture == Architecture::kQwen3Eagle;
  const int64_t default_head_dim = is_qwen3                                       ? 128
                                   : config.architecture == Architecture::kGemma3 ? 256
                                                                                  : 0;
  if (fields.Find("head_dim") == nullptr && default_head_dim == 0 &&
      config.hidden % config.num_heads != 0) {
    return fields.Invalid(
        "hidden_size",
        absl::StrCat("= ", config.hidden, " is not a multiple of num_attention_heads = ",
                     config.num_heads, ", and there is no head_dim"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      config.head_dim,
      fields.Int("head_dim", 2, kMaxHeadDim,
                 default_head_dim > 0 ? default_head_dim : config.hidden / config.num_heads));
  if (config.head_dim < 2 || config.head_dim > kMaxHeadDim || config.head_dim % 2 != 0) {
    return fields.Invalid(
        "head_dim",
        absl::StrCat("= ", config.head_dim, " is not even, or not in [2, ", kMaxHeadDim, "]"));
  }
  config.rotary_dim = config.head_dim;
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  SHORTLIST_ASSIGN_OR_RETURN(config.context_len,
                             fields.Int("max_position_embeddings", 1, kMaxContextLen));
  SHORTLIST_ASSIGN_OR_RETURN(config.rms_norm_eps,
                             fields.Real("rms_norm_eps", 0.0, 1.0, /*otherwise=*/1e-6));
  return absl::OkStatus();
}

/// Sets what is specific to Gemma and Gemma 3.
absl::Status ReadGemma(const ConfigFields& fields, ModelConfig& config) {
  const bool is_gemma3 = config.architecture == Architecture::kGemma3;
  for (const char* name : {"hidden_act", "hidden_activation"}) {
    const json* value = fields.Find(name);
    if (value == nullptr || *value == "gelu_pytorch_tanh") continue;
    // The first checkpoints say "gelu" but mean "gelu_pytorch_tanh".
    if (!is_gemma3 && *value == "gelu") continue;
    return fields.Unsupported(
        name, *value,
        is_gemma3 ? "only \"gelu_pytorch_tanh\" is" : "\"gelu_pytorch_tanh\" and \"gelu\" are");
  }
  config.activation = Activation::kGeluTanh;
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
  // GGUF files store the sum: io/gguf/gguf_model.cc writes 0 into this field, which only its
  // documents have.
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t norm_offset,
                             fields.Int("norm_offset", 0, 1, /*otherwise=*/1));
  config.norm_offset = static_cast<double>(norm_offset);
  if (!is_gemma3) return fields.CheckNeutral(kNoQueryScalar);
  config.output_norms = true;
  constexpr double kDefaultScalar = 256.0, kMaxScalar = 1e6;
  SHORTLIST_ASSIGN_OR_RETURN(const double scalar,
                             fields.Real("query_pre_attn_scalar", 0.0, kMaxScalar, kDefaultScalar));
  config.attention_scale = 1.0 / std::sqrt(scalar);
  return absl::OkStatus();
}

/// Sets what is specific to families other than Gemma's.
absl::Status ReadSilu(const ConfigFields& fields) {
  SHORTLIST_RETURN_IF_ERROR(fields.CheckNeutral(kNoQueryScalar));
  return fields.CheckNeutral(kSiluFields);
}

}  // namespace

const char* ArchitectureName(Architecture architecture) {
  switch (architecture) {
    case Architecture::kLlama:
      return "LlamaForCausalLM";
    case Architecture::kMistral:
      return "MistralForCausalLM";
    case Architecture::kQwen2:
      return "Qwen2ForCausalLM";
    case Architecture::kQwen3:
      return "Qwen3ForCausalLM";
    case Architecture::kGemma:
      return "GemmaForCausalLM";
    case Architecture::kGemma3:
      return "Gemma3ForCausalLM";
    case Architecture::kLlamaEagle:
      return "LlamaForCausalLMEagle";
    case Architecture::kQwen2Eagle:
      return "Qwen2ForCausalLMEagle";
    case Architecture::kQwen3Eagle:
      return "Qwen3ForCausalLMEagle";
  }
  SHORTLIST_CHECK(false);
}

bool IsDecoderConfig(const json& object) {
  if (!object.is_object()) return false;
  const auto list = object.find("architectures");
  return list != object.end() && list->is_array() && list->size() == 1 &&
         FindArchitecture((*list)[0]).has_value();
}

absl::StatusOr<ModelConfig> ParseModelConfig(const json& object, const std::string& path) {
  if (!object.is_object())
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a JSON object"));
  const ConfigFields fields(path, object);
  ModelConfig config;
  SHORTLIST_RETURN_IF_ERROR(ReadArchitecture(fields, config));
  SHORTLIST_RETURN_IF_ERROR(fields.CheckNeutral(kNeutralFields));
  SHORTLIST_RETURN_IF_ERROR(ReadShape(fields, config));
  SHORTLIST_RETURN_IF_ERROR(ReadWindows(fields, config));
  const bool is_gemma3 = config.architecture == Architecture::kGemma3;
  SHORTLIST_RETURN_IF_ERROR(is_gemma3 ? ReadRopeByLayerType(fields, config)
                                      : ReadRope(fields, config));
  SHORTLIST_ASSIGN_OR_RETURN(config.qkv_bias, ReadQkvBias(fields, config));
  // A draft of Qwen3's shape has norms of queries and keys, or none: EagleModel looks for them.
  config.qk_norm = is_gemma3 || config.architecture == Architecture::kQwen3;
  const bool is_gemma = is_gemma3 || config.architecture == Architecture::kGemma;
  SHORTLIST_RETURN_IF_ERROR(is_gemma ? ReadGemma(fields, config) : ReadSilu(fields));
  SHORTLIST_ASSIGN_OR_RETURN(config.tie_word_embeddings,
                             fields.Bool("tie_word_embeddings", is_gemma));
  // The original EAGLE-1 code gives fc a bias unless the configuration disables it.
  SHORTLIST_ASSIGN_OR_RETURN(config.fc_bias, fields.Bool("bias", true));
  SHORTLIST_ASSIGN_OR_RETURN(config.checkpoint_dtype, fields.StoredDType());
  if (const json* packing = fields.Find("quantization_config")) {
    if (!packing->is_object()) {
      return fields.Invalid("quantization_config",
                            absl::StrCat("= ", Quote(*packing), " is not an object"));
    }
    SHORTLIST_ASSIGN_OR_RETURN(
        config.packing,
        ReadPacking(ConfigFields(absl::StrCat(path, ": quantization_config"), *packing)));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto eos, ReadEosIds(fields, config.vocab_size));
  if (eos) config.eos_token_ids = *eos;
  return config;
}

namespace {

/// Returns InvalidArgument if `source` contains a GGUF file, which is a model of its own.
absl::Status RefuseGguf(const ModelSource& source) {
  for (const std::string& name : source.List()) {
    if (!name.ends_with(".gguf")) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        source.path(), ": no config.json, but a GGUF file; give its path, ", source.PathOf(name)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelConfig> ReadModelConfig(const ModelSource& source) {
  SHORTLIST_RETURN_IF_ERROR(RefuseAdapter(source));
  constexpr char kName[] = "config.json";
  if (!source.Contains(kName)) SHORTLIST_RETURN_IF_ERROR(RefuseGguf(source));
  SHORTLIST_ASSIGN_OR_RETURN(json object, source.ReadJson(kName));
  SHORTLIST_RETURN_IF_ERROR(RecogniseEagle(source, object));
  SHORTLIST_ASSIGN_OR_RETURN(ModelConfig config, ParseModelConfig(object, source.PathOf(kName)));
  SHORTLIST_ASSIGN_OR_RETURN(const auto packing, source.ReadObject("quantize_config.json"));
  if (packing && config.packing.kind == WeightPacking::Kind::kNone) {
    SHORTLIST_ASSIGN_OR_RETURN(
        config.packing, ReadPacking(ConfigFields(source.PathOf("quantize_config.json"), *packing)));
  }
  return config;
}

}  // namespace shortlist
