#ifndef SHORTLIST_MODEL_ENCODER_LAYER_H_
#define SHORTLIST_MODEL_ENCODER_LAYER_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/arena.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "model/checkpoint.h"
#include "model/checkpoint/encoder_config.h"
#include "model/encoder_batch.h"
#include "model/linear_weight.h"
#include "model/rope.h"

namespace shortlist {

/// Activations inside one layer, all f32, shared by the layers of an encoder and reused between
/// passes.
struct EncoderScratch {
  Arena qkv;       // [num_tokens, 3 * hidden]
  Arena attended;  // [num_tokens, hidden]
  Arena normed;    // [num_tokens, hidden]
  Arena inner;     // [num_tokens, intermediate]

  /// Makes room for `num_tokens`; never shrinks. Throws std::bad_alloc.
  void Reserve(const EncoderConfig& config, int64_t num_tokens);
};

/// The weights of a layer norm.
struct NormWeight {
  at::Tensor weight;  // [hidden] f32; undefined: no norm here
  at::Tensor bias;    // [hidden] f32; undefined: none

  /// Reads `name`.weight and .bias, or .gamma and .beta as BERT's first exports call them. Errors
  /// and exceptions as Checkpoint::Load.
  static absl::StatusOr<NormWeight> Load(Checkpoint& checkpoint, const std::string& name,
                                         const EncoderConfig& config, ThreadPool& pool);
  /// Points into this.
  LayerNorm View(const EncoderConfig& config) const;
};

/// One layer. BERT and RoBERTa normalise each sum:
///   x = norm(x + attention(x)), x = norm(x + mlp(x)), all linear layers with biases;
/// ModernBERT what goes in:
///   x += attention(norm(x)), x += mlp(norm(x)), the mlp gated, no biases.
/// Immutable after Load.
class EncoderLayer {
 public:
  /// Reads the tensors of layer `index`; `prefix` comes before the names of the model's body.
  /// `dtype` may be a quantised one. Errors and exceptions as Checkpoint::Load.
  static absl::StatusOr<EncoderLayer> Load(Checkpoint& checkpoint, const std::string& prefix,
                                           const EncoderConfig& config, int64_t index, DType dtype,
                                           ThreadPool& pool);

  bool is_local() const { return is_local_; }

  /// Updates hidden: [pass.num_tokens(), hidden] in place. `rope` (null: keys and queries are not
  /// rotated) and `scratch` have room for the pass.
  void Forward(const EncoderConfig& config, const EncoderPass& pass, const RopeTable* rope,
               float* hidden, EncoderScratch& scratch, ThreadPool& pool) const;

 private:
  /// The rows of one weight that make the queries, the keys or the values.
  struct HeadRows {
    const SourceWeight* weight;
    int64_t first_row;
  };

  EncoderLayer() = default;
  /// `body`: what goes before the names of the body's tensors.
  absl::Status LoadBert(Checkpoint& checkpoint, const std::string& body,
                        const EncoderConfig& config, int64_t index, DType dtype, ThreadPool& pool);
  absl::Status LoadModernBert(Checkpoint& checkpoint, const std::string& prefix,
                              const EncoderConfig& config, int64_t index, DType dtype,
                              ThreadPool& pool);
  void PackHeads(const std::array<HeadRows, 3>& parts, Checkpoint& checkpoint,
                 const EncoderConfig& config, DType dtype, ThreadPool& pool);
  /// attended: [num_tokens, hidden], the heads of what the layer sees in `x`.
  void Attend(const EncoderConfig& config, const EncoderPass& pass, const RopeTable* rope,
              const float* x, EncoderScratch& scratch, ThreadPool& pool) const;

  bool is_local_ = false;
  NormWeight attention_norm_;
  NormWeight mlp_norm_;
  PackedLinear qkv_;             // by head: query, key, value
  std::vector<float> qkv_bias_;  // [rows of qkv_]; empty without biases
  PackedLinear output_;
  at::Tensor output_bias_;  // [hidden] f32
  PackedLinear up_;         // ModernBERT: what is activated
  at::Tensor up_bias_;      // [intermediate] f32
  PackedLinear gate_;       // ModernBERT alone: what it is multiplied by
  PackedLinear down_;
  at::Tensor down_bias_;  // [hidden] f32
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ENCODER_LAYER_H_
