#include "kernels/matrix.h"

#include <algorithm>
#include <new>

namespace shortlist {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

Matrix::Matrix(int64_t rows, int64_t cols) : rows_(rows), cols_(cols) {
  SHORTLIST_CHECK(rows >= 0 && cols >= 0);
  void* const data = ::operator new(static_cast<size_t>(bytes()), kAlignment);
  memory_ = std::shared_ptr<void>(data, [](void* p) { ::operator delete(p, kAlignment); });
}

Matrix Matrix::Rows(int64_t first, int64_t count) const {
  SHORTLIST_CHECK(first >= 0 && count >= 0 && first + count <= rows_);
  char* const data = static_cast<char*>(memory_.get()) + first * cols_ * DTypeBytes(dtype_);
  return Matrix(std::shared_ptr<void>(memory_, data), count, cols_, dtype_);
}

Matrix GatherRows(const Matrix& source, std::span<const int64_t> rows) {
  Matrix gathered(std::ssize(rows), source.cols());
  float* to = gathered.floats();
  for (const int64_t row : rows) {
    SHORTLIST_CHECK(row >= 0 && row < source.rows());
    to = std::copy_n(source.floats() + row * source.cols(), source.cols(), to);
  }
  return gathered;
}

}  // namespace shortlist
