#include "model/checkpoint/encoder_config.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/other_models.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;
using Family = EncoderConfig::Family;

struct KnownArchitecture {
  const char* name;
  Family family;
};
constexpr std::array kArchitectures = {
    KnownArchitecture{"BertModel", Family::kBert},
    KnownArchitecture{"BertForMaskedLM", Family::kBert},
    KnownArchitecture{"BertForSequenceClassification", Family::kBert},
    KnownArchitecture{"Contriever", Family::kBert},
    KnownArchitecture{"DistilBertModel", Family::kDistilBert},
    KnownArchitecture{"DistilBertForMaskedLM", Family::kDistilBert},
    KnownArchitecture{"DistilBertForSequenceClassification", Family::kDistilBert},
    KnownArchitecture{"RobertaModel", Family::kRoberta},
    KnownArchitecture{"RobertaForMaskedLM", Family::kRoberta},
    KnownArchitecture{"RobertaForSequenceClassification", Family::kRoberta},
    KnownArchitecture{"XLMRobertaModel", Family::kRoberta},
    KnownArchitecture{"XLMRobertaForMaskedLM", Family::kRoberta},
    KnownArchitecture{"XLMRobertaForSequenceClassification", Family::kRoberta},
    KnownArchitecture{"ModernBertModel", Family::kModernBert},
    KnownArchitecture{"ModernBertForMaskedLM", Family::kModernBert},
    KnownArchitecture{"ModernBertForSequenceClassification", Family::kModernBert},
};

constexpr std::array kNeutralFields = {
    NeutralField{"position_embedding_type", "\"absolute\""},
    NeutralField{"is_decoder", "false"},
    NeutralField{"is_causal", "false"},
    NeutralField{"is_encoder_decoder", "false"},
    NeutralField{"add_cross_attention", "false"},
    NeutralField{"num_key_value_heads", "null"},
    NeutralField{"pruned_heads", "{}"},
    NeutralField{"attention_bias", "false"},
    NeutralField{"mlp_bias", "false"},
    NeutralField{"rope_scaling", "null"},
    NeutralField{"partial_rotary_factor", "1"},
    NeutralField{"quantization_config", "null"},
    NeutralField{"compression_config", "null"},
    NeutralField{"auto_map", "null"},
};

/// Names in config.json of the layers' sizes and of the activation.
struct ShapeNames {
  const char* hidden;
  const char* intermediate;
  const char* num_layers;
  const char* num_heads;
  const char* activation;
};
constexpr ShapeNames kUsualNames = {"hidden_size", "intermediate_size", "num_hidden_layers",
                                    "num_attention_heads", "hidden_act"};
constexpr ShapeNames kDistilBertNames = {"dim", "hidden_dim", "n_layers", "n_heads", "activation"};

const ShapeNames& NamesOf(Family family) {
  return family == Family::kDistilBert ? kDistilBertNames : kUsualNames;
}

/// Returns null for an unknown architecture.
const KnownArchitecture* FindArchitecture(const json& name) {
  for (const KnownArchitecture& known : kArchitectures) {
    if (name == known.name) return &known;
  }
  return nullptr;
}

absl::Status CheckModelType(const ConfigFields& fields, const KnownArchitecture& known) {
  switch (known.family) {
    case Family::kBert:
      return fields.CheckModelType(known.name, {"bert"});
    case Family::kDistilBert:
      return fields.CheckModelType(known.name, {"distilbert"});
    case Family::kRoberta:
      return fields.CheckModelType(known.name, {"roberta", "xlm-roberta", "camembert"});
    case Family::kModernBert:
      return fields.CheckModelType(known.name, {"modernbert"});
  }
  SHORTLIST_CHECK(false);
}

absl::StatusOr<KnownArchitecture> ReadArchitecture(const ConfigFields& fields) {
  const json* list = fields.Find("architectures");
  if (list == nullptr) return fields.Invalid("architectures", "is missing");
  if (!list->is_array() || list->size() != 1 || !(*list)[0].is_string()) {
    return fields.Invalid("architectures",
                          absl::StrCat("= ", Quote(*list), " is not a list of one name"));
  }
  const KnownArchitecture* const known = FindArchitecture((*list)[0]);
  if (known == nullptr) return UnsupportedArchitecture(fields, (*list)[0]);
  SHORTLIST_RETURN_IF_ERROR(CheckModelType(fields, *known));
  return *known;
}

absl::StatusOr<Activation> ReadActivation(const ConfigFields& fields, const char* name) {
  const json* value = fields.Find(name);
  if (value == nullptr || *value == "gelu" || *value == "gelu_python") return Activation::kGeluErf;
  for (const char* tanh : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"}) {
    if (*value == tanh) return Activation::kGeluTanh;
  }
  return fields.Unsupported(
      name, *value,
      "\"gelu\", \"gelu_python\", \"gelu_new\", \"gelu_fast\" and \"gelu_pytorch_tanh\" are");
}

