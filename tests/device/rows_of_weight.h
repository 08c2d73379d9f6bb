#ifndef SHORTLIST_TESTS_DEVICE_ROWS_OF_WEIGHT_H_
#define SHORTLIST_TESTS_DEVICE_ROWS_OF_WEIGHT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "kernels/quant.h"

namespace shortlist {

/// The first `width` columns of an f32 weight [vocab_size, hidden], as the rows of a head.
inline std::vector<char> RowsOfWeight(const at::Tensor& weight, DType dtype, int64_t width) {
  const int64_t row_bytes = RowBytes(dtype, width);
  std::vector<char> bytes(weight.size(0) * row_bytes);
  for (int64_t r = 0; r < weight.size(0); ++r) {
    const float* row = weight.data_ptr<float>() + r * weight.size(1);
    char* const to = bytes.data() + r * row_bytes;
    if (IsQuantized(dtype)) {
      QuantizeHeadRow(row, dtype, width, to);
    } else {
      for (int64_t k = 0; k < width; ++k) StoreFromFloat(to, dtype, k, row[k]);
    }
  }
  return bytes;
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_DEVICE_ROWS_OF_WEIGHT_H_
