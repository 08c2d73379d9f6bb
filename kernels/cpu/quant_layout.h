#ifndef SHORTLIST_KERNELS_CPU_QUANT_LAYOUT_H_
#define SHORTLIST_KERNELS_CPU_QUANT_LAYOUT_H_

#include <cstdint>

#include "kernels/quant.h"

namespace shortlist {

/// Groups of a row whose steps are interleaved: 16 times 4 bytes are one AVX-512 vector.
inline constexpr int64_t kQuantBlockGroups = 16;
inline constexpr int64_t kQuantScaleBytes = 2;

/// What is added to a code to store it as an unsigned byte or nibble.
constexpr int32_t QuantZeroPoint(DType dtype) { return dtype == DType::kInt4 ? 8 : 128; }

/// The code of column `column` of a group, of which `steps` are the code bytes: step s of the group
/// is the 4 bytes at steps + s * step_stride.
inline int32_t QuantCodeAt(const uint8_t* steps, int64_t step_stride, DType dtype,
                           const QuantShape& shape, int64_t column) {
  if (dtype == DType::kInt8) return steps[column / 4 * step_stride + column % 4] - 128;
  const int64_t half = shape.group_len / 2;
  const uint8_t pair = steps[column % half / 4 * step_stride + column % 4];
  return (column < half ? pair & 15 : pair >> 4) - 8;
}

/// A quantised input row, made for one weight type (its zero point) and shape, padded with zeros to
/// whole blocks:
///   codes [num_blocks][steps][16 groups][4], scales [num_blocks * 16] f32,
///   offsets [num_blocks * 16] i32: -zero_point * the sum of a group's codes. A group's dot product
///   over stored weight codes, plus the offset, is that over the codes themselves.
struct QuantInput {
  int8_t* codes;
  float* scales;
  int32_t* offsets;

  static int64_t NumBlocks(const QuantShape& shape) {
    return (shape.num_groups + kQuantBlockGroups - 1) / kQuantBlockGroups;
  }
  /// A multiple of 64.
  static int64_t Bytes(const QuantShape& shape) {
    return NumBlocks(shape) * kQuantBlockGroups * (shape.group_len + 8);
  }
  static QuantInput At(void* row, const QuantShape& shape) {
    const int64_t num_lanes = NumBlocks(shape) * kQuantBlockGroups;
    auto* codes = static_cast<int8_t*>(row);
    auto* scales = reinterpret_cast<float*>(codes + num_lanes * shape.group_len);
    return {codes, scales, reinterpret_cast<int32_t*>(scales + num_lanes)};
  }
  static QuantInput At(const void* row, const QuantShape& shape) {
    return At(const_cast<void*>(row), shape);
  }

  /// A group's codes once more, in order: what a tile of tokens has as its rows. Behind the row,
  /// for tables with byte_tiles (cpu/kernel_table.h).
  static constexpr int64_t kTileRowBytes = 64;
  static int64_t TileBytes(const QuantShape& shape) {
    return NumBlocks(shape) * kQuantBlockGroups * kTileRowBytes;
  }
  static int8_t* TileRow(void* row, int64_t group, const QuantShape& shape) {
    return static_cast<int8_t*>(row) + Bytes(shape) + group * kTileRowBytes;
  }

  /// Steps 0, 1, ... of a group lie 64 bytes apart from here on.
  int8_t* group_steps(int64_t group, const QuantShape& shape) const {
    return codes + group / kQuantBlockGroups * kQuantBlockGroups * shape.group_len +
           group % kQuantBlockGroups * 4;
  }
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_QUANT_LAYOUT_H_