absl::Status ReadShape(const ConfigFields& fields, EncoderConfig& config) {
  const ShapeNames& names = NamesOf(config.family);
  SHORTLIST_ASSIGN_OR_RETURN(config.vocab_size, fields.Int("vocab_size", 1, kMaxVocabSize));
  SHORTLIST_ASSIGN_OR_RETURN(config.hidden, fields.Int(names.hidden, 1, kMaxHidden));
  SHORTLIST_ASSIGN_OR_RETURN(config.intermediate,
                             fields.Int(names.intermediate, 1, kMaxIntermediate));
  SHORTLIST_ASSIGN_OR_RETURN(config.num_layers, fields.Int(names.num_layers, 1, kMaxLayers));
  SHORTLIST_ASSIGN_OR_RETURN(config.num_heads, fields.Int(names.num_heads, 1, kMaxHeads));
  if (config.hidden % config.num_heads != 0) {
    return fields.Invalid(names.hidden, absl::StrCat("= ", config.hidden, " is not a multiple of ",
                                                     names.num_heads, " = ", config.num_heads));
  }
  config.head_dim = config.hidden / config.num_heads;
  const bool is_rotary = config.family == Family::kModernBert;
  if (config.head_dim > kMaxHeadDim || (is_rotary && config.head_dim % 2 != 0)) {
    return fields.Invalid(
        names.hidden,
        absl::StrCat("= ", config.hidden, " makes heads of ", config.head_dim, ", ",
                     is_rotary ? "not even, or " : "", "not in [1, ", kMaxHeadDim, "]"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t head_dim,
                             fields.Int("head_dim", 1, kMaxHeadDim, config.head_dim));
  if (head_dim != config.head_dim) {
    return fields.Unsupported(
        "head_dim", head_dim,
        absl::StrCat("only ", names.hidden, " / ", names.num_heads, " = ", config.head_dim, " is"));
  }
  return absl::OkStatus();
}

/// Reads learned positions and token types, for BERT, DistilBERT and RoBERTa.
absl::Status ReadEmbeddings(const ConfigFields& fields, EncoderConfig& config) {
  const bool has_padding_row = config.family == Family::kRoberta;
  SHORTLIST_ASSIGN_OR_RETURN(
      config.num_positions,
      fields.Int("max_position_embeddings", has_padding_row ? 3 : 1, kMaxContextLen));
  if (has_padding_row) {
    SHORTLIST_ASSIGN_OR_RETURN(
        const int64_t pad,
        fields.Int("pad_token_id", 0, config.num_positions - 2, /*otherwise=*/1));
    config.first_position = pad + 1;
  }
  config.context_len = config.num_positions - config.first_position;
  SHORTLIST_ASSIGN_OR_RETURN(config.activation,
                             ReadActivation(fields, NamesOf(config.family).activation));
  if (config.family == Family::kDistilBert) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(config.num_token_types,
                             fields.Int("type_vocab_size", 1, kMaxVocabSize, /*otherwise=*/2));
  SHORTLIST_ASSIGN_OR_RETURN(config.norm_eps,
                             fields.Real("layer_norm_eps", 0.0, 1.0, /*otherwise=*/1e-12));
  return absl::OkStatus();
}

/// Sets the local layers: those that layer_types calls "sliding_attention". Without layer_types:
/// all layers except every global_attn_every_n_layers-th, counted from the first.
absl::Status ReadLocalLayers(const ConfigFields& fields, EncoderConfig& config) {
  constexpr int64_t kPeriodDefault = 3, kLocalDefault = 128;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t period, fields.Int("global_attn_every_n_layers", 1,
                                                              kMaxLayers, kPeriodDefault));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t local,
                             fields.Int("local_attention", 1, kMaxContextLen, kLocalDefault));
  if (const json* window = fields.Find("sliding_window"); window != nullptr) {
    // transformers 5 sets local_attention to twice this field.
    const bool agrees = fields.Find("local_attention") != nullptr && *window == local / 2;
    if (!agrees) {
      return fields.Unsupported("sliding_window", *window,
                                "only half of local_attention, the field for it, is");
    }
  }
  config.local_radius = local / 2;
  for (int64_t i = 0; i < config.num_layers; ++i) config.is_local.push_back(i % period != 0);
  const json* types = fields.Find("layer_types");
  if (types == nullptr) return absl::OkStatus();
  if (!types->is_array() || static_cast<int64_t>(types->size()) != config.num_layers) {
    return fields.Invalid("layer_types", absl::StrCat("= ", Quote(*types), " is not a list of ",
                                                      config.num_layers, " names"));
  }
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const json& type = (*types)[i];
    if (type != "sliding_attention" && type != "full_attention") {
      return fields.Unsupported("layer_types", type,
                                "only \"full_attention\" and \"sliding_attention\" are");
    }
    config.is_local[i] = type == "sliding_attention";
  }
  return absl::OkStatus();
}

