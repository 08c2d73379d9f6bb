#ifndef SHORTLIST_KERNELS_CUDA_ROWS_H_
#define SHORTLIST_KERNELS_CUDA_ROWS_H_

#include <cstdint>

#include "base/dtype.h"
#include "kernels/host_device.h"

namespace shortlist {

/// Layout of a head's rows in device memory. 16-bit, f32 and fp8 rows are read in the checkpoint's
/// layout. int8 and int4 rows are those of kernels/quant.h in another order (PackCudaRow).
enum class RowFormat : uint8_t { kBf16, kF16, kFp8, kInt8, kInt4, kF32 };

const char* RowFormatName(RowFormat format);

/// A row is read in units of kUnitBytes. Each of the four lanes of a quad takes one piece of
/// kPieceBytes of a unit: the operand of two tensor core instructions (four for the narrow
/// formats). f32 rows do not use tensor cores, which would round them.
inline constexpr int kUnitBytes = 64;
inline constexpr int kPieceBytes = 16;

/// Codes in one quantised group of a row.
inline constexpr int kInt8GroupCodes = 64;  // one unit
inline constexpr int kInt4GroupCodes = 32;  // a quarter of a unit

/// Sizes of a weight row, and of a hidden state prepared for rows of that format.
///   kBf16, kF16  [hidden] bf16 or f16. State: the same type; f16 states times a power of two.
///   kF32         [hidden] f32. State: f32.
///   kFp8         [hidden] e4m3fn without NaN, and an f32 factor per row in a separate array.
///                State: f16 times a power of two, each four columns in the order 0 2 1 3.
///   kInt8        [num_groups][64] codes, two's complement, zeros after a group's group_len
///                (QuantShape); then [num_groups] bf16 scales, padded with zeros to 16 bytes.
///                State: codes in the same places; f32 scales.
///   kInt4        [num_units][4 pieces t][4 groups][4 bytes b] : code 4 t + b of the group in the
///                low nibble, code 16 + 4 t + b in the high nibble; then bf16 scales as for kInt8.
///                State: [num_units][4 t][4 groups][code 4 t + b, 4 bytes; code 16 + 4 t + b]; f32
///                scales.
struct RowLayout {
  RowFormat format = RowFormat::kBf16;
  int64_t hidden = 0;
  int64_t group_len = 0;      // columns of a group; 0 for float formats
  int64_t num_groups = 0;     // 0 for float formats
  int64_t num_units = 0;      // the last may extend past code_bytes
  int64_t code_bytes = 0;     // a multiple of 16
  int64_t scale_bytes = 0;    // stored after the codes; a multiple of 16
  int64_t row_bytes = 0;      // from row to row
  int64_t x_code_bytes = 0;   // of one prepared state, without its scales
  int64_t x_scale_bytes = 0;  // of the group scales of one prepared state

  /// `hidden` >= 1.
  static RowLayout Of(RowFormat format, int64_t hidden);

  SHORTLIST_HOST_DEVICE bool quantized() const { return num_groups > 0; }
};

/// Number of pieces of a prepared state for one piece of a row.
SHORTLIST_HOST_DEVICE constexpr int StatePieces(RowFormat format) {
  return format == RowFormat::kFp8 || format == RowFormat::kInt4 ? 2 : 1;
}

/// Returns the offset in a prepared state of the code of column `column` of group `group`.
SHORTLIST_HOST_DEVICE inline int64_t StateCodeByte(RowFormat format, int64_t group,
                                                   int64_t column) {
  if (format == RowFormat::kInt8) return group * kInt8GroupCodes + column;
  const int64_t piece = column % 16 / 4;
  return group / 4 * 128 + piece * 32 + group % 4 * 8 + column / 16 * 4 + column % 4;
}

/// Returns the place of column `column` in a prepared fp8 state: e4m3 bytes widen in pairs 0 2 and
/// 1 3.
SHORTLIST_HOST_DEVICE inline int64_t Fp8StateColumn(int64_t column) {
  const int64_t low = column % 4;
  return column - low + (low == 1 ? 2 : low == 2 ? 1 : low);
}

/// Converts `head_row`, of RowBytes(dtype, hidden), to a row for the device. `dtype` is kInt8 or
/// kInt4; row: RowLayout's row_bytes.
void PackCudaRow(const void* head_row, DType dtype, int64_t hidden, void* row);

/// Returns the value of an e4m3fn code; NaN codes count as +-480.
float Fp8ToFloat(uint8_t code);
/// Returns the nearest e4m3fn code, ties to even, saturating at +-448. `value` must not be NaN.
uint8_t FloatToFp8(float value);
/// Writes codes, [hidden]. Returns the row's factor, max |row| / 448, or 1 for a row of zeros. The
/// values must be finite.
float QuantizeFp8Row(const float* row, int64_t hidden, uint8_t* codes);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_ROWS_H_
