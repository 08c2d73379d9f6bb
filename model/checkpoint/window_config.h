#ifndef SHORTLIST_MODEL_CHECKPOINT_WINDOW_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_WINDOW_CONFIG_H_

#include "absl/status/status.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/families.h"

namespace shortlist {

/// Sets windows of `config`: those of the layers that layer_types calls "sliding_attention", or
/// without layer_types those that `family` has. Reads num_layers of `config`. Errors are those of
/// ParseModelConfig.
absl::Status ReadWindows(const ConfigFields& fields, const Family& family, ModelConfig& config);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_WINDOW_CONFIG_H_
