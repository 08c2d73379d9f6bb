#ifndef SHORTLIST_MODEL_CHECKPOINT_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_CONFIG_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "io/model_source.h"
#include "kernels/activation.h"
#include "kernels/delta_net.h"
#include "model/checkpoint/packed_weight.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Rotary position scaling, named after `rope_scaling.rope_type` (or `type`) in config.json.
struct RopeScaling {
  enum class Type { kDefault, kLinear, kDynamic, kLlama3, kYarn, kLongRope };
  Type type = Type::kDefault;
  double factor = 1.0;                           // all but kDefault
  int64_t original_max_position_embeddings = 0;  // kDynamic, kLlama3, kYarn, kLongRope
  double low_freq_factor = 1.0;                  // kLlama3
  double high_freq_factor = 4.0;                 // kLlama3
  double beta_fast = 32.0;                       // kYarn
  double beta_slow = 1.0;                        // kYarn
  bool truncate = true;                          // kYarn: the ramp's ends are whole dimensions
  double attention_factor = 1.0;                 // kYarn, kLongRope: multiplies cosines and sines
  // kLongRope: [rotary_dim / 2] divisors of the frequencies at positions below the original length,
  // to which the context is limited: beyond it, the reference computes all positions anew with
  // other divisors.
  std::vector<double> short_factors;
  // Not 0: queries at position p are multiplied by 1 + query_beta * ln(1 + floor(p / original)).
  double query_beta = 0.0;
};

/// Names in a checkpoint of a layer's norms; null: the layer has no such norm. Those of outputs
/// normalise what is added to the residual stream.
struct NormNames {
  const char* mixer_input = "input_layernorm";
  const char* mixer_output = nullptr;
  const char* mlp_input = "post_attention_layernorm";  // despite its name
  const char* mlp_output = nullptr;
};

/// Names in a checkpoint of a layer's MLP.
struct MlpNames {
  const char* prefix = "mlp.";
  const char* gate_up = nullptr;  // gate and up layers stored as one; null: gate_proj and up_proj
  const char* down = "down_proj";
};

/// Names in a checkpoint of a mixture of experts, below the prefix of MlpNames.
struct ExpertNames {
  const char* router = "gate.weight";
  // All experts in one tensor, with gate and up layers as one.
  const char* gate_up = "experts.gate_up_proj";
  const char* down = "experts.down_proj";
  // One by one, below "experts.3." and so on: gate, up and down layer.
  const char* parts[3] = {"gate_proj", "up_proj", "down_proj"};
};

/// A mixture of experts in place of a layer's MLP.
struct ExpertShape {
  int64_t num_experts = 0;          // 0: no layer has experts
  int64_t num_used = 0;             // by each token; in [1, num_experts]
  int64_t intermediate = 0;         // of an expert
  bool normalises = false;          // the weights of a token's experts are divided by their sum
  int64_t shared_intermediate = 0;  // of the expert that all tokens use; 0: there is none
  std::vector<bool> layers;         // [num_layers]: those with experts; empty: none
  ExpertNames names;
};

/// The fields of config.json that a decoder needs, every value checked against its bounds.
struct ModelConfig {
  /// Such as "LlamaForCausalLM": of a body or classifier too, the model with a head. Of an EAGLE-1
  /// draft, such as "LlamaForCausalLMEagle".
  std::string architecture;
  // An EAGLE-1 draft: named as one, or a model such as LlamaForCausalLM whose weights have an fc
  // layer, as in the original drafts.
  bool is_eagle = false;
  bool is_body = false;  // such as LlamaModel: no LM head
  // Such as LlamaForSequenceClassification: a body with a `score` layer.
  bool is_classifier = false;
  // A model of texts and pictures, of which the text model alone is read.
  bool has_pictures = false;
  int64_t vocab_size = 0;  // embedding rows; may exceed the tokenizer's size (padding)
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;  // divides num_heads
  int64_t head_dim = 0;      // even
  int64_t rotary_dim = 0;    // leading dimensions of a head that are rotated; even
  int64_t context_len = 0;   // largest number of positions the model supports, scaling included
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  // rope_theta of the layers with a window, whose positions are not scaled; 0: as in other layers
  double window_rope_theta = 0.0;
  double attention_scale = 1.0;  // multiplies the products of queries and keys
  bool qkv_bias = false;         // of the query, key and value layers
  bool output_bias = false;      // of the layer that projects attended heads
  bool mlp_bias = false;         // of the MLP's layers
  bool fused_qkv = false;        // query, key and value layers are stored as one, qkv_proj
  bool qk_norm = false;          // normalises every query and key head before its rotation
  bool norms_all_heads = false;  // qk_norm takes all query heads as one, and all key heads
  // Rotated dimensions 2 i and 2 i + 1 of a head are a pair; else i and i + rotary_dim / 2 are.
  bool rotates_neighbours = false;
  std::vector<bool> unrotated;  // [num_layers]: those without rotation; empty: none
  // The attended heads are multiplied by the sigmoid of gates, which are rows of the query layer.
  bool output_gate = false;
  // Recurrent layers instead of attention: those that are true here, [num_layers], with the shape
  // below; empty: none.
  std::vector<bool> recurrent;
  DeltaNetShape delta_net;
  NormNames norms;
  MlpNames mlp;
  ExpertShape experts;
  double residual_scale = 1.0;   // multiplies what a layer adds to the residual stream
  double logit_scale = 1.0;      // multiplies logits
  std::vector<int64_t> windows;  // [num_layers] positions a token attends to, 0: all; empty: all 0
  bool tie_word_embeddings = false;
  Activation activation = Activation::kSilu;  // of the gated MLP
  double embedding_scale = 1.0;               // multiplies embeddings
  bool rounds_embedding_scale = false;        // to the type of the weights
  double norm_offset = 0.0;                   // added to the stored weights of all norms
  bool fc_bias = false;                       // EAGLE: `bias` of the fc layer
  WeightPacking packing;                      // of the linear layers' weights
  std::vector<int32_t> eos_token_ids;         // may be empty; GenerationConfig's take precedence
  DType checkpoint_dtype = DType::kF32;       // torch_dtype or dtype; the files take precedence

  bool HasExperts(int64_t layer) const { return !experts.layers.empty() && experts.layers[layer]; }
  bool IsRecurrent(int64_t layer) const { return !recurrent.empty() && recurrent[layer]; }
  int64_t num_recurrent_layers() const {
    return std::count(recurrent.begin(), recurrent.end(), true);
  }
};

/// True if `object`, the contents of config.json, names an architecture that ModelConfig supports.
bool IsDecoderConfig(const nlohmann::json& object);

/// Reads the configuration in `object`, the contents of config.json. Messages begin with `path`.
/// InvalidArgument names the field, its value and the bound. Unimplemented names an unsupported
/// architecture, or an unsupported field that would change the result.
absl::StatusOr<ModelConfig> ParseModelConfig(const nlohmann::json& object, const std::string& path);

/// Parses config.json and, if present, AutoGPTQ's quantize_config.json. Looks for the fc
/// layer of an EAGLE draft in the headers of the weights. NotFound for a missing config.json;
/// Unimplemented for an adapter or an EAGLE-3 head; InvalidArgument for a GGUF file without
/// config.json. Other errors are those of ParseModelConfig.
absl::StatusOr<ModelConfig> ReadModelConfig(const ModelSource& source);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_CONFIG_H_
