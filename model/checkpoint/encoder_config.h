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

/// What an encoder needs to know of config.json, every value checked against its bounds.
struct EncoderConfig {
  /// How the body is built, whatever head the architecture puts on it.
  ///   kBert        BertModel, BertForMaskedLM, BertForSequenceClassification, Contriever
  ///   kDistilBert  DistilBertModel and its two heads: BERT, but for token types and for names
  ///   kRoberta     RobertaModel, XLMRobertaModel and their two heads: BERT, but for the positions
  ///   kModernBert  ModernBertModel, ModernBertForMaskedLM, ModernBertForSequenceClassification
  enum class Family { kBert, kDistilBert, kRoberta, kModernBert };
  std::string architecture;  // as in config.json
  Family family = Family::kBert;
  int64_t vocab_size = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t head_dim = 0;         // num_heads * head_dim = hidden; even for kModernBert
  int64_t context_len = 0;      // tokens of the longest sequence
  int64_t num_positions = 0;    // rows of the position embeddings; 0: positions are rotary
  int64_t first_position = 0;   // the row of a sequence's first token; kRoberta: pad_token_id + 1,
                                // of the first that is not padding
  int64_t num_token_types = 0;  // rows of the token type embeddings; 0: there are none
  Activation activation = Activation::kGeluErf;
  double norm_eps = 1e-12;
  bool norm_bias = true;
  // kModernBert alone.
  std::vector<bool> is_local;  // [num_layers]
  int64_t local_radius = 0;    // a local layer's token sees those at most so far away
  double global_rope_theta = 160000.0;
  double local_rope_theta = 10000.0;
  DType checkpoint_dtype = DType::kF32;  // torch_dtype or dtype; the files have the last word
};

/// True when `object`, config.json's contents, names an architecture that EncoderConfig knows.
bool IsEncoderConfig(const nlohmann::json& object);

/// The configuration in `object`, config.json's contents; `path` begins the messages.
/// InvalidArgument names the field, its value and the bound; Unimplemented names an architecture,
/// or a field that would change the result, that is not supported.
absl::StatusOr<EncoderConfig> ParseEncoderConfig(const nlohmann::json& object,
                                                 const std::string& path);

/// Parses config.json. NotFound for a missing one; Unimplemented for an adapter; else as
/// ParseEncoderConfig.
absl::StatusOr<EncoderConfig> ReadEncoderConfig(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_ENCODER_CONFIG_H_
