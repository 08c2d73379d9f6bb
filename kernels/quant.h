#ifndef SHORTLIST_KERNELS_QUANT_H_
#define SHORTLIST_KERNELS_QUANT_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/arena.h"

namespace shortlist {

/// Weights quantised to int8 or int4. A row is cut into groups of consecutive columns. A weight is
/// code * scale, with one bf16 scale per group:
///   int8  codes -127 .. 127, scale = max |w| / 127, rounded up; error at most scale / 2
///   int4  codes -8 .. 7, scale = -w / d, where w has the largest magnitude (scale may be negative)
///         and d is the one of a few values around 8 with the least squared error; error at most
///         |scale| / 2, or 1.5 |scale| for a weight beyond the range of the codes
/// Each code is the nearest one. A group of zeros has scale 0, as has an int4 group whose scale is
/// too small for bf16 (below 1e-40).
///
/// Inputs are quantised too, each token by itself and therefore identically in any batch. They use
/// the same groups and int8 codes, with scale = max |x| / 127 in f32. A group that holds a NaN or
/// an infinity has scale NaN. A group with max |x| < kLeastInput counts as zeros. The products of a
/// group are summed exactly, in integers. The groups' sums are added in f32, in one fixed order for
/// any num_tokens, tile and thread.

/// Place of quantised weights: the rows of a head, or the panels of a linear layer.
enum class QuantLayout { kHeadRow, kPanel };

/// Describes how a row is cut into groups of equal length. In a head row each group takes one lane
/// of a vector, so the number of groups is sixteen or a multiple of sixteen where possible. In a
/// panel, whose lanes are its rows, the groups are as few and as long as possible. The last groups
/// may extend past the end of the row; their codes are zero there.
struct QuantShape {
  int64_t width = 0;         // columns
  int64_t group_len = 0;     // a multiple of 4, at most 64 (int8); of 8, at most 32 (int4)
  int64_t num_groups = 0;    // smallest number that covers `width`
  int64_t block_groups = 1;  // groups whose steps are interleaved: 16 (a vector) in a head row

  static QuantShape Of(DType dtype, int64_t width, QuantLayout layout);

  /// Bytes of one group's codes.
  int64_t code_bytes(DType dtype) const {
    return dtype == DType::kInt4 ? group_len / 2 : group_len;
  }
};

inline constexpr float kLeastInput = 1e-30f;

/// Bytes of one row of a head of any dtype. A row in blocks: kernels/blocks.h. Another quantised
/// row holds its codes, then its scales, so that a gathered row is one contiguous read:
///   for every block of (up to) 16 groups: for every step of 4 columns (int4: of 4 columns and the
///     4 that lie half a group further) and every group of the block: 4 bytes
///   [num_groups] bf16
/// A byte of int8 holds code + 128. A byte of int4 holds two codes + 8: the first half's in its low
/// nibble, the second half's in its high nibble.
int64_t RowBytes(DType dtype, int64_t width);

/// Quantises one row of finite values: codes [num_groups * group_len], zeros past the end of the
/// row; scales [num_groups], bf16 bits. `dtype` is quantised.
void QuantizeRow(const float* row, DType dtype, const QuantShape& shape, int8_t* codes,
                 uint16_t* scales);

/// Writes one head row of RowBytes(dtype, hidden).
void QuantizeHeadRow(const float* row, DType dtype, int64_t hidden, void* target);

/// Writes the weights that a head row represents; target: [hidden].
void DequantizeHeadRow(const void* row, DType dtype, int64_t hidden, float* target);

/// Bytes of one panel of a linear layer (kernels/cpu/linear.cc):
///   for every group: for every step, as in a head row: [32 rows] 4 bytes; then [32] bf16
int64_t QuantPanelBytes(DType dtype, int64_t in_features);

/// Writes one panel from `num_rows` <= 32 rows [in_features]. `panel` must be zeroed; missing rows
/// stay zero, with scales of 0.
void QuantizePanel(const float* const* rows, int64_t num_rows, DType dtype, int64_t in_features,
                   void* panel);

/// A head's rows, quantised once at load, or stored so. Immutable; any number of threads may read
/// it.
class QuantizedRows {
 public:
  QuantizedRows() = default;

  /// Quantises `rows` of finite values, [num_rows] of RowBytes(from, hidden), to int8 or int4.
  static QuantizedRows Quantize(const void* rows, DType from, int64_t num_rows, int64_t hidden,
                                DType dtype, ThreadPool& pool);

  /// Lays out stored blocks of type `dtype`, [num_rows, hidden], anew.
  static QuantizedRows OfBlocks(const void* blocks, int64_t num_rows, int64_t hidden, DType dtype,
                                ThreadPool& pool);

  /// [num_rows], each RowBytes(dtype, hidden).
  const void* data() const { return memory_.data(); }

 private:
  Arena memory_;
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_QUANT_H_
