#include "model/checkpoint/config.h"

#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/families.h"
#include "model/checkpoint/generation_config.h"
#include "model/checkpoint/other_models.h"
#include "model/checkpoint/packing_config.h"
#include "model/checkpoint/rope_config.h"
#include "model/checkpoint/window_config.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr std::array kNeutralFields = {
    NeutralField{"attention_bias", "false"},
    NeutralField{"attention_out_bias", "false"},
    NeutralField{"mlp_bias", "false"},
    NeutralField{"use_bias", "false"},
    NeutralField{"lm_head_bias", "false"},
    NeutralField{"pretraining_tp", "1"},
    NeutralField{"rope_interleaved", "false"},
    NeutralField{"compression_config", "null"},
    NeutralField{"attention_chunk_size", "null"},
    NeutralField{"no_rope_layers", "null"},
    NeutralField{"query_pre_attn_scalar", "null"},
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

/// Sets architecture, is_body, is_classifier, is_eagle and has_pictures. Returns the family.
absl::StatusOr<const Family*> ReadFamily(const ConfigFields& fields, ModelConfig& config) {
  const json* list = fields.Find("architectures");
  if (list == nullptr) return fields.Invalid("architectures", "is missing");
  if (!list->is_array() || list->size() != 1 || !(*list)[0].is_string()) {
    return fields.Invalid("architectures",
                          absl::StrCat("= ", Quote(*list), " is not a list of one name"));
  }
  const auto found = FindFamily(fields.object());
  if (!found) return UnsupportedArchitecture(fields, (*list)[0]);
  const Family& family = *found->family;
  config.architecture = found->is_eagle ? family.eagle : family.architecture;
  config.is_body = found->is_body;
  config.is_classifier = found->is_classifier;
  config.is_eagle = found->is_eagle;
  config.has_pictures = found->has_pictures;
  if (!config.is_eagle && !config.has_pictures) {
    SHORTLIST_RETURN_IF_ERROR(
        fields.CheckModelType((*list)[0].get<std::string>(), {family.model_type}));
  }
  return &family;
}

/// True if the query, key and value layers have biases. EAGLE's own code reads qkv_bias.
absl::StatusOr<bool> ReadQkvBias(const ConfigFields& fields, const Family& family, bool is_eagle) {
  constexpr char kName[] = "qkv_bias";
  SHORTLIST_ASSIGN_OR_RETURN(const bool has_bias, fields.Bool(kName, family.qkv_bias));
  if (has_bias == family.qkv_bias || is_eagle) return has_bias;
  return fields.Unsupported(kName, has_bias, family.qkv_bias ? "only true is" : "only false is");
}

