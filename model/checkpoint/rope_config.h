#ifndef SHORTLIST_MODEL_CHECKPOINT_ROPE_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_ROPE_CONFIG_H_

#include "absl/status/status.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

/// Sets rotary_dim of `config` from head_dim and partial_rotary_factor, which may lie in
/// rope_parameters too; `otherwise` without it. Unimplemented for another factor than 1 unless
/// `may_be_part`. Errors are those of ParseModelConfig.
absl::Status ReadRotaryDim(const ConfigFields& fields, double otherwise, bool may_be_part,
                           ModelConfig& config);

/// Sets rope_theta and rope_scaling of `config` from rope_theta and rope_scaling (older exports) or
/// rope_parameters (newer ones, with rope_theta inside). Reads rotary_dim and context_len
/// (max_position_embeddings until then) of `config`, and its rope_theta as the default. Raises
/// context_len if the scaling extends the model's context; longrope limits it to the original
/// length. Errors are those of ParseModelConfig.
absl::Status ReadRope(const ConfigFields& fields, ModelConfig& config);

/// ReadRope for Gemma 3 and OLMo 3, whose layers with a window have a base of their own:
/// rope_theta, rope_local_base_freq and rope_scaling (older exports), or rope_parameters by layer
/// type (newer ones). Sets window_rope_theta too, whose default it has before. The other layers'
/// scaling is none, linear or yarn.
absl::Status ReadRopeByLayerType(const ConfigFields& fields, ModelConfig& config);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_ROPE_CONFIG_H_
