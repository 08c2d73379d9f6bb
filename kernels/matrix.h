#ifndef SHORTLIST_KERNELS_MATRIX_H_
#define SHORTLIST_KERNELS_MATRIX_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/dtype.h"

namespace shortlist {

/// A dense matrix in row order, of one dtype that is not quantised, in memory of its own. A vector
/// is a matrix of one column. Copies are cheap: they share the elements.
///
/// Holds weights, hidden states and the results of passes.
class Matrix {
 public:
  /// No matrix.
  Matrix() = default;
  /// A matrix of f32 with unspecified elements, aligned to 64 bytes. Throws std::bad_alloc.
  Matrix(int64_t rows, int64_t cols);
  /// A matrix over `memory`, [rows, cols] of `dtype`.
  Matrix(std::shared_ptr<void> memory, int64_t rows, int64_t cols, DType dtype)
      : memory_(std::move(memory)), rows_(rows), cols_(cols), dtype_(dtype) {}

  /// False for "no matrix".
  bool defined() const { return memory_ != nullptr; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  int64_t num_elements() const { return rows_ * cols_; }
  int64_t bytes() const { return num_elements() * DTypeBytes(dtype_); }
  DType dtype() const { return dtype_; }

  /// Rows first .. first + count - 1, which share their elements with this matrix.
  Matrix Rows(int64_t first, int64_t count) const;

  /// Null for "no matrix".
  void* data() const { return memory_.get(); }
  /// Same as data(). Precondition: f32.
  float* floats() const {
    SHORTLIST_CHECK(dtype_ == DType::kF32);
    return static_cast<float*>(memory_.get());
  }

 private:
  std::shared_ptr<void> memory_;
  int64_t rows_ = 0, cols_ = 0;
  DType dtype_ = DType::kF32;
};

/// Returns a copy of the rows `rows` of an f32 matrix, in that order.
Matrix GatherRows(const Matrix& source, std::span<const int64_t> rows);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_MATRIX_H_
