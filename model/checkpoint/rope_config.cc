#include "model/checkpoint/rope_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;
using Type = RopeScaling::Type;

// Within these bounds, and those of theta, every frequency and angle is a finite f32.
constexpr double kMinFactor = 1e-6;
constexpr double kMaxFactor = 1e6;

absl::StatusOr<Type> ReadType(const ConfigFields& rope) {
  const json* old_name = rope.Find("type");
  const json* new_name = rope.Find("rope_type");
  if (old_name != nullptr && new_name != nullptr && *old_name != *new_name) {
    return rope.Invalid("rope_type", absl::StrCat("= ", Quote(*new_name),
                                                  " contradicts type = ", Quote(*old_name)));
  }
  const json* name = new_name != nullptr ? new_name : old_name;
  if (name == nullptr || *name == "default") return Type::kDefault;
  if (*name == "linear") return Type::kLinear;
  if (*name == "dynamic") return Type::kDynamic;
  if (*name == "llama3") return Type::kLlama3;
  if (*name == "yarn") return Type::kYarn;
  if (*name == "longrope" || *name == "su") return Type::kLongRope;
  return rope.Unsupported(
      "rope_type", *name,
      "\"default\", \"linear\", \"dynamic\", \"llama3\", \"yarn\" and \"longrope\" are");
}

absl::Status CheckKnownKeys(const ConfigFields& rope) {
  constexpr std::array kKnown = {"type", "rope_type", "rope_theta",
                                 "partial_rotary_factor",  // ReadRotaryDim
                                 // Axes of pictures; all axes of text are its positions.
                                 "mrope_section", "mrope_interleaved", "factor", "low_freq_factor",
                                 "high_freq_factor", "original_max_position_embeddings",
                                 "attention_factor", "beta_fast", "beta_slow", "mscale",
                                 "mscale_all_dim", "truncate", "short_factor", "long_factor",
                                 "llama_4_scaling_beta", "max_position_embeddings"};
  for (const auto& [key, value] : rope.object().items()) {
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end() && !value.is_null()) {
      return absl::UnimplementedError(
          absl::StrCat(rope.where(), ": ", Quote(key), " = ", Quote(value), " is not supported"));
    }
  }
  return absl::OkStatus();
}

/// Replaces `theta`, read from the field `name` of `fields` or its default, by rope_theta of
/// `rope`.
absl::Status ReadThetaInside(const ConfigFields& fields, const char* name, const ConfigFields& rope,
                             double& theta) {
  if (rope.Find("rope_theta") == nullptr) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const double inside, rope.Real("rope_theta", kMinTheta, kMaxTheta));
  if (fields.Find(name) != nullptr && inside != theta) {
    return rope.Invalid(
        "rope_theta", absl::StrCat("= ", inside, " contradicts the model's ", name, " = ", theta));
  }
  theta = inside;
  return absl::OkStatus();
}

/// Returns YaRN's temperature for a context `factor` times as long (Peng et al. 2023, section 3.4).
double YarnScale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

