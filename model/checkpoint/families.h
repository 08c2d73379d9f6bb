#ifndef SHORTLIST_MODEL_CHECKPOINT_FAMILIES_H_
#define SHORTLIST_MODEL_CHECKPOINT_FAMILIES_H_

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "kernels/activation.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/config_fields.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Which layers have a window if config.json has no layer_types.
enum class WindowRule {
  kNone,       // the family has no windows
  kAll,        // every layer
  kFromLayer,  // layers from max_window_layers on, if use_sliding_window is true
  kPattern,    // every layer except each sliding_window_pattern-th
  kRecurrent,  // none: layer_types tells attention from recurrent layers (Family::read)
};

/// A family of decoders: its names, and what its code does that config.json does not say. A row of
/// the table in families.cc.
struct Family {
  const char* name;                          // for messages, such as "Llama"
  const char* architecture;                  // of the model with a head, such as "LlamaForCausalLM"
  const char* model_type;                    // in config.json
  std::span<const char* const> bodies = {};  // models without a head, for embeddings
  const char* classifier = nullptr;          // a body with a `score` layer; null: none
  const char* eagle = nullptr;               // an EAGLE-1 draft of this family's layers; null: none

  const char* intermediate_field = "intermediate_size";  // of the MLPs, if there are any
  // True if num_key_value_heads is num_attention_heads unless config.json gives it.
  bool has_default_kv_heads = false;
  int64_t default_head_dim = 0;   // 0: hidden_size / num_attention_heads
  double default_epsilon = 1e-6;  // of rms_norm_eps
  bool qkv_bias = false;
  bool qk_norm = false;
  bool norms_all_heads = false;
  bool fused_qkv = false;
  bool rotates_neighbours = false;
  NormNames norms = {};
  MlpNames mlp = {};
  WindowRule windows = WindowRule::kNone;
  int64_t default_window = 4096;      // without sliding_window; 0: none
  int64_t default_pattern = 6;        // sliding_window_pattern
  double default_theta = 1e4;         // rope_theta
  double default_window_theta = 0.0;  // not 0: ReadRopeByLayerType in place of ReadRope
  double rotary_part = 1.0;           // the default of partial_rotary_factor
  bool may_rotate_part = false;       // partial_rotary_factor may be less than 1
  Activation activation = Activation::kSilu;
  bool gelu_is_tanh = false;  // "gelu" in config.json means "gelu_pytorch_tanh"
  bool is_tied = false;       // the default of tie_word_embeddings

  /// Sets what only this family's fields say, after all other fields were read; null: nothing.
  absl::Status (*read)(const ConfigFields& fields, ModelConfig& config) = nullptr;
  std::span<const char* const> fields = {};  // those that `read` checks, neutral or not
};

/// All families, in the order in which messages list them.
std::span<const Family> Families();

/// What a name in config.json's architectures stands for.
struct NamedFamily {
  const Family* family;
  bool is_body = false;
  bool is_classifier = false;
  bool is_eagle = false;
  bool has_pictures = false;  // text_config describes its text model
};

/// Returns what `object`, the contents of config.json, describes. nullopt for an unknown
/// architecture, or another list than one of one name.
std::optional<NamedFamily> FindFamily(const nlohmann::json& object);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_FAMILIES_H_
