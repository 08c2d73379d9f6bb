#ifndef SHORTLIST_MODEL_ENCODER_LAYER_H_
#define SHORTLIST_MODEL_ENCODER_LAYER_H_

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
#include "kernels/matrix.h"
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

  /// Makes room for `num_tokens`. Never shrinks. Throws std::bad_alloc.
  void Reserve(const EncoderConfig& config, int64_t num_tokens);
};

/// The weights of a layer norm.
struct NormWeight {
  Matrix weight;  // [hidden] f32; undefined: no norm
  Matrix bias;    // [hidden] f32; undefined: no bias

  /// Reads `name`.weight and .bias, or .gamma and .beta, their names in BERT's first exports.
  /// Errors and exceptions are those of Checkpoint::Load.
  static absl::StatusOr<NormWeight> Load(Checkpoint& checkpoint, const std::string& name,
                                         const EncoderConfig& config, ThreadPool& pool);
  /// The view points into this object.
  LayerNorm View(const EncoderConfig& config) const;
};

/// One layer. BERT, DistilBERT and RoBERTa normalise each sum, and all linear layers have biases:
///   x = norm(x + attention(x)), x = norm(x + mlp(x)).
/// ModernBERT normalises the inputs; the mlp is gated, without biases:
///   x += attention(norm(x)), x += mlp(norm(x)).
/// Immutable after Load.
class EncoderLayer {
 public:
  /// Reads the tensors of layer `index`. `prefix` is the prefix of the body's tensor names; the
  /// names of each family stand in encoder_layer.cc. `dtype` may be a quantised type.
  /// Errors and exceptions are those of Checkpoint::Load.
  static absl::StatusOr<EncoderLayer> Load(Checkpoint& checkpoint, const std::string& prefix,
                                           const EncoderConfig& config, int64_t index, DType dtype,
                                           ThreadPool& pool);

  bool is_local() const { return is_local_; }

  /// Updates hidden, [pass.num_tokens(), hidden], in place. `rope` (null: keys and queries are not
  /// rotated) and `scratch` have room for the pass.
  void Forward(const EncoderConfig& config, const EncoderPass& pass, const RopeTable* rope,
               float* hidden, EncoderScratch& scratch, ThreadPool& pool) const;

 private:
  /// The rows of one weight that produce the queries, the keys or the values.
  struct HeadRows {
    const SourceWeight* weight;
    int64_t first_row;
  };

  EncoderLayer() = default;
  /// `body`: prefix of the body's tensor names.
  absl::Status LoadBert(Checkpoint& checkpoint, const std::string& body,
                        const EncoderConfig& config, int64_t index, DType dtype, ThreadPool& pool);
  /// `prefix`: of the layer's tensor names.
  absl::Status LoadModernBert(Checkpoint& checkpoint, const std::string& prefix,
                              const EncoderConfig& config, int64_t index, DType dtype,
                              ThreadPool& pool);
  void PackHeads(const std::array<HeadRows, 3>& parts, Checkpoint& checkpoint,
                 const EncoderConfig& config, DType dtype, ThreadPool& pool);
  /// Writes the attended heads of `x` to scratch.attended, [num_tokens, hidden].
  void Attend(const EncoderConfig& config, const EncoderPass& pass, const RopeTable* rope,
              const float* x, EncoderScratch& scratch, ThreadPool& pool) const;

  bool is_local_ = false;
  NormWeight attention_norm_;
  NormWeight mlp_norm_;
  PackedLinear qkv_;             // by head: query, key, value
  std::vector<float> qkv_bias_;  // [rows of qkv_]; empty without biases
  PackedLinear output_;
  Matrix output_bias_;  // [hidden] f32
  PackedLinear up_;     // ModernBERT: its outputs are activated
  Matrix up_bias_;      // [intermediate] f32
  PackedLinear gate_;   // ModernBERT only: multiplies the activated outputs of up_
  PackedLinear down_;
  Matrix down_bias_;  // [hidden] f32
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_ENCODER_LAYER_H_
