#ifndef SHORTLIST_MODEL_CHECKPOINT_PACKING_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_PACKING_CONFIG_H_

#include "absl/status/statusor.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/packed_weight.h"

namespace shortlist {

/// Reads config.json's quantization_config, or the whole of AutoGPTQ's quantize_config.json.
/// Unimplemented names the scheme, or the property of a known one, that is not supported.
absl::StatusOr<WeightPacking> ReadPacking(const ConfigFields& fields);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_PACKING_CONFIG_H_