absl::Status ReadShape(const ConfigFields& fields, const Family& family, ModelConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(config.vocab_size, fields.Int("vocab_size", 1, kMaxVocabSize));
  SHORTLIST_ASSIGN_OR_RETURN(config.hidden, fields.Int("hidden_size", 1, kMaxHidden));
  SHORTLIST_ASSIGN_OR_RETURN(config.intermediate,
                             fields.Int(family.intermediate_field, 1, kMaxIntermediate));
  SHORTLIST_ASSIGN_OR_RETURN(config.num_layers, fields.Int("num_hidden_layers", 1, kMaxLayers));
  SHORTLIST_ASSIGN_OR_RETURN(config.num_heads, fields.Int("num_attention_heads", 1, kMaxHeads));
  const auto default_kv_heads =
      family.has_default_kv_heads ? std::optional(config.num_heads) : std::nullopt;
  SHORTLIST_ASSIGN_OR_RETURN(config.num_kv_heads, fields.Int("num_key_value_heads", 1,
                                                             config.num_heads, default_kv_heads));
  if (config.num_heads % config.num_kv_heads != 0) {
    return fields.Invalid(
        "num_attention_heads",
        absl::StrCat("= ", config.num_heads,
                     " is not a multiple of num_key_value_heads = ", config.num_kv_heads));
  }
  if (fields.Find("head_dim") == nullptr && family.default_head_dim == 0 &&
      config.hidden % config.num_heads != 0) {
    return fields.Invalid(
        "hidden_size",
        absl::StrCat("= ", config.hidden, " is not a multiple of num_attention_heads = ",
                     config.num_heads, ", and there is no head_dim"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      config.head_dim, fields.Int("head_dim", 2, kMaxHeadDim,
                                  family.default_head_dim > 0 ? family.default_head_dim
                                                              : config.hidden / config.num_heads));
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
                             fields.Real("rms_norm_eps", 0.0, 1.0, family.default_epsilon));
  return absl::OkStatus();
}

/// Checks that the fields of the activation say the family's, or nothing.
absl::Status CheckActivation(const ConfigFields& fields, const Family& family) {
  const bool is_gelu = family.activation == Activation::kGeluTanh;
  const std::string_view expected = is_gelu ? "gelu_pytorch_tanh" : "silu";
  for (const char* name : {"hidden_act", "hidden_activation"}) {
    const json* value = fields.Find(name);
    if (value == nullptr || *value == expected) continue;
    // The first checkpoints of Gemma say "gelu" but mean "gelu_pytorch_tanh".
    if (family.gelu_is_tanh && *value == "gelu") continue;
    return fields.Unsupported(name, *value,
                              absl::StrCat("only \"", std::string(expected), "\"",
                                           family.gelu_is_tanh ? " or \"gelu\" is" : " is"));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsDecoderConfig(const json& object) { return FindFamily(object).has_value(); }

absl::StatusOr<ModelConfig> ParseModelConfig(const json& object, const std::string& path) {
  if (!object.is_object())
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a JSON object"));
  const ConfigFields whole(path, object);
  ModelConfig config;
  SHORTLIST_ASSIGN_OR_RETURN(const Family* const family, ReadFamily(whole, config));
  const ConfigFields fields =
      config.has_pictures ? ConfigFields(path + ": text_config", object["text_config"]) : whole;
  SHORTLIST_RETURN_IF_ERROR(fields.CheckNeutral(kNeutralFields, family->fields));
  SHORTLIST_RETURN_IF_ERROR(ReadShape(fields, *family, config));
  SHORTLIST_RETURN_IF_ERROR(ReadWindows(fields, *family, config));
  SHORTLIST_RETURN_IF_ERROR(
      ReadRotaryDim(fields, family->rotary_part, family->may_rotate_part, config));
  config.rope_theta = family->default_theta;
  config.window_rope_theta = family->default_window_theta;
  SHORTLIST_RETURN_IF_ERROR(config.window_rope_theta > 0.0 ? ReadRopeByLayerType(fields, config)
                                                           : ReadRope(fields, config));
  SHORTLIST_ASSIGN_OR_RETURN(config.qkv_bias, ReadQkvBias(fields, *family, config.is_eagle));
  // A draft of Qwen3's shape has norms of queries and keys, or none: EagleModel looks for them.
  config.qk_norm = family->qk_norm && !config.is_eagle;
  config.norms_all_heads = family->norms_all_heads;
  config.fused_qkv = family->fused_qkv;
  config.rotates_neighbours = family->rotates_neighbours;
  config.norms = family->norms;
  config.mlp = family->mlp;
  SHORTLIST_RETURN_IF_ERROR(CheckActivation(fields, *family));
  config.activation = family->activation;
  if (family->read != nullptr) SHORTLIST_RETURN_IF_ERROR(family->read(fields, config));
  constexpr char kTied[] = "tie_word_embeddings";
  SHORTLIST_ASSIGN_OR_RETURN(const bool whole_is_tied, whole.Bool(kTied, family->is_tied));
  SHORTLIST_ASSIGN_OR_RETURN(const bool text_is_tied, fields.Bool(kTied, whole_is_tied));
  // A model of texts and pictures may say both: LoadHead looks for the tensor.
  config.tie_word_embeddings = whole_is_tied || text_is_tied;
  // The original EAGLE-1 code gives fc a bias unless the configuration disables it.
  SHORTLIST_ASSIGN_OR_RETURN(config.fc_bias, fields.Bool("bias", true));
  SHORTLIST_ASSIGN_OR_RETURN(config.checkpoint_dtype, whole.StoredDType());
  if (const json* packing = whole.Find("quantization_config")) {
    if (!packing->is_object()) {
      return whole.Invalid("quantization_config",
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
