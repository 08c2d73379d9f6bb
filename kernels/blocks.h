#ifndef SHORTLIST_KERNELS_BLOCKS_H_
#define SHORTLIST_KERNELS_BLOCKS_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/arena.h"

namespace shortlist {

/// Weights of GGUF's types (base/weight_block.h), laid out anew for the kernels. Codes, scales and
/// mins keep their values. A layout interleaves the groups (32 columns) of several lanes: the 32
/// rows of a panel of a linear layer, or up to 16 groups of a row of a head. A code of b bits takes
/// b words of 4 bytes for each group:
///   4 bits  byte i of word w: columns 4 w + i (low nibble) and 16 + 4 w + i (high nibble)
///   5 bits  and in word 4, bit w of byte i: the fifth bit of column 4 w + i
///   6 bits  and in words 4 and 5, bits 2 w and 2 w + 1 of byte i of word 4 + h: the upper bits of
///           column 16 h + 4 w + i
///   8 bits  byte i of word w: column 4 w + i
///
/// Inputs are quantised by groups of 32 columns, as for int8 and int4 weights (kernels/quant.h).

/// Bytes of one row of a head:
///   for every (up to) 16 groups: for every word: [groups] 4 bytes
///   without scale codes: [num_groups] f16 scales, then mins
///   with scale codes: [num_scales][num_groups] scale codes, [num_groups] min codes, [num_groups /
///     8] f16 scales, then mins of the blocks
int64_t BlockRowBytes(DType dtype, int64_t width);

/// Writes one row of a head from the stored blocks of a row.
void PackBlockRow(const void* blocks, DType dtype, int64_t width, void* row);

/// Writes the weights of a row of a head: [width].
void DecodeBlockRow(const void* row, DType dtype, int64_t width, float* values);

/// Bytes of one panel of a linear layer:
///   for every block: with scale codes: [32 rows] f16 scales, then mins
///     for every group: for every word: [32 rows] 4 bytes
///       without scale codes: [32 rows] f16 scales, then mins
///       with scale codes: [num_scales][32 rows] scale codes, then [32 rows] min codes
int64_t BlockPanelBytes(DType dtype, int64_t in_features);

/// Writes one panel from the stored blocks of `num_rows` <= 32 rows. `panel` must be zeroed:
/// missing rows stay zero.
void PackBlockPanel(const void* const* rows, int64_t num_rows, DType dtype, int64_t in_features,
                    void* panel);

/// Bytes of a row of stored blocks.
int64_t StoredRowBytes(DType dtype, int64_t width);

/// False if a scale or a min of stored blocks [num_rows, width] is NaN or infinite.
bool BlocksAreFinite(const void* blocks, DType dtype, int64_t num_rows, int64_t width,
                     ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_BLOCKS_H_
