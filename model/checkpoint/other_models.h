#ifndef SHORTLIST_MODEL_CHECKPOINT_OTHER_MODELS_H_
#define SHORTLIST_MODEL_CHECKPOINT_OTHER_MODELS_H_

#include <string>

#include "absl/status/status.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "model/checkpoint/config_fields.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Unimplemented for an architecture that is not supported. The message says what `name`, an entry
/// of config.json's architectures, is (as far as that is known), and which decoders and encoders
/// are supported.
absl::Status UnsupportedArchitecture(const ConfigFields& fields, const nlohmann::json& name);

/// UnsupportedArchitecture's where config.json, whose members `fields` are, names one architecture
/// that is neither a decoder nor an encoder that is supported. Reading the configuration reports a
/// list of another kind.
absl::Status CheckArchitecture(const ConfigFields& fields);

/// Unimplemented where `source` holds an adapter of PEFT (adapter_config.json), such as LoRA's,
/// which transformers would load over a model that lies elsewhere. InvalidArgument for a damaged
/// file.
absl::Status RefuseAdapter(const ModelSource& source);

/// Unimplemented for the weights of an EAGLE-3 head: they have d2t or t2d, a layer called midlayer
/// or with a hidden_norm, or an fc layer over three hidden states.
absl::Status RefuseEagle3(const WeightFiles& weights, int64_t hidden);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_OTHER_MODELS_H_
