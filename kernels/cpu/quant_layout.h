#ifndef SHORTLIST_KERNELS_CPU_QUANT_LAYOUT_H_
#define SHORTLIST_KERNELS_CPU_QUANT_LAYOUT_H_

#include <cstdint>

#include "kernels/quant.h"

namespace shortlist {

inline constexpr int64_t kQuantScaleBytes = 2;

/// Offset added to a code to store it as an unsigned byte or nibble.
constexpr int32_t QuantZeroPoint(DType dtype) { return dtype == DType::kInt4 ? 8 : 128; }

/// Returns the code of column `column` of a group. `steps` points to its code bytes: step s of the
/// group is the 4 bytes at steps + s * step_stride.
inline int32_t QuantCodeAt(const uint8_t* steps, int64_t step_stride, DType dtype,
                           const QuantShape& shape, int64_t column) {
  if (dtype == DType::kInt8) return steps[column / 4 * step_stride + column % 4] - 128;
  const int64_t half = shape.group_len / 2;
  const uint8_t pair = steps[column % half / 4 * step_stride + column % 4];
  return (column < half ? pair & 15 : pair >> 4) - 8;
}

/// A quantised input row, made for one weight type (its zero point) and shape, padded with zeros to
/// whole blocks:
///   codes [num_blocks][steps][block_groups][4]
///   scales [num_lanes] f32, with num_lanes = num_blocks * block_groups
///   offsets [num_lanes] i32: -zero_point * the sum of a group's codes. A group's dot product over
///     stored weight codes, plus the offset, is the dot product over the codes themselves.
/// For panels, whose blocks have one group, the codes are in the order of the columns.
struct QuantInput {
  int8_t* codes;
  float* scales;
  int32_t* offsets;

  static int64_t NumLanes(const QuantShape& shape) {
    return (shape.num_groups + shape.block_groups - 1) / shape.block_groups * shape.block_groups;
  }
  /// A multiple of 64.
  static int64_t Bytes(const QuantShape& shape) {
    return (NumLanes(shape) * (shape.group_len + 8) + 63) / 64 * 64;
  }
  static QuantInput At(void* row, const QuantShape& shape) {
    const int64_t num_lanes = NumLanes(shape);
    auto* codes = static_cast<int8_t*>(row);
    auto* scales = reinterpret_cast<float*>(codes + num_lanes * shape.group_len);
    return {codes, scales, reinterpret_cast<int32_t*>(scales + num_lanes)};
  }
  static QuantInput At(const void* row, const QuantShape& shape) {
    return At(const_cast<void*>(row), shape);
  }

  /// Returns step 0 of a group; its steps 0, 1, ... lie 4 * block_groups bytes apart.
  int8_t* group_steps(int64_t group, const QuantShape& shape) const {
    const int64_t place = group % shape.block_groups;
    return codes + (group - place) * shape.group_len + place * 4;
  }
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_QUANT_LAYOUT_H_
