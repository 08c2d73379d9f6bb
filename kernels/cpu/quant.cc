#include "kernels/quant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/blocks.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/quant_layout.h"

namespace shortlist {
namespace {

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Divisors of the largest weight of an int4 group. The first uses all codes; the others trade
/// accuracy of the largest weights for accuracy of the rest.
constexpr float kInt4Divisors[] = {-8.0f, -7.25f, -7.75f, -8.25f, -8.5f};

/// The bf16 bits of a positive `scale`, rounded up.
uint16_t ScaleBitsUp(float scale) {
  return static_cast<uint16_t>((std::bit_cast<uint32_t>(scale) + 0xffffu) >> 16);
}

/// Rounds to nearest even; |value| < 2^22.
float Round(float value) {
  constexpr float kShift = 0x1.8p23f;  // leaves no room for a fraction
  return value + kShift - kShift;
}

float Code(float weight, float scale, float low, float high) {
  return Round(std::min(std::max(weight / scale, low), high));
}

float Int4Error(const float* weights, int64_t count, float scale) {
  float sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    const float error = weights[k] - Code(weights[k], scale, -8.0f, 7.0f) * scale;
    sum += error * error;
  }
  return sum;
}

uint16_t Int4Scale(const float* weights, int64_t count, float largest) {
  uint16_t best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (const float divisor : kInt4Divisors) {
    const uint16_t scale = FloatToBf16(largest / divisor);
    const float error = Int4Error(weights, count, Bf16ToFloat(scale));
    if (best != 0 && !(error < least)) continue;
    best = scale;
    least = error;
  }
  return best;
}

/// Returns byte `byte` of a step as stored: the code of column 4 * step + byte of a group whose
/// codes are `codes` (int4: of two columns).
uint8_t CodeByte(const int8_t* codes, DType dtype, const QuantShape& shape, int64_t step,
                 int64_t byte) {
  const int64_t column = 4 * step + byte;
  if (dtype == DType::kInt8) return static_cast<uint8_t>(codes[column] + 128);
  const int low = codes[column] + 8;
  const int high = codes[column + shape.group_len / 2] + 8;
  return static_cast<uint8_t>(low | high << 4);
}

int64_t NumCodeSteps(DType dtype, const QuantShape& shape) { return shape.code_bytes(dtype) / 4; }

}  // namespace

QuantShape QuantShape::Of(DType dtype, int64_t width, QuantLayout layout) {
  const int64_t max_len = dtype == DType::kInt4 ? 32 : 64;
  // A step is 4 columns, and an int4 byte holds columns of two steps.
  const int64_t multiple = dtype == DType::kInt4 ? 8 : 4;
  const int64_t block_groups = layout == QuantLayout::kHeadRow ? 16 : 1;  // 64 bytes of a step
  const int64_t wanted = RoundUp((width + max_len - 1) / max_len, block_groups);
  const int64_t group_len = RoundUp((width + wanted - 1) / wanted, multiple);
  return {width, group_len, (width + group_len - 1) / group_len, block_groups};
}

int64_t RowBytes(DType dtype, int64_t width) {
  if (!IsQuantized(dtype)) return width * DTypeBytes(dtype);
  if (IsBlocked(dtype)) return BlockRowBytes(dtype, width);
  const QuantShape shape = QuantShape::Of(dtype, width, QuantLayout::kHeadRow);
  return shape.num_groups * (shape.code_bytes(dtype) + kQuantScaleBytes);
}

int64_t QuantPanelBytes(DType dtype, int64_t in_features) {
  const QuantShape shape = QuantShape::Of(dtype, in_features, QuantLayout::kPanel);
  return shape.num_groups * (shape.code_bytes(dtype) + kQuantScaleBytes) * kPanelRows;
}

void QuantizeRow(const float* row, DType dtype, const QuantShape& shape, int8_t* codes,
                 uint16_t* scales) {
  const bool is_int4 = dtype == DType::kInt4;
  const float low = is_int4 ? -8.0f : -127.0f;
  const float high = is_int4 ? 7.0f : 127.0f;
  std::fill_n(codes, shape.num_groups * shape.group_len, int8_t{0});
  for (int64_t g = 0; g < shape.num_groups; ++g) {
    const float* weights = row + g * shape.group_len;
    const int64_t count = std::min(shape.group_len, shape.width - g * shape.group_len);
    float largest = 0;
    for (int64_t k = 0; k < count; ++k) {
      if (std::abs(weights[k]) > std::abs(largest)) largest = weights[k];
    }
    scales[g] = is_int4 ? Int4Scale(weights, count, largest) : ScaleBitsUp(std::abs(largest) / 127);
    const float scale = Bf16ToFloat(scales[g]);
    if (scale == 0) continue;
    for (int64_t k = 0; k < count; ++k) {
      codes[g * shape.group_len + k] = static_cast<int8_t>(Code(weights[k], scale, low, high));
    }
  }
}

