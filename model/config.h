#ifndef SHORTLIST_MODEL_CONFIG_H_
#define SHORTLIST_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/dtype.h"

namespace shortlist {

/// Rotary position scaling, named as `rope_scaling.rope_type` (or `type`) in config.json.
struct RopeScaling {
  enum class Type { kDefault, kLinear, kLlama3 };
  Type type = Type::kDefault;
  double factor = 1.0;                           // kLinear, kLlama3
  double low_freq_factor = 1.0;                  // kLlama3
  double high_freq_factor = 4.0;                 // kLlama3
  int64_t original_max_position_embeddings = 0;  // kLlama3
};

/// What a decoder needs to know of config.json, every value checked against its bounds.
struct ModelConfig {
  enum class Architecture { kLlama, kLlamaEagle };  // LlamaForCausalLM, LlamaForCausalLMEagle
  Architecture architecture = Architecture::kLlama;
  int64_t vocab_size = 0;  // embedding rows; may exceed the tokenizer's size (padding)
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;  // divides num_heads
  int64_t head_dim = 0;      // even
  int64_t context_len = 0;   // max_position_embeddings
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  bool tie_word_embeddings = false;
  bool fc_bias = false;                  // EAGLE: `bias` of the fc layer
  std::vector<int32_t> eos_token_ids;    // may be empty; generation_config.json's list wins
  DType checkpoint_dtype = DType::kF32;  // torch_dtype or dtype; the files have the last word
};

/// Reads `dir`/config.json (and generation_config.json's EOS where present). NotFound for a missing
/// file; InvalidArgument names the field, its value and the bound; Unimplemented names an
/// architecture, or a field that would change the result, that is not supported.
absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& dir);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CONFIG_H_
