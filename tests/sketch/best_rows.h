#ifndef SHORTLIST_TESTS_SKETCH_BEST_ROWS_H_
#define SHORTLIST_TESTS_SKETCH_BEST_ROWS_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/matrix.h"

namespace shortlist {

/// For each of `states`, the row of `rows` [n, states.cols()] with the largest product.
inline std::vector<int32_t> BestRows(const Matrix& states, std::span<const float> rows) {
  const int64_t hidden = states.cols();
  std::vector<int32_t> best;
  for (int64_t m = 0; m < states.rows(); ++m) {
    const float* const state = states.floats() + m * hidden;
    double largest = -std::numeric_limits<double>::infinity();
    best.push_back(-1);
    for (int64_t r = 0; r < std::ssize(rows) / hidden; ++r) {
      double product = 0.0;
      for (int64_t k = 0; k < hidden; ++k) product += double{state[k]} * rows[r * hidden + k];
      if (product > largest) {
        largest = product;
        best.back() = static_cast<int32_t>(r);
      }
    }
  }
  return best;
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SKETCH_BEST_ROWS_H_
