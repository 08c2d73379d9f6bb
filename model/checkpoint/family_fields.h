#ifndef SHORTLIST_MODEL_CHECKPOINT_FAMILY_FIELDS_H_
#define SHORTLIST_MODEL_CHECKPOINT_FAMILY_FIELDS_H_

#include "absl/status/status.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

// Readers of what only one family's configuration has (Family::read). Each sets fields of `config`
// in which all others are already set. Errors are those of ParseModelConfig. Below a reader: the
// names of the fields that it reads, although they must be neutral in other families.

/// Gemma: scaled embeddings, and norms whose weights are stored without their 1.
absl::Status ReadGemma(const ConfigFields& fields, ModelConfig& config);

/// Gemma 3: the same, and the scale of its queries.
absl::Status ReadGemma3(const ConfigFields& fields, ModelConfig& config);
inline constexpr const char* kGemma3Fields[] = {"query_pre_attn_scalar"};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_FAMILY_FIELDS_H_
