#ifndef SHORTLIST_MODEL_LAYER_SCRATCH_H_
#define SHORTLIST_MODEL_LAYER_SCRATCH_H_

#include <cstdint>

#include "kernels/arena.h"
#include "model/checkpoint/config.h"

namespace shortlist {

/// Activations inside one layer, all f32, shared by the layers of a model and reused between
/// passes.
struct LayerScratch {
  // Of attention, [num_tokens, (num_heads + 2 * num_kv_heads) * head_dim], or of a delta net,
  // [num_tokens, num_channels].
  Arena qkv;
  // [num_tokens, num_heads * head_dim] or [num_tokens, value_width]: results, and their gates
  // (empty without config.output_gate and recurrent layers).
  Arena attended;
  Arena gate;
  Arena step_gates;  // [num_tokens, 2 * num_value_heads]; empty without recurrent layers
  Arena gated;       // [num_tokens, intermediate]
  Arena mlp_gate;    // the same; empty without config.mlp_bias
  // [num_tokens, hidden]: what is added to the residual stream; empty if it is added at once.
  Arena branch;
  // Of experts: [num_tokens, num_experts], and [num_tokens, hidden] each. Empty without experts.
  Arena expert_logits;
  Arena normed;
  Arena expert_input;
  Arena expert_output;

  /// Makes room for `num_tokens`. Never shrinks. Throws std::bad_alloc.
  void Reserve(const ModelConfig& config, int64_t num_tokens);
};

inline float* FloatsOf(Arena& arena) { return static_cast<float*>(arena.data()); }

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_LAYER_SCRATCH_H_
