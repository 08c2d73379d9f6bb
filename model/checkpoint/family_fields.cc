#include "model/checkpoint/family_fields.h"

#include <cmath>

#include "base/status_macros.h"

namespace shortlist {

absl::Status ReadGemma(const ConfigFields& fields, ModelConfig& config) {
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
  // GGUF files store the sum: io/gguf/gguf_model.cc writes 0 into this field, which only its
  // documents have.
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t norm_offset,
                             fields.Int("norm_offset", 0, 1, /*otherwise=*/1));
  config.norm_offset = static_cast<double>(norm_offset);
  return absl::OkStatus();
}

absl::Status ReadGemma3(const ConfigFields& fields, ModelConfig& config) {
  SHORTLIST_RETURN_IF_ERROR(ReadGemma(fields, config));
  constexpr double kDefaultScalar = 256.0, kMaxScalar = 1e6;
  SHORTLIST_ASSIGN_OR_RETURN(const double scalar,
                             fields.Real("query_pre_attn_scalar", 0.0, kMaxScalar, kDefaultScalar));
  config.attention_scale = 1.0 / std::sqrt(scalar);
  return absl::OkStatus();
}

}  // namespace shortlist
