#ifndef SHORTLIST_MODEL_CHECKPOINT_OTHER_MODELS_H_
#define SHORTLIST_MODEL_CHECKPOINT_OTHER_MODELS_H_

#include <string>

#include "absl/status/status.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "model/checkpoint/config_fields.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Returns Unimplemented for an unsupported architecture. The message describes `name`, an entry of
/// config.json's architectures, if it is known, and lists the supported decoders and encoders.
absl::Status UnsupportedArchitecture(const ConfigFields& fields, const nlohmann::json& name);

/// Returns UnsupportedArchitecture's error if config.json, whose members are `fields`, names one
/// architecture that is neither a supported decoder nor a supported encoder. Accepts a list of
/// another form, which reading the configuration reports.
absl::Status CheckArchitecture(const ConfigFields& fields);

/// Returns Unimplemented if `source` holds a PEFT adapter (adapter_config.json), such as LoRA's,
/// which transformers would load over a model stored elsewhere. InvalidArgument for a damaged file.
absl::Status RefuseAdapter(const ModelSource& source);

/// Returns Unimplemented for the weights of an EAGLE-3 head, which is no model of its own: they
/// have d2t or t2d, a layer called midlayer or with a hidden_norm, or an fc layer over three hidden
/// states. The message says so if they lack what ReadEagle3Config needs.
absl::Status RefuseEagle3(const WeightFiles& weights, int64_t hidden);

/// Returns Unimplemented, with its name, for the weights of a draft of another kind: P-EAGLE, an
/// EAGLE-3 head of MLA layers, DFlash, DFlash2, DSpark, Domino, Medusa, or the MTP layers of a
/// model.
absl::Status RefuseOtherDrafts(const WeightFiles& weights);

/// Returns the errors of RefuseOtherDrafts and RefuseEagle3 for the weights of `source`. If they
/// are an EAGLE-1 head's, sets the architecture of `object`, the contents of config.json, to that
/// of an EAGLE-1 head. Ignores damaged or missing weights, which loading reports.
absl::Status RecogniseEagle(const ModelSource& source, nlohmann::json& object);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_OTHER_MODELS_H_
