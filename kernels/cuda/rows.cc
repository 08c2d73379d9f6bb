#include "kernels/cuda/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/cpu/quant_layout.h"
#include "kernels/cuda/states_kernel.h"
#include "kernels/quant.h"

namespace shortlist {
namespace {

static_assert(kLeastStateGroup == kLeastInput, "hidden states are quantised as on the CPU");

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

const char* RowFormatName(RowFormat format) {
  switch (format) {
    case RowFormat::kBf16:
      return "bf16";
    case RowFormat::kF16:
      return "f16";
    case RowFormat::kFp8:
      return "fp8";
    case RowFormat::kInt8:
      return "int8";
    case RowFormat::kInt4:
      return "int4";
    case RowFormat::kF32:
      return "f32";
  }
  return "unknown";
}

RowLayout RowLayout::Of(RowFormat format, int64_t hidden) {
  RowLayout layout{.format = format, .hidden = hidden};
  if (format == RowFormat::kInt8 || format == RowFormat::kInt4) {
    const bool int4 = format == RowFormat::kInt4;
    const QuantShape shape =
        QuantShape::Of(int4 ? DType::kInt4 : DType::kInt8, hidden, QuantLayout::kHeadRow);
    const int64_t padded_groups = RoundUp(shape.num_groups, 8);
    layout.group_len = shape.group_len;
    layout.num_groups = shape.num_groups;
    layout.num_units = int4 ? (shape.num_groups + 3) / 4 : shape.num_groups;
    layout.code_bytes = layout.num_units * kUnitBytes;
    layout.scale_bytes = padded_groups * 2;
    layout.x_scale_bytes = padded_groups * 4;
  } else {
    layout.code_bytes = format == RowFormat::kFp8   ? hidden
                        : format == RowFormat::kF32 ? 4 * hidden
                                                    : 2 * hidden;
    layout.num_units = (layout.code_bytes + kUnitBytes - 1) / kUnitBytes;
  }
  layout.row_bytes = layout.code_bytes + layout.scale_bytes;
  layout.x_code_bytes = layout.code_bytes * StatePieces(format);
  return layout;
}

void PackCudaRow(const void* head_row, DType dtype, int64_t hidden, void* row) {
  SHORTLIST_CHECK(IsQuantized(dtype));
  const bool int4 = dtype == DType::kInt4;
  const RowFormat format = int4 ? RowFormat::kInt4 : RowFormat::kInt8;
  const QuantShape shape = QuantShape::Of(dtype, hidden, QuantLayout::kHeadRow);
  const RowLayout layout = RowLayout::Of(format, hidden);
  const auto* from = static_cast<const uint8_t*>(head_row);
  auto* to = static_cast<uint8_t*>(row);
  std::memset(to, 0, layout.row_bytes);
  for (int64_t g = 0; g < shape.num_groups; ++g) {
    const int64_t first = g / shape.block_groups * shape.block_groups;
    const int64_t block_groups = std::min(shape.block_groups, shape.num_groups - first);
    const uint8_t* steps = from + first * shape.code_bytes(dtype) + (g - first) * 4;
    for (int64_t k = 0; k < shape.group_len; ++k) {
      const int32_t code = QuantCodeAt(steps, 4 * block_groups, dtype, shape, k);
      if (!int4) {
        to[g * kInt8GroupCodes + k] = static_cast<uint8_t>(code);
        continue;
      }
      const int64_t at = g / 4 * kUnitBytes + k % 16 / 4 * kPieceBytes + g % 4 * 4 + k % 4;
      to[at] |= static_cast<uint8_t>((code & 15) << (k < 16 ? 0 : 4));
    }
  }
  std::memcpy(to + layout.code_bytes, from + shape.num_groups * shape.code_bytes(dtype),
              shape.num_groups * kQuantScaleBytes);
}

float Fp8ToFloat(uint8_t code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

uint8_t FloatToFp8(float value) {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::min(std::abs(value), 448.0f);
  // The spacing of codes: 2^-9 up to 2^-6; above, an eighth of the leading power of two.
  int exponent = -6;
  while (exponent < 8 && magnitude >= std::ldexp(2.0f, exponent)) ++exponent;
  const int steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 3 - exponent)));
  // 16 steps carry into the next exponent; 8 steps above exponent field 0 is the smallest normal
  // number.
  return static_cast<uint8_t>(sign | ((exponent + 6) * 8 + steps));
}

float QuantizeFp8Row(const float* row, int64_t hidden, uint8_t* codes) {
  float largest = 0;
  for (int64_t k = 0; k < hidden; ++k) largest = std::max(largest, std::abs(row[k]));
  const float factor = largest > 0 ? largest / 448.0f : 1.0f;
  for (int64_t k = 0; k < hidden; ++k) codes[k] = FloatToFp8(row[k] / factor);
  return factor;
}

}  // namespace shortlist
