#ifndef SHORTLIST_EMBED_DENSE_LAYER_H_
#define SHORTLIST_EMBED_DENSE_LAYER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "embed/activation.h"
#include "kernels/linear.h"

namespace shortlist {

class Checkpoint;

/// What a dense layer is, but for its weights.
struct DenseShape {
  int64_t in_features = 0;
  int64_t out_features = 0;
  bool has_bias = true;
  HeadActivation activation = HeadActivation::kIdentity;
};

/// y[m] = activation(weight x[m] + bias). Immutable; any thread may apply it.
class DenseLayer {
 public:
  /// Reads `name`.weight [out_features, in_features] and, where there is one, `name`.bias; without
  /// a name "weight" and "bias". `dtype`, which is not quantised, is what the weight is kept in.
  /// Errors as Checkpoint::Load. Throws what that throws: the caller is a boundary
  /// (tensor/catch_torch.h).
  static absl::StatusOr<DenseLayer> Load(Checkpoint& checkpoint, const std::string& name,
                                         const DenseShape& shape, ThreadPool& pool,
                                         DType dtype = DType::kF32);

  const DenseShape& shape() const { return shape_; }

  /// x: [num_rows, in_features]; the result: [num_rows, out_features]. A row has the same bits
  /// whatever the others and the number of threads are.
  std::vector<float> Apply(std::span<const float> x, int64_t num_rows, ThreadPool& pool) const;

 private:
  DenseLayer() = default;

  DenseShape shape_;
  PackedLinear weight_;
  std::vector<float> bias_;  // [out_features], or empty
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_DENSE_LAYER_H_
