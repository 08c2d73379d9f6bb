#ifndef SHORTLIST_TESTS_KERNELS_KERNEL_TESTING_H_
#define SHORTLIST_TESTS_KERNELS_KERNEL_TESTING_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "kernels/isa.h"
#include "kernels/quant.h"

namespace shortlist {

inline constexpr DType kAllDTypes[] = {DType::kF32, DType::kF16, DType::kBf16};
inline constexpr DType kWeightDTypes[] = {DType::kF32, DType::kF16, DType::kBf16, DType::kInt8,
                                          DType::kInt4};

/// Runs the rest of a scope on one instruction set.
class ScopedIsa {
 public:
  explicit ScopedIsa(Isa isa) : before_(CurrentIsa()) { SetIsa(isa); }
  ~ScopedIsa() { SetIsa(before_); }

 private:
  const Isa before_;
};

inline std::vector<float> RandomFloats(std::mt19937& rng, int64_t count) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(rng);
  return values;
}

inline int64_t RandomInt(std::mt19937& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

/// Numbers as stored in a dtype: the bytes, and what they read back as.
struct Stored {
  Stored(const std::vector<float>& source, DType stored_dtype)
      : dtype(stored_dtype),
        bytes(source.size() * DTypeBytes(stored_dtype)),
        values(source.size()) {
    for (size_t i = 0; i < source.size(); ++i) {
      StoreFromFloat(bytes.data(), dtype, static_cast<int64_t>(i), source[i]);
      values[i] = LoadAsFloat(bytes.data(), dtype, static_cast<int64_t>(i));
    }
  }
  const void* data() const { return bytes.data(); }

  DType dtype;
  std::vector<char> bytes;
  std::vector<float> values;
};

/// Computes the weights that a quantised row represents in a layer of this layout.
inline void RoundWeights(const float* row, DType dtype, int64_t width, QuantLayout layout,
                         float* target) {
  const QuantShape shape = QuantShape::Of(dtype, width, layout);
  std::vector<int8_t> codes(shape.num_groups * shape.group_len);
  std::vector<uint16_t> scales(shape.num_groups);
  QuantizeRow(row, dtype, shape, codes.data(), scales.data());
  for (int64_t k = 0; k < width; ++k) {
    target[k] = static_cast<float>(codes[k]) * Bf16ToFloat(scales[k / shape.group_len]);
  }
}

/// Weights [num_rows, width] of any type: the checkpoint's (f32 for quantised types), the rows of a
/// head, and what they stand for in a layer of `layout`.
struct StoredRows {
  StoredRows(const std::vector<float>& numbers, DType weight_dtype, int64_t row_width,
             QuantLayout layout = QuantLayout::kHeadRow)
      : dtype(weight_dtype),
        source(numbers, IsQuantized(dtype) ? DType::kF32 : dtype),
        row_bytes(RowBytes(dtype, row_width)),
        bytes(source.bytes),
        values(source.values) {
    if (!IsQuantized(dtype)) return;
    const int64_t num_rows = static_cast<int64_t>(numbers.size()) / row_width;
    bytes.resize(num_rows * row_bytes);
    for (int64_t r = 0; r < num_rows; ++r) {
      QuantizeHeadRow(&numbers[r * row_width], dtype, row_width, &bytes[r * row_bytes]);
      RoundWeights(&numbers[r * row_width], dtype, row_width, layout, &values[r * row_width]);
    }
  }
  const void* row(int64_t r) const { return &bytes[r * row_bytes]; }

  DType dtype;
  Stored source;
  int64_t row_bytes;
  std::vector<char> bytes;
  std::vector<float> values;
};

/// Inputs as the dot kernels round them against weights of `dtype`.
inline std::vector<double> RoundInputs(const float* x, int64_t count, DType dtype,
                                       QuantLayout layout = QuantLayout::kHeadRow) {
  std::vector<double> rounded(x, x + count);
  if (dtype == DType::kBf16) {
    for (double& value : rounded) value = Bf16ToFloat(FloatToBf16(static_cast<float>(value)));
  }
  if (!IsQuantized(dtype)) return rounded;
  const int64_t group_len = QuantShape::Of(dtype, count, layout).group_len;
  for (int64_t begin = 0; begin < count; begin += group_len) {
    const int64_t end = std::min(count, begin + group_len);
    float largest = 0;
    for (int64_t k = begin; k < end; ++k) largest = std::max(largest, std::abs(x[k]));
    for (int64_t k = begin; k < end; ++k) {
      rounded[k] = largest < kLeastInput ? 0.0
                                         : std::nearbyint(x[k] * (127.0f / largest)) *
                                               static_cast<double>(largest / 127.0f);
    }
  }
  return rounded;
}

/// A dot product in double precision, and how far an f32 sum of it may be off.
struct ExactDot {
  double value = 0;
  double tolerance = 0;
};

/// `num_epsilons`: of the sum of magnitudes, in the tolerance.
inline ExactDot DotOracle(const float* x, const float* w, int64_t count, DType dtype,
                          double num_epsilons = 8, QuantLayout layout = QuantLayout::kHeadRow) {
  const std::vector<double> rounded = RoundInputs(x, count, dtype, layout);
  double sum = 0;
  double magnitude = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double product = rounded[k] * w[k];
    sum += product;
    magnitude += std::abs(product);
  }
  constexpr double kEpsilon = 0x1p-23;
  return {sum, num_epsilons * kEpsilon * magnitude + 1e-30};
}

/// Bit equality, so that -0 is not 0 and a NaN equals itself.
inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline std::string Describe(Isa isa, DType dtype) {
  return std::string(IsaName(isa)) + " " + DTypeName(dtype);
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_KERNELS_KERNEL_TESTING_H_
