#ifndef SHORTLIST_MODEL_DECODER_LAYER_H_
#define SHORTLIST_MODEL_DECODER_LAYER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/arena.h"
#include "kernels/linear.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"
#include "model/checkpoint/config.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/linear_weight.h"
#include "model/rope.h"

namespace shortlist {

/// Activations inside one layer, all f32, shared by the layers of a model and reused between
/// passes.
struct LayerScratch {
  Arena qkv;       // [num_tokens, (num_heads + 2 * num_kv_heads) * head_dim]
  Arena attended;  // [num_tokens, num_heads * head_dim]
  Arena gated;     // [num_tokens, intermediate]
  Arena branch;    // [num_tokens, hidden]; empty without config.output_norms

  /// Makes room for `num_tokens`. Never shrinks. Throws std::bad_alloc.
  void Reserve(const ModelConfig& config, int64_t num_tokens);
};

/// Returns the weights of a norm of `size` values: the stored ones plus config.norm_offset. Errors
/// and exceptions are those of Checkpoint::Load.
absl::StatusOr<Matrix> LoadNorm(Checkpoint& checkpoint, const std::string& name, int64_t size,
                                const ModelConfig& config, ThreadPool& pool);

/// What a layer's attention projects to queries, keys and values.
enum class AttentionInput {
  kNormed,  // norm(x), with a norm of the layer
  kPlain,   // x: the first layer of an EAGLE-1 draft
  kJoined,  // rows of 2 * hidden that the caller joins: the first layer of an EAGLE-3 draft
};

/// One layer: x += attention(norm(x)), x += mlp(norm(x)). With config.output_norms: x +=
/// norm(attention(norm(x))), x += norm(mlp(norm(x))). Immutable after Load.
class DecoderLayer {
 public:
  /// Reads the tensors of layer `index`, named `prefix` + "self_attn.q_proj.weight" and so on.
  /// `dtype` may be a quantised type. Errors and exceptions are those of Checkpoint::Load.
  static absl::StatusOr<DecoderLayer> Load(Checkpoint& checkpoint, const std::string& prefix,
                                           const ModelConfig& config, int64_t index,
                                           AttentionInput input, DType dtype, ThreadPool& pool);

  /// Updates the residual stream hidden: [batch.num_tokens(), hidden] in place, and stores the
  /// batch's keys and values in `cache`. `rope` (the table of this layer) and `scratch` have room
  /// for the batch. joined: [batch.num_tokens(), 2 * hidden] for AttentionInput::kJoined, else
  /// null.
  void Forward(const ModelConfig& config, const ForwardBatch& batch, const KvLayer& cache,
               const RopeTable& rope, float* hidden, LayerScratch& scratch, ThreadPool& pool,
               const float* joined = nullptr) const;

 private:
  DecoderLayer() = default;
  absl::Status LoadAttention(Checkpoint& checkpoint, const std::string& prefix,
                             const ModelConfig& config, int64_t input_width, DType dtype,
                             ThreadPool& pool);
  absl::Status LoadNorms(Checkpoint& checkpoint, const std::string& prefix,
                         const ModelConfig& config, bool has_input_norm, ThreadPool& pool);

  int64_t window_ = 0;           // 0: no window
  Matrix input_norm_;            // [hidden] f32; undefined without an input norm
  Matrix attention_norm_;        // [hidden] f32, of the output; undefined without output_norms
  Matrix mlp_input_norm_;        // [hidden] f32
  Matrix mlp_norm_;              // [hidden] f32, of the output; undefined without output_norms
  Matrix query_norm_;            // [head_dim] f32; undefined without qk_norm
  Matrix key_norm_;              // [head_dim] f32; undefined without qk_norm
  PackedLinear qkv_;             // by key/value head, as in QkvProjection
  std::vector<float> qkv_bias_;  // [rows of qkv_]; empty without a bias
  PackedLinear output_;
  PackedLinear gate_;
  PackedLinear up_;
  PackedLinear down_;
};

/// Aborts unless `batch` and `cache` fit a model of `config` and `dtype`, with all ids, positions
/// and slots in range.
void CheckBatch(const ModelConfig& config, DType dtype, const ForwardBatch& batch,
                const KvCache& cache);

/// Largest position of `batch`, plus 1; 0 for an empty batch.
int64_t PositionsNeeded(const ForwardBatch& batch);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_DECODER_LAYER_H_
