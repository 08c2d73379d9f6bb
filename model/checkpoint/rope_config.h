#ifndef SHORTLIST_MODEL_CHECKPOINT_ROPE_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_ROPE_CONFIG_H_

#include "absl/status/status.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

/// Sets rope_theta and rope_scaling of `config`, whose head_dim and context_len (so far
/// max_position_embeddings) are read, from rope_theta and rope_scaling (older exports) or
/// rope_parameters (newer ones, with rope_theta inside); lets context_len grow where the scaling
/// says how far the model reaches. Errors as ParseModelConfig.
absl::Status ReadRope(const ConfigFields& fields, ModelConfig& config);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_ROPE_CONFIG_H_
