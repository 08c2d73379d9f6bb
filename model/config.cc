#include "model/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "model/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxConfigBytes = 16 << 20;

constexpr int64_t kMaxVocabSize = int64_t{1} << 24;
constexpr int64_t kMaxHidden = int64_t{1} << 20;
constexpr int64_t kMaxIntermediate = int64_t{1} << 22;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 4096;
constexpr int64_t kMaxContextLen = int64_t{1} << 24;

/// Fields that change what a model computes and that only these values leave as they are; null in
/// the table means that the field must be absent or null. Absent and null are neutral for all.
struct NeutralField {
  const char* name;
  const char* neutral;  // JSON text
};
constexpr std::array kNeutralFields = {
    NeutralField{"hidden_act", "\"silu\""},
    NeutralField{"hidden_activation", "\"silu\""},
    NeutralField{"attention_bias", "false"},
    NeutralField{"attention_out_bias", "false"},
    NeutralField{"qkv_bias", "false"},
    NeutralField{"mlp_bias", "false"},
    NeutralField{"lm_head_bias", "false"},
    NeutralField{"pretraining_tp", "1"},
    NeutralField{"partial_rotary_factor", "1"},
    NeutralField{"rope_interleaved", "false"},
    NeutralField{"quantization_config", "null"},
    NeutralField{"compression_config", "null"},
    NeutralField{"sliding_window", "null"},
    NeutralField{"use_sliding_window", "false"},
    NeutralField{"attention_chunk_size", "null"},
    NeutralField{"no_rope_layers", "null"},
    NeutralField{"attention_multiplier", "null"},
    NeutralField{"query_pre_attn_scalar", "null"},
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
    NeutralField{"is_encoder_decoder", "false"},
    NeutralField{"add_cross_attention", "false"},
    NeutralField{"num_local_experts", "null"},
    NeutralField{"num_experts", "null"},
    NeutralField{"auto_map", "null"},
};

/// Typed access to the fields of one JSON object. Null counts as absent.
class Fields {
 public:
  /// `where`: the path, and for a nested object its name. `object` outlives this.
  Fields(std::string where, const json& object) : where_(std::move(where)), object_(object) {}

  const json* Find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  absl::Status Invalid(const char* name, const std::string& problem) const {
    return absl::InvalidArgumentError(absl::StrCat(where_, ": ", name, " ", problem));
  }
  absl::Status Unsupported(const char* name, const json& value,
                           const std::string& supported) const {
    return absl::UnimplementedError(
        absl::StrCat(where_, ": ", name, " = ", Quote(value), " is not supported; ", supported));
  }

  absl::StatusOr<int64_t> Int(const char* name, int64_t low, int64_t high,
                              std::optional<int64_t> otherwise = std::nullopt) const {
    const json* value = Find(name);
    if (value == nullptr) {
      if (otherwise) return *otherwise;
      return Invalid(name, "is missing");
    }
    if (!value->is_number_integer())
      return Invalid(name, absl::StrCat("= ", Quote(*value), " is no integer"));
    const bool too_large =
        value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(high);
    if (too_large || value->get<int64_t>() < low) {
      return Invalid(name, absl::StrCat("= ", Quote(*value), " not in [", low, ", ", high, "]"));
    }
    return value->get<int64_t>();
  }

  /// A finite number in (low, high].
  absl::StatusOr<double> Real(const char* name, double low, double high,
                              std::optional<double> otherwise = std::nullopt) const {
    const json* value = Find(name);
    if (value == nullptr) {
      if (otherwise) return *otherwise;
      return Invalid(name, "is missing");
    }
    if (!value->is_number())
      return Invalid(name, absl::StrCat("= ", Quote(*value), " is no number"));
    const double number = value->get<double>();
    if (!(number > low && number <= high)) {
      return Invalid(name, absl::StrCat("= ", Quote(*value), " not in (", low, ", ", high, "]"));
    }
    return number;
  }

  absl::StatusOr<bool> Bool(const char* name, bool otherwise) const {
    const json* value = Find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) {
      return Invalid(name, absl::StrCat("= ", Quote(*value), " is neither true nor false"));
    }
    return value->get<bool>();
  }

  const json& object() const { return object_; }
  const std::string& where() const { return where_; }

 private:
  std::string where_;
  const json& object_;
};

absl::StatusOr<ModelConfig::Architecture> ReadArchitecture(const Fields& fields) {
  const json* list = fields.Find("architectures");
  if (list == nullptr) return fields.Invalid("architectures", "is missing");
  if (!list->is_array() || list->size() != 1 || !(*list)[0].is_string()) {
    return fields.Invalid("architectures",
                          absl::StrCat("= ", Quote(*list), " is no list of one name"));
  }
  const json& name = (*list)[0];
  if (name == "LlamaForCausalLM") return ModelConfig::Architecture::kLlama;
  if (name == "LlamaForCausalLMEagle") return ModelConfig::Architecture::kLlamaEagle;
  return fields.Unsupported("architecture", name, "LlamaForCausalLM and LlamaForCausalLMEagle are");
}

