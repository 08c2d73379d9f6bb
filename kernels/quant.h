#ifndef SHORTLIST_KERNELS_QUANT_H_
#define SHORTLIST_KERNELS_QUANT_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/arena.h"

namespace shortlist {

/// Quantised weights. A row is cut into groups of consecutive columns, and a weight is
/// code * scale, with one bf16 scale per group:
///   int8  codes -127 .. 127, scale = max |w| / 127, rounded up; off by at most scale / 2
///   int4  codes -8 .. 7, scale = -w / d for the w of largest magnitude (so it may be negative) and
///         that d of a few around 8 which leaves the least squared error; off by at most
///         |scale| / 2, or 1.5 |scale| where a weight lies beyond the codes
/// each code being the nearest one. A group of zeros has scale 0; so has an int4 group whose scale
/// bf16 cannot hold (below 1e-40).
///
/// Inputs are quantised too, each token by itself and so alike in any batch: the same groups, int8
/// codes, scale = max |x| / 127 in f32; a group that holds a NaN or an infinity has scale NaN, one
/// with max |x| < kLeastInput counts as zeros. A group's products are added up exactly, in
/// integers; the groups' sums in f32 and in one fixed order, whatever num_tokens, tile or thread.

/// Where quantised weights lie: in the rows of a head, or in the panels of a linear layer.
enum class QuantLayout { kHeadRow, kPanel };

/// How a row is cut into groups. They are equally long. In a head row each takes one lane of a
/// vector, so they are sixteen or a multiple of sixteen where that is possible; in a panel, whose
/// lanes are its rows, they are as few and as long as can be. The last ones may reach beyond the
/// row; their codes are zero there.
struct QuantShape {
  int64_t width = 0;         // columns
  int64_t group_len = 0;     // a multiple of 4, at most 64 (int8); of 8, at most 32 (int4)
  int64_t num_groups = 0;    // the least that hold `width`
  int64_t block_groups = 1;  // groups whose steps are interleaved: 16 (a vector) in a head row

  static QuantShape Of(DType dtype, int64_t width, QuantLayout layout);

  /// Bytes of one group's codes.
  int64_t code_bytes(DType dtype) const {
    return dtype == DType::kInt4 ? group_len / 2 : group_len;
  }
};

inline constexpr float kLeastInput = 1e-30f;

/// Bytes of one row of a head of any dtype. A quantised row is its codes, then its scales, so that
/// a gathered row is one contiguous read:
///   for every block of (up to) 16 groups: for every step of 4 columns (int4: of 4 columns and the
///     4 that lie half a group on) and every group of the block: 4 bytes
///   [num_groups] bf16
/// A byte holds code + 128, or code + 8 of the first half in its low and of the second in its high
/// nibble.
int64_t RowBytes(DType dtype, int64_t width);

/// Quantises one row of finite values: codes [num_groups * group_len], zeros beyond the row;
/// scales [num_groups], bf16 bits. `dtype` is quantised.
void QuantizeRow(const float* row, DType dtype, const QuantShape& shape, int8_t* codes,
                 uint16_t* scales);

/// Writes one head row of RowBytes.
void QuantizeHeadRow(const float* row, DType dtype, int64_t hidden, void* target);

/// The weights that a head row stands for: target is [hidden].
void DequantizeHeadRow(const void* row, DType dtype, int64_t hidden, float* target);

/// Bytes of one panel of a linear layer (kernels/cpu/linear.cc):
///   for every group: for every step, as in a head row: [32 rows] 4 bytes; then [32] bf16
int64_t QuantPanelBytes(DType dtype, int64_t in_features);

/// Writes one panel from `num_rows` <= 32 rows [in_features]; `panel` is zeroed, and the missing
/// rows stay so, with scales of 0.
void QuantizePanel(const float* const* rows, int64_t num_rows, DType dtype, int64_t in_features,
                   void* panel);

/// A head's rows, quantised once at load. Immutable; any number of threads may read it.
class QuantizedRows {
 public:
  QuantizedRows() = default;

  /// Quantises `rows`, [num_rows, hidden] row-major finite values of the unquantised type `from`.
  static QuantizedRows Quantize(const void* rows, DType from, int64_t num_rows, int64_t hidden,
                                DType dtype, ThreadPool& pool);

  /// [num_rows], each RowBytes(dtype, hidden).
  const void* data() const { return memory_.data(); }

 private:
  Arena memory_;
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_QUANT_H_
