#ifndef SHORTLIST_MODEL_MLP_H_
#define SHORTLIST_MODEL_MLP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"
#include "model/checkpoint/config.h"
#include "model/layer_scratch.h"

namespace shortlist {

/// A gated MLP, of one decoder layer or of one expert: down(activation(gate(x)) * up(x)). Immutable
/// after Load.
class Mlp {
 public:
  /// Reads `prefix` + "gate_proj.weight" and so on (config.mlp), [intermediate, config.hidden].
  /// `dtype` may be a quantised type. Errors and exceptions are those of Checkpoint::Load.
  static absl::StatusOr<Mlp> Load(Checkpoint& checkpoint, const std::string& prefix,
                                  const ModelConfig& config, int64_t intermediate, DType dtype,
                                  ThreadPool& pool);

  /// Returns activation(gate(input)) * up(input): [num_tokens, intermediate], valid until the next
  /// use of `scratch`.
  const float* Forward(const ModelConfig& config, const LinearInput& input, int64_t num_tokens,
                       LayerScratch& scratch, ThreadPool& pool) const;

  const PackedLinear& down() const { return down_; }      // to [hidden]
  const Matrix& down_bias() const { return down_bias_; }  // [hidden] f32; undefined: none

 private:
  Mlp() = default;
  PackedLinear gate_;
  PackedLinear up_;
  PackedLinear down_;
  Matrix gate_bias_;  // [intermediate] f32; undefined without config.mlp_bias
  Matrix up_bias_;    // likewise
  Matrix down_bias_;
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_MLP_H_
