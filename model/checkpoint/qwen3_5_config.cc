#include "model/checkpoint/qwen3_5_config.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

/// Sets which layers are recurrent: those that layer_types calls "linear_attention", or without
/// layer_types all but every full_attention_interval-th.
absl::Status ReadLayerTypes(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t interval,
                             fields.Int("full_attention_interval", 1, kMaxLayers, /*otherwise=*/4));
  const json* const types = fields.Find("layer_types");
  if (types != nullptr &&
      (!types->is_array() || static_cast<int64_t>(types->size()) != config.num_layers)) {
    return fields.Invalid("layer_types", absl::StrCat("= ", Quote(*types), " is not a list of ",
                                                      config.num_layers, " names"));
  }
  config.recurrent.clear();
  for (int64_t i = 0; i < config.num_layers; ++i) {
    if (types == nullptr) {
      config.recurrent.push_back((i + 1) % interval != 0);
      continue;
    }
    const json& type = (*types)[i];
    if (type != "linear_attention" && type != "full_attention") {
      return fields.Unsupported("layer_types", type,
                                "only \"linear_attention\" and \"full_attention\" are");
    }
    config.recurrent.push_back(type == "linear_attention");
  }
  if (config.num_recurrent_layers() < config.num_layers) return absl::OkStatus();
  return fields.Unsupported("layer_types", "linear_attention",
                            "at least one layer of \"full_attention\" must be there: only then");
}

absl::Status ReadDeltaNet(const ConfigFields& fields, DeltaNetShape& shape) {
  SHORTLIST_ASSIGN_OR_RETURN(shape.num_key_heads,
                             fields.Int("linear_num_key_heads", 1, kMaxHeads, /*otherwise=*/16));
  SHORTLIST_ASSIGN_OR_RETURN(shape.num_value_heads,
                             fields.Int("linear_num_value_heads", 1, kMaxHeads, /*otherwise=*/32));
  SHORTLIST_ASSIGN_OR_RETURN(shape.key_dim,
                             fields.Int("linear_key_head_dim", 1, kMaxHeadDim, /*otherwise=*/128));
  SHORTLIST_ASSIGN_OR_RETURN(
      shape.value_dim, fields.Int("linear_value_head_dim", 1, kMaxHeadDim, /*otherwise=*/128));
  constexpr int64_t kMaxConvLen = 64;
  SHORTLIST_ASSIGN_OR_RETURN(shape.conv_len,
                             fields.Int("linear_conv_kernel_dim", 1, kMaxConvLen, /*otherwise=*/4));
  if (shape.num_value_heads % shape.num_key_heads == 0) return absl::OkStatus();
  return fields.Invalid(
      "linear_num_value_heads",
      absl::StrCat("= ", shape.num_value_heads,
                   " is not a multiple of linear_num_key_heads = ", shape.num_key_heads));
}

}  // namespace

absl::Status ReadQwen35(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadLayerTypes(fields, config));
  SHORTLIST_RETURN_IF_ERROR(ReadDeltaNet(fields, config.delta_net));
  SHORTLIST_ASSIGN_OR_RETURN(config.output_gate, fields.Bool("attn_output_gate", true));
  if (!config.output_gate) return fields.Unsupported("attn_output_gate", false, "only true is");
  // GGUF files store the sum, and value heads in another order: io/gguf writes these fields, which
  // only its documents have.
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t norm_offset,
                             fields.Int("norm_offset", 0, 1, /*otherwise=*/1));
  config.norm_offset = static_cast<double>(norm_offset);
  SHORTLIST_ASSIGN_OR_RETURN(config.delta_net.is_tiled,
                             fields.Bool("value_heads_are_tiled", false));
  return absl::OkStatus();
}

}  // namespace shortlist
