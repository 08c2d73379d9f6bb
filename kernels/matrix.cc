#include "kernels/matrix.h"

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

}  // namespace shortlist