/// Returns the theta of one kind of layer, from rope_parameters (newer exports) or a field of its
/// own.
absl::StatusOr<double> ReadTheta(const ConfigFields& fields, const char* kind, const char* old_name,
                                 double otherwise) {
  SHORTLIST_ASSIGN_OR_RETURN(otherwise, fields.Real(old_name, kMinTheta, kMaxTheta, otherwise));
  const json* parameters = fields.Find("rope_parameters");
  if (parameters == nullptr) return otherwise;
  if (!parameters->is_object()) {
    return fields.Invalid("rope_parameters",
                          absl::StrCat("= ", Quote(*parameters), " is not an object"));
  }
  const ConfigFields kinds(absl::StrCat(fields.where(), ": rope_parameters"), *parameters);
  const json* own = kinds.Find(kind);
  if (own == nullptr) return otherwise;
  if (!own->is_object()) {
    return kinds.Invalid(kind, absl::StrCat("= ", Quote(*own), " is not an object"));
  }
  const ConfigFields rope(absl::StrCat(kinds.where(), ": ", kind), *own);
  for (const auto& [key, value] : own->items()) {
    const bool is_default = (key == "rope_type" || key == "type") && value == "default";
    if (key != "rope_theta" && !is_default && !value.is_null()) {
      return absl::UnimplementedError(
          absl::StrCat(rope.where(), ": ", Quote(key), " = ", Quote(value), " is not supported"));
    }
  }
  return rope.Real("rope_theta", kMinTheta, kMaxTheta, otherwise);
}

absl::Status ReadModernBert(const ConfigFields& fields, EncoderConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(config.context_len,
                             fields.Int("max_position_embeddings", 1, kMaxContextLen));
  SHORTLIST_ASSIGN_OR_RETURN(config.norm_eps,
                             fields.Real("norm_eps", 0.0, 1.0, /*otherwise=*/1e-5));
  SHORTLIST_ASSIGN_OR_RETURN(config.norm_bias, fields.Bool("norm_bias", false));
  SHORTLIST_ASSIGN_OR_RETURN(config.activation, ReadActivation(fields, "hidden_activation"));
  SHORTLIST_RETURN_IF_ERROR(ReadLocalLayers(fields, config));
  SHORTLIST_ASSIGN_OR_RETURN(
      config.global_rope_theta,
      ReadTheta(fields, "full_attention", "global_rope_theta", config.global_rope_theta));
  // Null, unlike absent, means that local layers use the global theta.
  const auto local = fields.object().find("local_rope_theta");
  const bool is_null = local != fields.object().end() && local->is_null();
  SHORTLIST_ASSIGN_OR_RETURN(
      config.local_rope_theta,
      ReadTheta(fields, "sliding_attention", "local_rope_theta",
                is_null ? config.global_rope_theta : config.local_rope_theta));
  return absl::OkStatus();
}

}  // namespace

bool IsEncoderConfig(const json& object) {
  if (!object.is_object()) return false;
  const auto list = object.find("architectures");
  return list != object.end() && list->is_array() && list->size() == 1 &&
         FindArchitecture((*list)[0]) != nullptr;
}

absl::StatusOr<EncoderConfig> ParseEncoderConfig(const json& object, const std::string& path) {
  if (!object.is_object())
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a JSON object"));
  const ConfigFields fields(path, object);
  EncoderConfig config;
  SHORTLIST_ASSIGN_OR_RETURN(const KnownArchitecture known, ReadArchitecture(fields));
  config.architecture = known.name;
  config.family = known.family;
  SHORTLIST_RETURN_IF_ERROR(fields.CheckNeutral(kNeutralFields));
  SHORTLIST_RETURN_IF_ERROR(ReadShape(fields, config));
  SHORTLIST_RETURN_IF_ERROR(known.family == Family::kModernBert ? ReadModernBert(fields, config)
                                                                : ReadEmbeddings(fields, config));
  SHORTLIST_ASSIGN_OR_RETURN(config.checkpoint_dtype, fields.StoredDType());
  return config;
}

absl::StatusOr<EncoderConfig> ReadEncoderConfig(const ModelSource& source) {
  SHORTLIST_RETURN_IF_ERROR(RefuseAdapter(source));
  constexpr char kName[] = "config.json";
  SHORTLIST_ASSIGN_OR_RETURN(const json object, source.ReadJson(kName));
  return ParseEncoderConfig(object, source.PathOf(kName));
}

}  // namespace shortlist
