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

/// Shape and activation of a dense layer.
struct DenseShape {
  int64_t in_features = 0;
  int64_t out_features = 0;
  bool has_bias = true;
  HeadActivation activation = HeadActivation::kIdentity;
};

/// y[m] = activation(weight x[m] + bias). Immutable; thread-safe.
class DenseLayer {
 public:
  /// Reads `name`.weight [out_features, in_features] and, if shape.has_bias, `name`.bias; with an
  /// empty name "weight" and "bias". The weight is stored as `dtype`, which must not be quantised.
  /// Errors and exceptions as for Checkpoint::Load; the caller must catch them
  /// (base/catch_bad_alloc.h).
  static absl::StatusOr<DenseLayer> Load(Checkpoint& checkpoint, const std::string& name,
                                         const DenseShape& shape, ThreadPool& pool,
                                         DType dtype = DType::kF32);

  const DenseShape& shape() const { return shape_; }

  /// x: [num_rows, in_features]; result: [num_rows, out_features]. A row has the same bits
  /// regardless of the other rows and the number of threads.
  std::vector<float> Apply(std::span<const float> x, int64_t num_rows, ThreadPool& pool) const;

 private:
  DenseLayer() = default;

  DenseShape shape_;
  PackedLinear weight_;
  std::vector<float> bias_;  // [out_features], or empty
};

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_DENSE_LAYER_H_
