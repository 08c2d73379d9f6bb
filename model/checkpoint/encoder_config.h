#ifndef SHORTLIST_MODEL_CHECKPOINT_ENCODER_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_ENCODER_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "io/model_source.h"
#include "kernels/activation.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// The fields of config.json that an encoder needs, every value checked against its bounds.
struct EncoderConfig {
  /// Structure of the body, independent of the architecture's head.
  ///   kBert        BertModel, BertForMaskedLM, BertForSequenceClassification, Contriever
  ///   kDistilBert  DistilBertModel and its two heads: BERT with other names and no token types
  ///   kRoberta     RobertaModel, XLMRobertaModel and their two heads: BERT with other positions
  ///   kModernBert  ModernBertModel, ModernBertForMaskedLM, ModernBertForSequenceClassification
  enum class Family { kBert, kDistilBert, kRoberta, kModernBert };
  std::string architecture;  // as in config.json
  Family family = Family::kBert;
  int64_t vocab_size = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t head_dim = 0;       // num_heads * head_dim = hidden; even for kModernBert
  int64_t context_len = 0;    // tokens of the longest sequence
  int64_t num_positions = 0;  // rows of the position embeddings; 0: positions are rotary
  // Row of a sequence's first token. kRoberta: pad_token_id + 1, the row of the first token that is
  // not padding.
  int64_t first_position = 0;
  int64_t num_token_types = 0;  // rows of the token type embeddings; 0: no token types
  Activation activation = Activation::kGeluErf;
  double norm_eps = 1e-12;
  bool norm_bias = true;
  // kModernBert only.
  std::vector<bool> is_local;  // [num_layers]
  int64_t local_radius = 0;    // distance up to which a local layer's token sees others
  double global_rope_theta = 160000.0;
  double local_rope_theta = 10000.0;
  DType checkpoint_dtype = DType::kF32;  // torch_dtype or dtype; the files take precedence
};

/// True if `object`, the contents of config.json, names an architecture that EncoderConfig
/// supports.
bool IsEncoderConfig(const nlohmann::json& object);

/// Reads the configuration in `object`, the contents of config.json. Messages begin with `path`.
/// InvalidArgument names the field, its value and the bound. Unimplemented names an unsupported
/// architecture, or an unsupported field that would change the result.
absl::StatusOr<EncoderConfig> ParseEncoderConfig(const nlohmann::json& object,
                                                 const std::string& path);

/// Parses config.json. NotFound if it is missing; Unimplemented for an adapter. Other errors
/// are those of ParseEncoderConfig.
absl::StatusOr<EncoderConfig> ReadEncoderConfig(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_ENCODER_CONFIG_H_
