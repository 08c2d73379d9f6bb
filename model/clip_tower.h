#ifndef SHORTLIST_MODEL_CLIP_TOWER_H_
#define SHORTLIST_MODEL_CLIP_TOWER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/arena.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"
#include "model/checkpoint/clip_config.h"
#include "model/encoder_batch.h"

namespace shortlist {

/// A layer norm with weight and bias.
struct ClipNorm {
  Matrix weight, bias;  // [hidden] f32
  float epsilon = 0;

  /// Reads `name`.weight and .bias. Errors and exceptions are those of Checkpoint::Load.
  static absl::StatusOr<ClipNorm> Load(Checkpoint& checkpoint, const std::string& name,
                                       const ClipTowerConfig& config, ThreadPool& pool);
  /// x, y: [num_tokens, hidden], may be the same array.
  void Run(const float* x, int64_t num_tokens, float* y, ThreadPool& pool) const;
};

/// The layers of one of CLIP's towers: x += attention(norm(x)), x += mlp(norm(x)). All linear
/// layers have biases. Forward uses scratch memory: one call at a time.
class ClipTower {
 public:
  /// kText: a token sees itself and the tokens before it. kVision: a token sees its whole sequence.
  enum class Kind { kText, kVision };

  /// Reads the layers below `prefix` ("text_model."). `dtype` may be a quantised type. Errors and
  /// exceptions are those of Checkpoint::Load.
  static absl::StatusOr<ClipTower> Load(Checkpoint& checkpoint, const std::string& prefix,
                                        const ClipTowerConfig& config, Kind kind, DType dtype,
                                        ThreadPool& pool);

  /// Updates hidden: [pass.num_tokens(), hidden] in place. Throws std::bad_alloc.
  void Forward(const EncoderPass& pass, float* hidden, ThreadPool& pool);

 private:
  struct Linear {
    PackedLinear weight;
    Matrix bias;  // [out_features] f32
  };
  struct Layer {
    ClipNorm attention_norm, mlp_norm;
    PackedLinear qkv;  // kVision: by head, query, key, value; kText: all queries, keys, values
    std::vector<float> qkv_bias;
    Linear output, up, down;
  };

  ClipTower(const ClipTowerConfig& config, Kind kind) : config_(config), kind_(kind) {}
  absl::StatusOr<Linear> LoadLinearWithBias(Checkpoint& checkpoint, const std::string& name,
                                            int64_t out_features, int64_t in_features, DType dtype,
                                            ThreadPool& pool) const;
  absl::Status LoadQkv(Checkpoint& checkpoint, const std::string& prefix, DType dtype, Layer& layer,
                       ThreadPool& pool) const;
  absl::StatusOr<Layer> LoadLayer(Checkpoint& checkpoint, const std::string& prefix, DType dtype,
                                  ThreadPool& pool) const;
  /// Writes to attended_ the attended heads of the projections in qkv_.
  void AttendToAll(const EncoderPass& pass, const Layer& layer, ThreadPool& pool);
  void AttendToPast(const EncoderPass& pass, const Layer& layer, ThreadPool& pool);
  float scale() const;

  ClipTowerConfig config_;
  Kind kind_;
  std::vector<Layer> layers_;
  // Of one pass, all f32.
  Arena normed_, qkv_, attended_, inner_;
  Arena keys_, values_;                               // kText: [num_tokens, hidden]
  std::vector<int32_t> seq_of_token_, slots_, seen_;  // kText: [num_tokens]
};

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CLIP_TOWER_H_
