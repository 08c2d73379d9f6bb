#ifndef SHORTLIST_MODEL_CHECKPOINT_EXPERT_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_EXPERT_CONFIG_H_

#include "absl/status/status.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

// Readers (Family::read) of mixtures of experts: their shape, and the layers that have them. Errors
// are those of ParseModelConfig.

/// Qwen3-MoE: all layers but those that decoder_sparse_step and mlp_only_layers leave out.
absl::Status ReadQwen3Moe(const ConfigFields& fields, ModelConfig& config);

/// Qwen2-MoE: the same, with a shared expert.
absl::Status ReadQwen2Moe(const ConfigFields& fields, ModelConfig& config);

/// OLMoE: all layers; intermediate_size is the experts'.
absl::Status ReadOlmoe(const ConfigFields& fields, ModelConfig& config);

/// Mixtral: the same. Weights are always normalised.
absl::Status ReadMixtral(const ConfigFields& fields, ModelConfig& config);

/// Granite 3 with experts: the same, and Granite's multipliers.
absl::Status ReadGraniteMoe(const ConfigFields& fields, ModelConfig& config);

/// Qwen3.5-MoE: all layers, with a shared expert; weights of experts are always normalised. The
/// rest is Qwen3.5's (ReadQwen35).
absl::Status ReadQwen35Moe(const ConfigFields& fields, ModelConfig& config);

inline constexpr const char* kExpertFields[] = {"num_experts", "num_local_experts"};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_EXPERT_CONFIG_H_
