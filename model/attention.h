#ifndef SHORTLIST_MODEL_ATTENTION_H_
#define SHORTLIST_MODEL_ATTENTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/attention.h"
#include "kernels/linear.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"
#include "model/checkpoint/config.h"
#include "model/forward_batch.h"
#include "model/layer_scratch.h"
#include "model/rope.h"

namespace shortlist {

/// The attention of one decoder layer: queries, keys and values of the layer's input, attended
/// heads, and the weight that projects those to the residual stream. Immutable after Load.
class Attention {
 public:
  /// Reads the tensors of layer `index`, named `prefix` + "q_proj.weight" and so on, for inputs of
  /// `input_width`. `dtype` may be a quantised type. Errors and exceptions are those of
  /// Checkpoint::Load.
  static absl::StatusOr<Attention> Load(Checkpoint& checkpoint, const std::string& prefix,
                                        const ModelConfig& config, int64_t index,
                                        int64_t input_width, DType dtype, ThreadPool& pool);

  /// Stores the batch's keys and values in `cache` and returns the attended heads:
  /// [batch.num_tokens(), num_heads * head_dim], valid until the next use of `scratch`. `rope` (the
  /// table of this layer) and `scratch` have room for the batch.
  const float* Forward(const ModelConfig& config, const ForwardBatch& batch, const KvLayer& cache,
                       const RopeTable& rope, const LinearInput& input, LayerScratch& scratch,
                       ThreadPool& pool) const;

  const PackedLinear& output() const { return output_; }      // to [hidden]
  const Matrix& output_bias() const { return output_bias_; }  // [hidden] f32; undefined: none

 private:
  Attention() = default;
  absl::Status LoadProjections(Checkpoint& checkpoint, const std::string& prefix,
                               const ModelConfig& config, int64_t input_width, DType dtype,
                               ThreadPool& pool);
  absl::Status LoadBiases(Checkpoint& checkpoint, const std::string& prefix,
                          const ModelConfig& config, ThreadPool& pool);

  int64_t window_ = 0;           // 0: no window
  int64_t rotary_dim_ = 0;       // 0: a layer without rotation
  Matrix query_norm_;            // f32, as in QkvProjection; undefined without qk_norm
  Matrix key_norm_;              // likewise
  PackedLinear qkv_;             // by key/value head, as in QkvProjection
  std::vector<float> qkv_bias_;  // [rows of qkv_]; empty without a bias
  PackedLinear gate_;            // [num_heads * head_dim] of the output; empty without output_gate
  PackedLinear output_;
  Matrix output_bias_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ATTENTION_H_
