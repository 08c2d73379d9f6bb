#ifndef SHORTLIST_KERNELS_CPU_KERNEL_TABLE_H_
#define SHORTLIST_KERNELS_CPU_KERNEL_TABLE_H_

#include <cstdint>

#include "base/dtype.h"
#include "kernels/activation.h"
#include "kernels/elementwise.h"
#include "kernels/quant.h"

namespace shortlist {

/// Number of output rows of a linear layer that are interleaved in one panel; cpu/linear.cc
/// describes the layout.
inline constexpr int64_t kPanelRows = 32;

/// Prepared inputs (cpu/input.h) are padded with zeros to a multiple of this many elements.
inline constexpr int64_t kInputPadding = 32;

/// Largest number of rows ahead that a head kernel can use (CpuHeadJob::num_ahead).
inline constexpr int64_t kHeadRowsAhead = 32;

/// Rows of f32 inputs in the format of the dot kernels: bf16 if the weight is bf16 and the table
/// has native_bf16, else f32 (rounded to bf16 if the weight is bf16). Row t starts at element t *
/// stride. Against quantised weights: rows of QuantInput (cpu/quant_layout.h) or, if they are in
/// blocks, of BlockInput (cpu/block_layout.h), whose elements are bytes.
struct InputRows {
  const void* data = nullptr;
  int64_t stride = 0;
  int64_t num_tokens = 0;
  int64_t row_bytes = 0;  // of `stride` elements
};

struct LinearJob {
  const void* panels = nullptr;
  DType dtype = DType::kF32;
  int64_t in_features = 0;
  int64_t out_features = 0;
  InputRows x;
  float* y = nullptr;  // output row n of token t lies at y[t * y_stride + n - y_begin]
  int64_t y_stride = 0;
  int64_t y_begin = 0;
  bool accumulate = false;
};

/// Scores the rows that `rows` points to against every token: out[t * out_stride + r].
struct CpuHeadJob {
  const void* const* rows = nullptr;  // [num_rows + num_ahead], each RowBytes(dtype, hidden)
  int64_t num_rows = 0;
  // Following rows that will be read next; they are prefetched meanwhile.
  int64_t num_ahead = 0;
  bool gathered = false;  // hint: the rows are not consecutive in memory
  DType dtype = DType::kF32;
  int64_t hidden = 0;
  InputRows x;
  float* out = nullptr;
  int64_t out_stride = 0;
};

/// One token of an AttendJob. It sees the job's shared positions, then its own positions.
struct AttendToken {
  const int32_t* own_slots = nullptr;  // [num_own], logical order
  int64_t num_own = 0;
  float* out = nullptr;  // [group, head_dim]
};

/// Query heads of some tokens that share a key/value head, with the positions they see. A
/// position's key and value are read once for several queries.
struct AttendJob {
  const char* keys = nullptr;    // slot 0, at the key/value head
  const char* values = nullptr;  // slot 0, at the key/value head
  int64_t slot_bytes = 0;        // from one slot to the next
  DType dtype = DType::kF32;
  int64_t head_dim = 0;
  int64_t group = 0;  // query heads of a token
  InputRows queries;  // [num_tokens * group] rows of head_dim, prepared for `dtype`
  float scale = 0;
  const int32_t* shared_slots = nullptr;  // [num_shared], logical order
  int64_t num_shared = 0;
  const AttendToken* tokens = nullptr;  // [num_tokens]
  int64_t num_tokens = 0;
  // Scratch, [num_tokens, group, weights_stride]; may be null for KernelTable::tile_attention.
  float* weights = nullptr;
  int64_t weights_stride = 0;  // at least num_shared + num_own of any token
};

struct BlockKernels;   // cpu/block_kernels.h
struct CausalConvJob;  // cpu/delta_job.h
struct DeltaRuleJob;   // cpu/delta_job.h
struct SketchJob;      // cpu/sketch_job.h
struct SketchFineJob;  // cpu/sketch_job.h
struct SequenceTiles;  // cpu/sequence_tiles.h

/// The kernels of one instruction set. Each function runs on one thread. The drivers in cpu/*.cc
/// split the work in such a way that no split changes a bit of any result.
struct KernelTable {
  bool native_bf16 = false;
  // `attend` splits the queries of a job on bf16 keys itself: it accepts many tokens and needs no
  // weights.
  bool tile_attention = false;
  bool byte_tiles = false;  // prepared inputs are padded to whole tiles of rows
  const BlockKernels* blocks =
      nullptr;  // for weights in blocks; the functions below take no blocks
  void (*to_f32)(const void* source, DType dtype, int64_t count, float* target);
  void (*from_f32)(const float* source, DType dtype, int64_t count, void* target);
  /// Writes x, [shape.width], as a QuantInput for weights of the quantised type `dtype`.
  void (*quantize_input)(const float* x, DType dtype, const QuantShape& shape, void* row);
  void (*linear)(const LinearJob& job, int64_t panel_begin, int64_t panel_end);
  void (*head)(const CpuHeadJob& job);
  void (*attend)(const AttendJob& job);
  // Attention of encoders, one block of positions and one tile of queries at a time
  // (cpu/tile_sequence.inc). Both are null if tile_attention is false.
  void (*pack_sequence)(const SequenceTiles& tiles, const float* rows, int64_t stride,
                        int64_t position, int64_t count) = nullptr;
  void (*attend_sequence)(const SequenceTiles& tiles, int64_t first, int64_t num_queries) = nullptr;
  /// weights[i] becomes exp(weights[i] - largest weight), 0 for -infinity. Returns their sum. The
  /// sum has the same bits with any number of -infinity appended, or a multiple of 16 of them
  /// prepended. count >= 1; not all weights are -infinity.
  float (*exponentiate)(float* weights, int64_t count);
  /// Returns the largest of x[0 .. count), skipping NaN; -infinity for none.
  float (*max)(const float* x, int64_t count);
  /// Returns the sum of exp(x[i] - shift), skipping NaN; `shift` is finite and not below any x[i].
  float (*sum_exp)(const float* x, int64_t count, float shift);
  void (*rms_norm)(const float* x, const float* weight, float epsilon, int64_t hidden, float* y);
  /// One row of LayerNormCpu.
  void (*layer_norm)(const float* x, const float* addend, const LayerNorm& norm, int64_t hidden,
                     float* y);
  /// target[i] += source[i].
  void (*add)(const void* source, DType dtype, int64_t count, float* target);
  /// Rotates one head: row is [2 * half], cos and sin are [half].
  void (*rope)(float* row, const float* cos, const float* sin, int64_t half);
  /// out[i] = activation(x[i] + bias[i]); bias may be null. x and out may be the same array.
  void (*activate)(Activation activation, const float* x, const float* bias, int64_t size,
                   float* out);
  /// out[i] = activation(gate[i]) * up[i]. up and out may be the same array.
  void (*activate_mul)(Activation activation, const float* gate, const float* up, int64_t size,
                       float* out);
  void (*causal_conv)(const CausalConvJob& job);
  void (*delta_rule)(const DeltaRuleJob& job);
  /// Writes the rows whose key is above the bound, in order, to job.keys and job.ids. May overwrite
  /// both arrays up to their capacity (SketchJob). Returns the number of rows.
  int64_t (*sketch)(const SketchJob& job);
  void (*sketch_fine)(const SketchFineJob& job);
};

extern const KernelTable kReferenceKernels;
#if defined(SHORTLIST_X86_KERNELS)
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512Bf16Kernels;
extern const KernelTable kAmxKernels;
extern const KernelTable kAmxPlainKernels;
#endif

/// The table of CurrentIsa().
const KernelTable& CurrentKernels();

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_KERNEL_TABLE_H_
