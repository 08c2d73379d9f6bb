#ifndef SHORTLIST_MODEL_CHECKPOINT_PACKING_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_PACKING_CONFIG_H_

#include "absl/status/statusor.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/packed_weight.h"

namespace shortlist {

/// Reads config.json's quantization_config, or all of AutoGPTQ's quantize_config.json.
/// Unimplemented names an unsupported scheme, or an unsupported property of a supported scheme.
absl::StatusOr<WeightPacking> ReadPacking(const ConfigFields& fields);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_PACKING_CONFIG_H_
