#ifndef SHORTLIST_MODEL_CHECKPOINT_FAMILY_FIELDS_H_
#define SHORTLIST_MODEL_CHECKPOINT_FAMILY_FIELDS_H_

#include "absl/status/status.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

// Readers of what only one family's configuration has (Family::read). Each sets fields of `config`
// in which all others are already set. Errors are those of ParseModelConfig. Below a reader: the
// names of the fields that it reads, although they must be neutral in other families.

/// Llama: attention_bias (of all of attention's layers) and mlp_bias. An EAGLE-1 draft has neither.
absl::Status ReadLlama(const ConfigFields& fields, ModelConfig& config);
inline constexpr const char* kLlamaFields[] = {"attention_bias", "mlp_bias"};

/// Ministral 3: queries scaled by position, for which the original length must be known.
absl::Status ReadMinistral3(const ConfigFields& fields, ModelConfig& config);

/// Phi-3 has no field of its own. Its files name code that transformers has as Phi3ForCausalLM.
inline constexpr const char* kPhi3Fields[] = {"auto_map"};

/// Granite: Llama's fields, and multipliers of embeddings, queries, residuals and logits.
absl::Status ReadGranite(const ConfigFields& fields, ModelConfig& config);
inline constexpr const char* kGraniteFields[] = {"attention_bias",       "mlp_bias",
                                                 "attention_multiplier", "embedding_multiplier",
                                                 "residual_multiplier",  "logits_scaling"};

/// Granite 4: the same. All layers must have attention and none experts; position_embedding_type
/// says whether they are rotated.
absl::Status ReadGraniteHybrid(const ConfigFields& fields, ModelConfig& config);
inline constexpr const char* kGraniteHybridFields[] = {
    "attention_bias",      "mlp_bias",       "attention_multiplier", "embedding_multiplier",
    "residual_multiplier", "logits_scaling", "num_local_experts"};

/// SmolLM3: Llama's fields, and layers without rotation. Its code ignores pretraining_tp.
absl::Status ReadSmolLm3(const ConfigFields& fields, ModelConfig& config);
inline constexpr const char* kSmolLm3Fields[] = {"attention_bias", "mlp_bias", "no_rope_layers",
                                                 "pretraining_tp"};

/// EXAONE 4: layers without a window are not rotated if others have one.
absl::Status ReadExaone4(const ConfigFields& fields, ModelConfig& config);

/// GLM and GLM-4 (0414): attention_bias, of queries, keys and values.
absl::Status ReadGlm(const ConfigFields& fields, ModelConfig& config);
inline constexpr const char* kGlmFields[] = {"attention_bias"};

/// Seed-OSS: attention_bias, of queries, keys and values, attention_out_bias and mlp_bias.
absl::Status ReadSeedOss(const ConfigFields& fields, ModelConfig& config);
inline constexpr const char* kSeedOssFields[] = {"attention_bias", "attention_out_bias",
                                                 "mlp_bias"};

/// Gemma: scaled embeddings, and norms whose weights are stored without their 1.
absl::Status ReadGemma(const ConfigFields& fields, ModelConfig& config);

/// Gemma 3: the same, and the scale of its queries.
absl::Status ReadGemma3(const ConfigFields& fields, ModelConfig& config);
inline constexpr const char* kGemma3Fields[] = {"query_pre_attn_scalar"};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_FAMILY_FIELDS_H_
