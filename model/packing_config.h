#ifndef SHORTLIST_MODEL_PACKING_CONFIG_H_
#define SHORTLIST_MODEL_PACKING_CONFIG_H_

#include "absl/status/statusor.h"
#include "model/config_fields.h"
#include "model/packed_weight.h"

namespace shortlist {

/// Reads config.json's quantization_config, or the whole of AutoGPTQ's quantize_config.json.
/// Unimplemented names the scheme, or the property of a known one, that is not supported.
absl::StatusOr<WeightPacking> ReadPacking(const ConfigFields& fields);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_PACKING_CONFIG_H_
