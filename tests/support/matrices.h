#ifndef SHORTLIST_TESTS_SUPPORT_MATRICES_H_
#define SHORTLIST_TESTS_SUPPORT_MATRICES_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/matrix.h"
#include "kernels/quant.h"

namespace shortlist {

/// An f32 matrix [values.size() / cols, cols].
inline Matrix MatrixOf(std::span<const float> values, int64_t cols) {
  Matrix matrix(std::ssize(values) / cols, cols);
  std::ranges::copy(values, matrix.floats());
  return matrix;
}

/// An f32 matrix of equal values.
inline Matrix Filled(int64_t rows, int64_t cols, float value) {
  return MatrixOf(std::vector<float>(rows * cols, value), cols);
}

/// An f32 matrix of 0, step, 2 * step, ...
inline Matrix Rising(int64_t rows, int64_t cols, float step) {
  Matrix matrix(rows, cols);
  for (int64_t i = 0; i < rows * cols; ++i) matrix.floats()[i] = static_cast<float>(i) * step;
  return matrix;
}

/// The elements of an f32 matrix, row by row.
inline std::span<const float> Values(const Matrix& matrix) {
  return {matrix.floats(), static_cast<size_t>(matrix.num_elements())};
}

/// The values rounded to bf16.
inline std::vector<uint16_t> Bf16Of(std::span<const float> values) {
  std::vector<uint16_t> rounded(values.size());
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    StoreFromFloat(rounded.data(), DType::kBf16, i, values[i]);
  }
  return rounded;
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_MATRICES_H_
