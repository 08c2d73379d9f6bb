#include "embed/dense_layer.h"

#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "kernels/matrix.h"
#include "model/checkpoint.h"

namespace shortlist {

absl::StatusOr<DenseLayer> DenseLayer::Load(Checkpoint& checkpoint, const std::string& name,
                                            const DenseShape& shape, ThreadPool& pool,
                                            DType dtype) {
  DenseLayer layer;
  layer.shape_ = shape;
  const std::string prefix = name.empty() ? "" : name + ".";
  SHORTLIST_ASSIGN_OR_RETURN(
      const Matrix weight,
      checkpoint.Load(prefix + "weight", {shape.out_features, shape.in_features}, dtype, pool));
  const MatrixView rows = {weight.data(), dtype, shape.out_features};
  layer.weight_ = PackedLinear::Pack({&rows, 1}, shape.in_features, dtype, pool);
  if (shape.has_bias) {
    SHORTLIST_ASSIGN_OR_RETURN(
        const Matrix bias,
        checkpoint.Load(prefix + "bias", {shape.out_features}, DType::kF32, pool));
    const float* const values = bias.floats();
    layer.bias_.assign(values, values + shape.out_features);
  }
  return layer;
}

std::vector<float> DenseLayer::Apply(std::span<const float> x, int64_t num_rows,
                                     ThreadPool& pool) const {
  SHORTLIST_CHECK(std::ssize(x) == num_rows * shape_.in_features);
  std::vector<float> y(num_rows * shape_.out_features);
  LinearCpu(weight_, {.x = x.data()}, num_rows, y.data(), /*accumulate=*/false, pool);
  if (!bias_.empty()) AddBiasCpu(y.data(), bias_.data(), num_rows, shape_.out_features, pool);
  ApplyActivation(shape_.activation, y);
  return y;
}

}  // namespace shortlist
