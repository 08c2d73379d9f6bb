#ifndef SHORTLIST_MODEL_CHECKPOINT_QWEN3_5_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_QWEN3_5_CONFIG_H_

#include "absl/status/status.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

/// Sets what only Qwen3.5 (3.6, 3.8) has: which layers are gated delta nets and their shape, gates
/// of the attended heads, and norms whose weights are stored without their 1. Reads num_layers of
/// `config`. Errors are those of ParseModelConfig.
absl::Status ReadQwen35(const ConfigFields& fields, ModelConfig& config);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_QWEN3_5_CONFIG_H_
