#ifndef SHORTLIST_TESTS_SUPPORT_TENSORS_H_
#define SHORTLIST_TESTS_SUPPORT_TENSORS_H_

#include <ATen/ATen.h>

#include "kernels/matrix.h"

namespace shortlist {

/// A tensor over the elements of an f32 matrix, which must outlive it.
inline at::Tensor TensorOf(const Matrix& matrix) {
  return at::from_blob(matrix.floats(), {matrix.rows(), matrix.cols()}, at::kFloat);
}

/// A copy of a tensor of two dimensions as f32.
inline Matrix MatrixOf(const at::Tensor& tensor) {
  Matrix matrix(tensor.size(0), tensor.size(1));
  TensorOf(matrix).copy_(tensor);
  return matrix;
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_TENSORS_H_
