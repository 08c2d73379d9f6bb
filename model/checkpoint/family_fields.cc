#include "model/checkpoint/family_fields.h"

#include <array>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr double kMaxMultiplier = 1e6;

/// Returns an empty text for another value than a text.
std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

absl::Status ReadLlama(const ConfigFields& fields, ModelConfig& config) {
  constexpr std::array kNoBiases = {NeutralField{"attention_bias", "false"},
                                    NeutralField{"mlp_bias", "false"}};
  if (config.is_eagle) return fields.CheckNeutral(kNoBiases);
  SHORTLIST_ASSIGN_OR_RETURN(config.qkv_bias, fields.Bool("attention_bias", false));
  config.output_bias = config.qkv_bias;
  SHORTLIST_ASSIGN_OR_RETURN(config.mlp_bias, fields.Bool("mlp_bias", false));
  return absl::OkStatus();
}

absl::Status ReadMinistral3(const ConfigFields& fields, ModelConfig& config) {
  // Its own code needs both numbers, and sets them if rope_parameters are absent.
  const RopeScaling& scaling = config.rope_scaling;
  if (scaling.query_beta > 0.0 && scaling.original_max_position_embeddings > 0) {
    return absl::OkStatus();
  }
  return fields.Invalid("rope_parameters",
                        "lacks llama_4_scaling_beta, or scaling with an original length");
}

absl::Status ReadGranite(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadLlama(fields, config));
  const auto real = [&](const char* name) {
    return fields.Real(name, 0.0, kMaxMultiplier, /*otherwise=*/1.0);
  };
  SHORTLIST_ASSIGN_OR_RETURN(config.embedding_scale, real("embedding_multiplier"));
  SHORTLIST_ASSIGN_OR_RETURN(config.attention_scale, real("attention_multiplier"));
  SHORTLIST_ASSIGN_OR_RETURN(config.residual_scale, real("residual_multiplier"));
  SHORTLIST_ASSIGN_OR_RETURN(
      const double logits_scaling,
      fields.Real("logits_scaling", 1.0 / kMaxMultiplier, kMaxMultiplier, /*otherwise=*/1.0));
  config.logit_scale = 1.0 / logits_scaling;
  return absl::OkStatus();
}

absl::Status ReadGraniteHybrid(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadGranite(fields, config));
  constexpr char kTypes[] = "layer_types", kExperts[] = "num_local_experts";
  constexpr char kPositions[] = "position_embedding_type";
  const json* const types = fields.Find(kTypes);
  if (types == nullptr) return fields.Unsupported(kTypes, json(), "only layers of attention are");
  if (!types->is_array() || static_cast<int64_t>(types->size()) != config.num_layers) {
    return fields.Invalid(kTypes, absl::StrCat("= ", Quote(*types), " is not a list of ",
                                               config.num_layers, " names"));
  }
  for (const json& type : *types) {
    const std::string name = TextOf(type);
    if (name == "attention" || name == "full_attention") continue;
    return fields.Unsupported(kTypes, type, "only \"attention\" and \"full_attention\" are");
  }
  constexpr std::array kNoExperts = {NeutralField{"num_local_experts", "0"}};
  if (fields.Find(kExperts) == nullptr) return fields.Unsupported(kExperts, json(), "only 0 is");
  SHORTLIST_RETURN_IF_ERROR(fields.CheckNeutral(kNoExperts));
  const json* const positions = fields.Find(kPositions);
  const std::string kind = positions == nullptr ? "nope" : TextOf(*positions);
  const bool is_rotated = kind == "rope";
  if (!is_rotated && kind != "nope") {
    return fields.Unsupported(kPositions, *positions, "\"rope\", \"nope\" and null are");
  }
  config.unrotated.assign(static_cast<size_t>(config.num_layers), !is_rotated);
  return absl::OkStatus();
}

absl::Status ReadSmolLm3(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadLlama(fields, config));
  constexpr char kName[] = "no_rope_layers";
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t interval,
                             fields.Int("no_rope_layer_interval", 1, kMaxLayers, /*otherwise=*/4));
  const json* const rotated = fields.Find(kName);
  if (rotated != nullptr &&
      (!rotated->is_array() || static_cast<int64_t>(rotated->size()) < config.num_layers)) {
    return fields.Invalid(kName, absl::StrCat("= ", Quote(*rotated), " is not a list of at least ",
                                              config.num_layers, " numbers"));
  }
  for (int64_t i = 0; i < config.num_layers; ++i) {
    if (rotated == nullptr) {
      config.unrotated.push_back((i + 1) % interval == 0);
      continue;
    }
    const json& value = (*rotated)[i];
    if (value != 0 && value != 1) {
      return fields.Invalid(
          kName, absl::StrCat("= ", Quote(value), " at layer ", i, " is neither 0 nor 1"));
    }
    config.unrotated.push_back(value == 0);  // despite the name
  }
  return absl::OkStatus();
}

absl::Status ReadExaone4(const ConfigFields& /*fields*/, ModelConfig& config) {
  for (const int64_t window : config.windows) config.unrotated.push_back(window == 0);
  return absl::OkStatus();
}

absl::Status ReadGlm(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(config.qkv_bias, fields.Bool("attention_bias", true));
  return absl::OkStatus();
}

absl::Status ReadSeedOss(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(config.qkv_bias, fields.Bool("attention_bias", true));
  SHORTLIST_ASSIGN_OR_RETURN(config.output_bias, fields.Bool("attention_out_bias", false));
  SHORTLIST_ASSIGN_OR_RETURN(config.mlp_bias, fields.Bool("mlp_bias", false));
  return absl::OkStatus();
}

absl::Status ReadGemma(const ConfigFields& fields, ModelConfig& config) {
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
  config.rounds_embedding_scale = true;
  // GGUF files store the sum: io/gguf/gguf_model.cc writes 0 into this field, which only its
  // documents have.
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t norm_offset,
                             fields.Int("norm_offset", 0, 1, /*otherwise=*/1));
  config.norm_offset = static_cast<double>(norm_offset);
  return absl::OkStatus();
}

absl::Status ReadGemma3(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadGemma(fields, config));
  constexpr double kDefaultScalar = 256.0, kMaxScalar = 1e6;
  SHORTLIST_ASSIGN_OR_RETURN(const double scalar,
                             fields.Real("query_pre_attn_scalar", 0.0, kMaxScalar, kDefaultScalar));
  config.attention_scale = 1.0 / std::sqrt(scalar);
  return absl::OkStatus();
}

}  // namespace shortlist