void QuantizeHeadRow(const float* row, DType dtype, int64_t hidden, void* target) {
  const QuantShape shape = QuantShape::Of(dtype, hidden, QuantLayout::kHeadRow);
  const int64_t num_groups = shape.num_groups;
  thread_local std::vector<int8_t> codes;
  codes.resize(num_groups * shape.group_len);
  auto* out = static_cast<uint8_t*>(target);
  auto* scales = reinterpret_cast<uint16_t*>(out + num_groups * shape.code_bytes(dtype));
  QuantizeRow(row, dtype, shape, codes.data(), scales);
  for (int64_t first = 0; first < num_groups; first += shape.block_groups) {
    const int64_t last = std::min(num_groups, first + shape.block_groups);
    for (int64_t step = 0; step < NumCodeSteps(dtype, shape); ++step) {
      for (int64_t g = first; g < last; ++g) {
        for (int64_t byte = 0; byte < 4; ++byte) {
          *out++ = CodeByte(codes.data() + g * shape.group_len, dtype, shape, step, byte);
        }
      }
    }
  }
}

void DequantizeHeadRow(const void* row, DType dtype, int64_t hidden, float* target) {
  if (IsBlocked(dtype)) return DecodeBlockRow(row, dtype, hidden, target);
  const QuantShape shape = QuantShape::Of(dtype, hidden, QuantLayout::kHeadRow);
  const int64_t num_groups = shape.num_groups;
  const auto* bytes = static_cast<const uint8_t*>(row);
  const auto* scales =
      reinterpret_cast<const uint16_t*>(bytes + num_groups * shape.code_bytes(dtype));
  for (int64_t g = 0; g < num_groups; ++g) {
    const int64_t first = g / shape.block_groups * shape.block_groups;
    const int64_t block_groups = std::min(shape.block_groups, num_groups - first);
    const uint8_t* steps = bytes + first * shape.code_bytes(dtype) + (g - first) * 4;
    for (int64_t k = 0; k < shape.group_len && g * shape.group_len + k < hidden; ++k) {
      target[g * shape.group_len + k] =
          static_cast<float>(QuantCodeAt(steps, 4 * block_groups, dtype, shape, k)) *
          Bf16ToFloat(scales[g]);
    }
  }
}

void QuantizePanel(const float* const* rows, int64_t num_rows, DType dtype, int64_t in_features,
                   void* panel) {
  const QuantShape shape = QuantShape::Of(dtype, in_features, QuantLayout::kPanel);
  const int64_t num_groups = shape.num_groups;
  const int64_t group_bytes = kPanelRows * (shape.code_bytes(dtype) + kQuantScaleBytes);
  thread_local std::vector<int8_t> codes;
  thread_local std::vector<uint16_t> scales;
  codes.resize(num_groups * shape.group_len);
  scales.resize(num_groups);
  for (int64_t r = 0; r < num_rows; ++r) {
    QuantizeRow(rows[r], dtype, shape, codes.data(), scales.data());
    for (int64_t g = 0; g < num_groups; ++g) {
      uint8_t* group = static_cast<uint8_t*>(panel) + g * group_bytes;
      for (int64_t step = 0; step < NumCodeSteps(dtype, shape); ++step) {
        for (int64_t byte = 0; byte < 4; ++byte) {
          group[(step * kPanelRows + r) * 4 + byte] =
              CodeByte(codes.data() + g * shape.group_len, dtype, shape, step, byte);
        }
      }
      reinterpret_cast<uint16_t*>(group + kPanelRows * shape.code_bytes(dtype))[r] = scales[g];
    }
  }
}

QuantizedRows QuantizedRows::Quantize(const void* rows, DType from, int64_t num_rows,
                                      int64_t hidden, DType dtype, ThreadPool& pool) {
  const int64_t row_bytes = RowBytes(dtype, hidden);
  QuantizedRows quantized;
  quantized.memory_ = Arena(num_rows * row_bytes);
  char* const target = static_cast<char*>(quantized.memory_.data());
  const char* const source = static_cast<const char*>(rows);
  const KernelTable& table = CurrentKernels();
  pool.ParallelFor(num_rows, /*grain=*/16, [&](int64_t begin, int64_t end) {
    std::vector<float> row(hidden);
    for (int64_t r = begin; r < end; ++r) {
      const char* const stored = source + r * RowBytes(from, hidden);
      if (IsQuantized(from)) {
        DequantizeHeadRow(stored, from, hidden, row.data());
      } else {
        table.to_f32(stored, from, hidden, row.data());
      }
      QuantizeHeadRow(row.data(), dtype, hidden, target + r * row_bytes);
    }
  });
  return quantized;
}

QuantizedRows QuantizedRows::OfBlocks(const void* blocks, int64_t num_rows, int64_t hidden,
                                      DType dtype, ThreadPool& pool) {
  const int64_t row_bytes = RowBytes(dtype, hidden), stored_bytes = StoredRowBytes(dtype, hidden);
  QuantizedRows rows;
  rows.memory_ = Arena(num_rows * row_bytes);
  char* const target = static_cast<char*>(rows.memory_.data());
  pool.ParallelFor(num_rows, /*grain=*/16, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      PackBlockRow(static_cast<const char*>(blocks) + r * stored_bytes, dtype, hidden,
                   target + r * row_bytes);
    }
  });
  return rows;
}

}  // namespace shortlist