absl::Status CheckNeutralFields(const Fields& fields) {
  for (const NeutralField& field : kNeutralFields) {
    const json* value = fields.Find(field.name);
    if (value != nullptr && *value != json::parse(field.neutral)) {
      return fields.Unsupported(field.name, *value, absl::StrCat("only ", field.neutral, " is"));
    }
  }
  const json* layer_types = fields.Find("layer_types");
  if (layer_types != nullptr) {
    const auto is_full = [](const json& type) { return type == "full_attention"; };
    if (!layer_types->is_array() ||
        !std::all_of(layer_types->begin(), layer_types->end(), is_full)) {
      return fields.Unsupported("layer_types", *layer_types, "only \"full_attention\" is");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RopeScaling::Type> ReadRopeType(const Fields& rope) {
  const json* old_name = rope.Find("type");
  const json* new_name = rope.Find("rope_type");
  if (old_name != nullptr && new_name != nullptr && *old_name != *new_name) {
    return rope.Invalid("rope_type", absl::StrCat("= ", Quote(*new_name),
                                                  " contradicts type = ", Quote(*old_name)));
  }
  const json* name = new_name != nullptr ? new_name : old_name;
  if (name == nullptr || *name == "default") return RopeScaling::Type::kDefault;
  if (*name == "linear") return RopeScaling::Type::kLinear;
  if (*name == "llama3") return RopeScaling::Type::kLlama3;
  return rope.Unsupported("rope_type", *name, "\"default\", \"linear\" and \"llama3\" are");
}

/// Reads rope_scaling (older exports) or rope_parameters (newer ones, with rope_theta inside).
absl::Status ReadRope(const Fields& fields, ModelConfig& config) {
  constexpr double kMaxTheta = 1e12;
  constexpr double kMaxFactor = 1e6;
  SHORTLIST_ASSIGN_OR_RETURN(config.rope_theta,
                             fields.Real("rope_theta", 0.0, kMaxTheta, /*otherwise=*/10000.0));
  const json* scaling = fields.Find("rope_scaling");
  const json* parameters = fields.Find("rope_parameters");
  if (scaling != nullptr && parameters != nullptr && *scaling != *parameters) {
    return fields.Invalid(
        "rope_scaling",
        absl::StrCat("= ", Quote(*scaling), " contradicts rope_parameters = ", Quote(*parameters)));
  }
  const char* const name = parameters != nullptr ? "rope_parameters" : "rope_scaling";
  const json* object = parameters != nullptr ? parameters : scaling;
  if (object == nullptr) return absl::OkStatus();
  if (!object->is_object())
    return fields.Invalid(name, absl::StrCat("= ", Quote(*object), " is no object"));

  const Fields rope(absl::StrCat(fields.where(), ": ", name), *object);
  SHORTLIST_ASSIGN_OR_RETURN(config.rope_scaling.type, ReadRopeType(rope));
  for (const auto& [key, value] : object->items()) {
    constexpr std::array kKnown = {
        "type",   "rope_type",       "rope_theta",       "partial_rotary_factor",
        "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"};
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end() && !value.is_null()) {
      return absl::UnimplementedError(
          absl::StrCat(rope.where(), ": ", Quote(key), " = ", Quote(value), " is not supported"));
    }
  }
  const json* partial = rope.Find("partial_rotary_factor");
  if (partial != nullptr && *partial != 1) {
    return rope.Unsupported("partial_rotary_factor", *partial, "only 1 is");
  }
  if (rope.Find("rope_theta") != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(const double theta, rope.Real("rope_theta", 0.0, kMaxTheta));
    if (fields.Find("rope_theta") != nullptr && theta != config.rope_theta) {
      return rope.Invalid(
          "rope_theta",
          absl::StrCat("= ", theta, " contradicts the model's rope_theta = ", config.rope_theta));
    }
    config.rope_theta = theta;
  }
  RopeScaling& out = config.rope_scaling;
  if (out.type == RopeScaling::Type::kDefault) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(out.factor, rope.Real("factor", 0.0, kMaxFactor));
  if (out.type == RopeScaling::Type::kLinear) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(out.low_freq_factor, rope.Real("low_freq_factor", 0.0, kMaxFactor));
  SHORTLIST_ASSIGN_OR_RETURN(out.high_freq_factor,
                             rope.Real("high_freq_factor", out.low_freq_factor, kMaxFactor));
  SHORTLIST_ASSIGN_OR_RETURN(out.original_max_position_embeddings,
                             rope.Int("original_max_position_embeddings", 1, kMaxContextLen));
  return absl::OkStatus();
}

absl::Status ReadShape(const Fields& fields, ModelConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(config.vocab_size, fields.Int("vocab_size", 1, kMaxVocabSize));
  SHORTLIST_ASSIGN_OR_RETURN(config.hidden, fields.Int("hidden_size", 1, kMaxHidden));
  SHORTLIST_ASSIGN_OR_RETURN(config.intermediate,
                             fields.Int("intermediate_size", 1, kMaxIntermediate));
  SHORTLIST_ASSIGN_OR_RETURN(config.num_layers, fields.Int("num_hidden_layers", 1, kMaxLayers));
  SHORTLIST_ASSIGN_OR_RETURN(config.num_heads, fields.Int("num_attention_heads", 1, kMaxHeads));
  SHORTLIST_ASSIGN_OR_RETURN(
      config.num_kv_heads,
      fields.Int("num_key_value_heads", 1, config.num_heads, /*otherwise=*/config.num_heads));
  if (config.num_heads % config.num_kv_heads != 0) {
    return fields.Invalid(
        "num_attention_heads",
        absl::StrCat("= ", config.num_heads,
                     " is no multiple of num_key_value_heads = ", config.num_kv_heads));
  }
  if (fields.Find("head_dim") == nullptr && config.hidden % config.num_heads != 0) {
    return fields.Invalid(
        "hidden_size", absl::StrCat("= ", config.hidden,
                                    " is no multiple of num_attention_heads = ", config.num_heads,
                                    ", and there is no head_dim"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      config.head_dim,
      fields.Int("head_dim", 2, kMaxHeadDim, /*otherwise=*/config.hidden / config.num_heads));
  if (config.head_dim < 2 || config.head_dim > kMaxHeadDim || config.head_dim % 2 != 0) {
    return fields.Invalid(
        "head_dim",
        absl::StrCat("= ", config.head_dim, " is not even, or not in [2, ", kMaxHeadDim, "]"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(config.context_len,
                             fields.Int("max_position_embeddings", 1, kMaxContextLen));
  SHORTLIST_ASSIGN_OR_RETURN(config.rms_norm_eps,
                             fields.Real("rms_norm_eps", 0.0, 1.0, /*otherwise=*/1e-6));
  return absl::OkStatus();
}

/// An id, a list of ids, or null.
absl::Status ReadEos(const Fields& fields, int64_t vocab_size, std::vector<int32_t>& out) {
  const json* value = fields.Find("eos_token_id");
  if (value == nullptr) return absl::OkStatus();
  const json list = value->is_array() ? *value : json::array({*value});
  std::vector<int32_t> ids;
  for (const json& id : list) {
    const json holder = {{"eos_token_id", id}};
    SHORTLIST_ASSIGN_OR_RETURN(
        const int64_t number,
        Fields(fields.where(), holder).Int("eos_token_id", 0, vocab_size - 1));
    if (std::find(ids.begin(), ids.end(), number) == ids.end())
      ids.push_back(static_cast<int32_t>(number));
  }
  out = std::move(ids);
  return absl::OkStatus();
}

absl::StatusOr<DType> ReadDType(const Fields& fields) {
  const char* const name = fields.Find("dtype") != nullptr ? "dtype" : "torch_dtype";
  const json* value = fields.Find(name);
  if (value == nullptr || *value == "float32") return DType::kF32;
  if (*value == "bfloat16") return DType::kBf16;
  if (*value == "float16") return DType::kF16;
  return fields.Unsupported(name, *value, "\"float32\", \"float16\" and \"bfloat16\" are");
}

}  // namespace

absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& dir) {
  const std::string path = absl::StrCat(dir, "/config.json");
  SHORTLIST_ASSIGN_OR_RETURN(const json object, ReadJsonFile(path, kMaxConfigBytes));
  if (!object.is_object())
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a JSON object"));
  const Fields fields(path, object);

  ModelConfig config;
  SHORTLIST_ASSIGN_OR_RETURN(config.architecture, ReadArchitecture(fields));
  SHORTLIST_RETURN_IF_ERROR(CheckNeutralFields(fields));
  SHORTLIST_RETURN_IF_ERROR(ReadShape(fields, config));
  SHORTLIST_RETURN_IF_ERROR(ReadRope(fields, config));
  SHORTLIST_ASSIGN_OR_RETURN(config.tie_word_embeddings, fields.Bool("tie_word_embeddings", false));
  if (config.architecture == ModelConfig::Architecture::kLlamaEagle) {
    // The original EAGLE-1 code gives fc a bias unless the configuration says otherwise.
    SHORTLIST_ASSIGN_OR_RETURN(config.fc_bias, fields.Bool("bias", true));
  }
  SHORTLIST_ASSIGN_OR_RETURN(config.checkpoint_dtype, ReadDType(fields));
  SHORTLIST_RETURN_IF_ERROR(ReadEos(fields, config.vocab_size, config.eos_token_ids));

  const std::string generation_path = absl::StrCat(dir, "/generation_config.json");
  std::error_code ignored;
  if (std::filesystem::exists(generation_path, ignored)) {
    SHORTLIST_ASSIGN_OR_RETURN(const json generation,
                               ReadJsonFile(generation_path, kMaxConfigBytes));
    if (!generation.is_object()) {
      return absl::InvalidArgumentError(absl::StrCat(generation_path, ": not a JSON object"));
    }
    SHORTLIST_RETURN_IF_ERROR(
        ReadEos(Fields(generation_path, generation), config.vocab_size, config.eos_token_ids));
  }
  return config;
}

}  // namespace shortlist