absl::Status ReadYarn(const ConfigFields& rope, const ModelConfig& config, RopeScaling& out) {
  if (config.rope_theta <= 1.0) {
    return rope.Invalid("rope_theta", absl::StrCat("= ", config.rope_theta, " not in (1, ",
                                                   kMaxTheta, "], as yarn needs"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(out.beta_slow,
                             rope.Real("beta_slow", kMinFactor, kMaxFactor, /*otherwise=*/1.0));
  SHORTLIST_ASSIGN_OR_RETURN(out.beta_fast,
                             rope.Real("beta_fast", out.beta_slow, kMaxFactor, /*otherwise=*/32.0));
  SHORTLIST_ASSIGN_OR_RETURN(out.truncate, rope.Bool("truncate", true));
  SHORTLIST_ASSIGN_OR_RETURN(const double mscale,
                             rope.Real("mscale", kMinFactor, kMaxFactor, /*otherwise=*/1.0));
  SHORTLIST_ASSIGN_OR_RETURN(const double mscale_all_dim, rope.Real("mscale_all_dim", kMinFactor,
                                                                    kMaxFactor, /*otherwise=*/1.0));
  const bool has_both = rope.Find("mscale") != nullptr && rope.Find("mscale_all_dim") != nullptr;
  const double inferred =
      has_both ? YarnScale(out.factor, mscale) / YarnScale(out.factor, mscale_all_dim)
               : YarnScale(out.factor, /*mscale=*/1.0);
  SHORTLIST_ASSIGN_OR_RETURN(out.attention_factor,
                             rope.Real("attention_factor", kMinFactor, kMaxFactor, inferred));
  return absl::OkStatus();
}

/// Reads the list `name` of [config.rotary_dim / 2] positive factors.
absl::StatusOr<std::vector<double>> ReadFactors(const ConfigFields& rope, const char* name,
                                                const ModelConfig& config) {
  const size_t size = static_cast<size_t>(config.rotary_dim / 2);
  const json* const list = rope.Find(name);
  if (list == nullptr) return rope.Invalid(name, "is missing");
  if (!list->is_array() || list->size() != size) {
    return rope.Invalid(name, absl::StrCat("= ", Quote(*list), " is not a list of ", size,
                                           " numbers, half the rotated dimensions"));
  }
  std::vector<double> factors;
  for (const json& value : *list) {
    const double factor = value.is_number() ? value.get<double>() : 0.0;
    if (!(factor > kMinFactor && factor <= kMaxFactor)) {
      return rope.Invalid(name, absl::StrCat("holds ", Quote(value), ", not in (", kMinFactor, ", ",
                                             kMaxFactor, "]"));
    }
    factors.push_back(factor);
  }
  return factors;
}

/// Limits the context to the original length.
absl::Status ReadLongRope(const ConfigFields& fields, const ConfigFields& rope,
                          ModelConfig& config) {
  RopeScaling& out = config.rope_scaling;
  constexpr char kOriginal[] = "original_max_position_embeddings";
  const ConfigFields& holder = fields.Find(kOriginal) != nullptr ? fields : rope;
  SHORTLIST_ASSIGN_OR_RETURN(out.original_max_position_embeddings,
                             holder.Int(kOriginal, 2, kMaxContextLen));
  const double original = static_cast<double>(out.original_max_position_embeddings);
  SHORTLIST_ASSIGN_OR_RETURN(out.factor,
                             rope.Real("factor", kMinFactor, kMaxFactor,
                                       static_cast<double>(config.context_len) / original));
  const double inferred =
      out.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(out.factor) / std::log(original));
  SHORTLIST_ASSIGN_OR_RETURN(out.attention_factor,
                             rope.Real("attention_factor", kMinFactor, kMaxFactor, inferred));
  SHORTLIST_ASSIGN_OR_RETURN(out.short_factors, ReadFactors(rope, "short_factor", config));
  SHORTLIST_RETURN_IF_ERROR(ReadFactors(rope, "long_factor", config).status());
  config.context_len = std::min(config.context_len, out.original_max_position_embeddings);
  return absl::OkStatus();
}

int64_t Stretched(int64_t positions, double factor) {
  return std::min(kMaxContextLen, static_cast<int64_t>(static_cast<double>(positions) * factor));
}

/// Reads the fields other than the type, for a type that scales.
absl::Status ReadScaling(const ConfigFields& fields, const ConfigFields& rope,
                         ModelConfig& config) {
  RopeScaling& out = config.rope_scaling;
  SHORTLIST_ASSIGN_OR_RETURN(out.factor, rope.Real("factor", kMinFactor, kMaxFactor));
  const int64_t max_positions = config.context_len;
  if (out.type == Type::kLinear) return absl::OkStatus();
  if (out.type == Type::kDynamic) {
    if (config.rotary_dim < 4) {
      return fields.Invalid("head_dim", absl::StrCat("= ", config.rotary_dim,
                                                     " not at least 4, as dynamic rope needs"));
    }
    if (out.factor < 1.0) {
      return rope.Invalid("factor", absl::StrCat("= ", out.factor, " not in [1, ", kMaxFactor,
                                                 "], as dynamic rope needs"));
    }
    out.original_max_position_embeddings = max_positions;
    config.context_len = Stretched(max_positions, out.factor);
    return absl::OkStatus();
  }
  // Some exports have it next to the object, where it takes precedence in transformers too.
  const ConfigFields& holder =
      fields.Find("original_max_position_embeddings") != nullptr ? fields : rope;
  SHORTLIST_ASSIGN_OR_RETURN(
      out.original_max_position_embeddings,
      holder.Int("original_max_position_embeddings", 1, kMaxContextLen, max_positions));
  if (out.type == Type::kYarn) {
    config.context_len =
        std::max(max_positions, Stretched(out.original_max_position_embeddings, out.factor));
    return ReadYarn(rope, config, out);
  }
  SHORTLIST_ASSIGN_OR_RETURN(out.low_freq_factor,
                             rope.Real("low_freq_factor", kMinFactor, kMaxFactor));
  SHORTLIST_ASSIGN_OR_RETURN(out.high_freq_factor,
                             rope.Real("high_freq_factor", out.low_freq_factor, kMaxFactor));
  return absl::OkStatus();
}

/// Sets rope_theta and rope_scaling of `config` from `object`, at `where`.
absl::Status ReadRopeObject(const ConfigFields& fields, const std::string& where,
                            const json& object, ModelConfig& config) {
  const ConfigFields rope(where, object);
  SHORTLIST_ASSIGN_OR_RETURN(config.rope_scaling.type, ReadType(rope));
  SHORTLIST_RETURN_IF_ERROR(CheckKnownKeys(rope));
  SHORTLIST_RETURN_IF_ERROR(ReadThetaInside(fields, "rope_theta", rope, config.rope_theta));
  const Type type = config.rope_scaling.type;
  SHORTLIST_ASSIGN_OR_RETURN(config.rope_scaling.query_beta,
                             rope.Real("llama_4_scaling_beta", 0.0, kMaxFactor, /*otherwise=*/0.0));
  if (config.rope_scaling.query_beta > 0.0 && type != Type::kYarn) {
    return rope.Unsupported("llama_4_scaling_beta", config.rope_scaling.query_beta,
                            "only with rope_type \"yarn\" it is");
  }
  if (type == Type::kDefault) return absl::OkStatus();
  return type == Type::kLongRope ? ReadLongRope(fields, rope, config)
                                 : ReadScaling(fields, rope, config);
}

/// Sets window_rope_theta of `config` from `object`, at `where`.
absl::Status ReadWindowRope(const ConfigFields& fields, const std::string& where,
                            const json& object, ModelConfig& config) {
  const ConfigFields rope(where, object);
  SHORTLIST_ASSIGN_OR_RETURN(const Type type, ReadType(rope));
  if (type != Type::kDefault) {
    const char* const name = rope.Find("rope_type") != nullptr ? "rope_type" : "type";
    return rope.Unsupported(name, *rope.Find(name), "only \"default\" is");
  }
  SHORTLIST_RETURN_IF_ERROR(CheckKnownKeys(rope));
  return ReadThetaInside(fields, "rope_local_base_freq", rope, config.window_rope_theta);
}

absl::Status CheckIsObject(const ConfigFields& fields, const char* name, const json& value) {
  if (value.is_object()) return absl::OkStatus();
  return fields.Invalid(name, absl::StrCat("= ", Quote(value), " is not an object"));
}

}  // namespace

absl::Status ReadRotaryDim(const ConfigFields& fields, double otherwise, bool may_be_part,
                           ModelConfig& config) {
  constexpr char kName[] = "partial_rotary_factor";
  const json* inside = fields.Find("rope_parameters");
  if (inside == nullptr) inside = fields.Find("rope_scaling");
  const json nothing = json::object();
  const bool is_object = inside != nullptr && inside->is_object();
  const ConfigFields rope(absl::StrCat(fields.where(), ": rope_parameters"),
                          is_object ? *inside : nothing);
  const ConfigFields& holder = rope.Find(kName) != nullptr ? rope : fields;
  SHORTLIST_ASSIGN_OR_RETURN(const double factor, holder.Real(kName, 0.0, 1.0, otherwise));
  if (!may_be_part && factor != 1.0) {
    return holder.Unsupported(kName, *holder.Find(kName), "only 1 is");
  }
  config.rotary_dim = static_cast<int64_t>(static_cast<double>(config.head_dim) * factor);
  if (config.rotary_dim >= 2 && config.rotary_dim % 2 == 0) return absl::OkStatus();
  return holder.Invalid(
      kName, absl::StrCat("= ", factor, " rotates ", config.rotary_dim, " of ", config.head_dim,
                          " dimensions of a head, not an even number of at least 2"));
}

absl::Status ReadRope(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(config.rope_theta,
                             fields.Real("rope_theta", kMinTheta, kMaxTheta, config.rope_theta));
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
  SHORTLIST_RETURN_IF_ERROR(CheckIsObject(fields, name, *object));
  return ReadRopeObject(fields, absl::StrCat(fields.where(), ": ", name), *object, config);
}

absl::Status ReadRopeByLayerType(const ConfigFields& fields, ModelConfig& config) {
  constexpr char kScaling[] = "rope_scaling", kParameters[] = "rope_parameters";
  SHORTLIST_ASSIGN_OR_RETURN(config.rope_theta,
                             fields.Real("rope_theta", kMinTheta, kMaxTheta, config.rope_theta));
  SHORTLIST_ASSIGN_OR_RETURN(
      config.window_rope_theta,
      fields.Real("rope_local_base_freq", kMinTheta, kMaxTheta, config.window_rope_theta));
  const json* scaling = fields.Find(kScaling);
  const json* parameters = fields.Find(kParameters);
  if (scaling != nullptr && parameters != nullptr) {
    return fields.Unsupported(kScaling, *scaling, "next to rope_parameters only null is");
  }
  if (scaling != nullptr) {
    SHORTLIST_RETURN_IF_ERROR(CheckIsObject(fields, kScaling, *scaling));
    SHORTLIST_RETURN_IF_ERROR(
        ReadRopeObject(fields, absl::StrCat(fields.where(), ": ", kScaling), *scaling, config));
  }
  if (parameters != nullptr) {
    SHORTLIST_RETURN_IF_ERROR(CheckIsObject(fields, kParameters, *parameters));
    const ConfigFields types(absl::StrCat(fields.where(), ": ", kParameters), *parameters);
    for (const auto& [type, object] : parameters->items()) {
      if (object.is_null()) continue;
      const std::string where = absl::StrCat(types.where(), ": ", Quote(type));
      const bool is_full = type == "full_attention";
      if (!is_full && type != "sliding_attention") {
        return absl::UnimplementedError(
            absl::StrCat(where, " = ", Quote(object), " is not supported"));
      }
      SHORTLIST_RETURN_IF_ERROR(CheckIsObject(types, type.c_str(), object));
      SHORTLIST_RETURN_IF_ERROR(is_full ? ReadRopeObject(fields, where, object, config)
                                        : ReadWindowRope(fields, where, object, config));
    }
  }
  const Type type = config.rope_scaling.type;
  if (type == Type::kDefault || type == Type::kLinear || type == Type::kYarn) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat(fields.where(),
                   ": of the kinds of RoPE scaling only \"default\", \"linear\" and \"yarn\" "
                   "are supported here"));
}

}  // namespace shortlist
