#ifndef SHORTLIST_KERNELS_CUDA_HEAD_ARGS_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_ARGS_H_

#include <cstdint>

#include "kernels/cuda/rows.h"

namespace shortlist {

/// Bits of the error word on the device. A kernel that meets such input sets the bit, leaves out
/// the row or tail, and continues. It never reads or writes out of bounds. The caller clears the
/// word, and reads it when it synchronises for other reasons.
enum HeadErrorBit : int32_t {
  kHeadRowIdError = 1,    // a row or tail id is not in [0, vocab_size): scores as -infinity
  kHeadCountError = 2,    // *num_rows is not in [0, row_capacity]: the nearer bound is used
  kHeadTailError = 4,     // tail_indptr decreases or exceeds a capacity: no tail
  kEmbeddingIdError = 8,  // kernels/cuda/elementwise_args.h: the row is zeros, or the id -1
  kPositionError = 16,    // kernels/cuda/elementwise_args.h: the row is unchanged
};

/// Hidden states in the format that the head reads (RowLayout), from PrepareHeadStatesCuda. For
/// bf16 and f32 rows they are the plain matrix of that type, which may come from any source.
struct HeadStates {
  const void* codes = nullptr;  // [num_tokens, x_code_bytes], 16-byte aligned
  // [num_tokens, x_scale_bytes / 4], 16-byte aligned; quantised rows only
  const float* scales = nullptr;
  const float* factors = nullptr;  // [num_tokens]; f16 and fp8 rows only
  int64_t num_tokens = 0;          // at most kHeadMaxTokens
};

inline constexpr int kHeadMaxTokens = 64;
inline constexpr int kHeadMaxTopK = 32;

/// The gather-GEMM of the LM head on a GPU. Same as HeadArgs (kernels/head.h), except that all
/// pointers are device memory, and that there is an error word. Arrays have a fixed capacity and
/// their lengths are read on the device, so that a captured graph serves a set that changes.
///
/// Rows of token m: shared rows 0 .. *num_rows - 1, then the token's own tail.
/// A row's logit has the same bits whether gathered or not, in a tail, at any place and in any
/// batch: sums over the hidden dimension run in one order.
struct CudaHeadArgs {
  const void* weight = nullptr;  // [vocab_size] rows of RowLayout's row_bytes, 16-byte aligned
  const float* row_factors = nullptr;  // [vocab_size]; fp8 rows only
  RowFormat format = RowFormat::kBf16;
  int64_t vocab_size = 0;
  int64_t hidden = 0;  // a multiple of 8 (bf16, f16), 4 (f32) or 16 (fp8)

  HeadStates x;

  const int32_t* row_ids = nullptr;   // [row_capacity]; null: row s is the weight's row s
  const int32_t* num_rows = nullptr;  // one number; null: row_capacity
  int64_t row_capacity = 0;

  // Tails: ids tail_ids[tail_indptr[m] .. tail_indptr[m + 1]), at most tail_capacity ids.
  const int32_t* tail_indptr = nullptr;  // [num_tokens + 1], or null: no tails
  const int32_t* tail_ids = nullptr;     // [num_tail_ids]
  int64_t num_tail_ids = -1;             // below 0: num_tokens * tail_capacity
  int64_t tail_capacity = 0;             // of one token

  int32_t* error = nullptr;  // one word of HeadErrorBits
};

/// Noise for a draw from softmax(logits / temperature). The draw is the same as that of
/// SampleRaceCpu (kernels/sampling.h), except for ties in the last bits. All arrays [num_tokens],
/// on the device.
struct HeadNoise {
  const float* temperatures = nullptr;  // not above 0: no noise and no division for that token
  const uint64_t* seeds = nullptr;
  const int64_t* positions = nullptr;
  uint32_t stream = 0;
};

/// The outputs of HeadTopKCuda, all on the device.
struct HeadTopKOutputs {
  int32_t* ids = nullptr;  // [num_tokens, k], -1 if there is no further row
  // [num_tokens, k], divided by the temperature; -infinity if there is no further row.
  float* logits = nullptr;
  // [num_tokens], of those logits, over all rows; may be null.
  float* log_sum_exp = nullptr;
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_ARGS_H_
