#include "model/checkpoint/expert_config.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "model/checkpoint/family_fields.h"
#include "model/checkpoint/qwen3_5_config.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kWidth[] = "moe_intermediate_size";

/// `width`: the field of an expert's intermediate size.
absl::Status ReadShape(const ConfigFields& fields, const char* width, ExpertShape& experts) {
  constexpr int64_t kMaxExperts = 4096;
  // transformers 5 saves num_experts under another name.
  constexpr char kName[] = "num_experts", kSavedName[] = "num_local_experts";
  const bool has_saved = fields.Find(kSavedName) != nullptr;
  SHORTLIST_ASSIGN_OR_RETURN(experts.num_experts,
                             fields.Int(has_saved ? kSavedName : kName, 1, kMaxExperts));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t other,
                             fields.Int(kName, 1, kMaxExperts, experts.num_experts));
  if (other != experts.num_experts) {
    return fields.Invalid(
        kSavedName, absl::StrCat("= ", experts.num_experts, " contradicts num_experts = ", other));
  }
  SHORTLIST_ASSIGN_OR_RETURN(experts.num_used,
                             fields.Int("num_experts_per_tok", 1, experts.num_experts));
  SHORTLIST_ASSIGN_OR_RETURN(experts.intermediate, fields.Int(width, 1, kMaxIntermediate));
  return absl::OkStatus();
}

absl::Status ReadSharedExpert(const ConfigFields& fields, ExpertShape& experts) {
  SHORTLIST_ASSIGN_OR_RETURN(experts.shared_intermediate,
                             fields.Int("shared_expert_intermediate_size", 1, kMaxIntermediate));
  return absl::OkStatus();
}

/// Sets the layers that have experts.
absl::Status ReadLayers(const ConfigFields& fields, ModelConfig& config) {
  constexpr char kDenseLayers[] = "mlp_only_layers";
  std::vector<bool>& layers = config.experts.layers;
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t step,
                             fields.Int("decoder_sparse_step", 1, kMaxLayers, /*otherwise=*/1));
  for (int64_t i = 0; i < config.num_layers; ++i) layers.push_back((i + 1) % step == 0);
  const json* const dense = fields.Find(kDenseLayers);
  if (dense == nullptr) return absl::OkStatus();
  const auto is_layer = [&](const json& layer) {
    return layer.is_number_integer() && layer >= 0 && layer < config.num_layers;
  };
  if (!dense->is_array() || !std::all_of(dense->begin(), dense->end(), is_layer)) {
    return fields.Invalid(kDenseLayers,
                          absl::StrCat("= ", Quote(*dense), " is not a list of layers in [0, ",
                                       config.num_layers, ")"));
  }
  for (const json& layer : *dense) layers[layer.get<size_t>()] = false;
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadQwen3Moe(const ConfigFields& fields, ModelConfig& config) {
  // Its own code would give all layers the window.
  constexpr std::array kNoWindow = {NeutralField{"use_sliding_window", "false"}};
  SHORTLIST_RETURN_IF_ERROR(fields.CheckNeutral(kNoWindow));
  SHORTLIST_RETURN_IF_ERROR(ReadShape(fields, kWidth, config.experts));
  SHORTLIST_ASSIGN_OR_RETURN(config.experts.normalises, fields.Bool("norm_topk_prob", false));
  return ReadLayers(fields, config);
}

absl::Status ReadQwen2Moe(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadQwen3Moe(fields, config));
  return ReadSharedExpert(fields, config.experts);
}

absl::Status ReadOlmoe(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadShape(fields, "intermediate_size", config.experts));
  SHORTLIST_ASSIGN_OR_RETURN(config.experts.normalises, fields.Bool("norm_topk_prob", false));
  config.experts.layers.assign(static_cast<size_t>(config.num_layers), true);
  return absl::OkStatus();
}

absl::Status ReadMixtral(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadOlmoe(fields, config));
  config.experts.normalises = true;
  config.experts.names = {.parts = {"w1", "w3", "w2"}};
  return absl::OkStatus();
}

absl::Status ReadGraniteMoe(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadGranite(fields, config));
  SHORTLIST_RETURN_IF_ERROR(ReadOlmoe(fields, config));
  config.experts.normalises = true;
  config.experts.names = {.router = "router.layer.weight",
                          .gate_up = "input_linear.weight",
                          .down = "output_linear.weight"};
  return absl::OkStatus();
}

absl::Status ReadQwen35Moe(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadQwen35(fields, config));
  SHORTLIST_RETURN_IF_ERROR(ReadShape(fields, kWidth, config.experts));
  SHORTLIST_RETURN_IF_ERROR(ReadSharedExpert(fields, config.experts));
  config.experts.normalises = true;
  config.experts.layers.assign(static_cast<size_t>(config.num_layers), true);
  return absl::OkStatus();
}

}  // namespace shortlist
