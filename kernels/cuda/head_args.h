#ifndef SHORTLIST_KERNELS_CUDA_HEAD_ARGS_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_ARGS_H_

#include <cstdint>

#include "kernels/cuda/rows.h"

namespace shortlist {

/// Bits of the error word on the device. A kernel that meets such input sets the bit, leaves the
/// row or tail out, and goes on; it never reads or writes out of bounds. The caller clears the word
/// and reads it when it synchronises anyway.
enum HeadErrorBit : int32_t {
  kHeadRowIdError = 1,    // a row or tail id is not in [0, vocab_size): scores as -infinity
  kHeadCountError = 2,    // *num_rows is not in [0, row_capacity]: taken as the nearer bound
  kHeadTailError = 4,     // tail_indptr falls or passes a capacity: the token has no tail
  kEmbeddingIdError = 8,  // kernels/cuda/elementwise.h: the row is zeros
  kPositionError = 16,    // likewise: the row stays as it was
};

/// Hidden states as the head reads them (RowLayout), from PrepareHeadStatesCuda. For bf16 and
/// f32 rows they are the plain matrix of that type, which may come from anywhere.
struct HeadStates {
  const void* codes = nullptr;  // [num_tokens, x_code_bytes], 16-byte aligned
  // [num_tokens, x_scale_bytes / 4], 16-byte aligned; quantised rows
  const float* scales = nullptr;
  const float* factors = nullptr;  // [num_tokens]; f16 and fp8 rows
  int64_t num_tokens = 0;          // at most kHeadMaxTokens
};

inline constexpr int kHeadMaxTokens = 64;
inline constexpr int kHeadMaxTopK = 32;

/// The gather-GEMM of the LM head on a GPU. As HeadArgs (kernels/head.h), but for: all pointers are
/// device memory; arrays have a fixed capacity and their lengths are read on the device, so that a
/// captured graph serves a set that changes; the error word.
///
/// Rows of token m: shared rows 0 .. *num_rows - 1, then the token's own tail.
/// A row's logit has the same bits gathered or not, in a tail, at any place and in any batch: sums
/// over the hidden dimension run in one order.
struct CudaHeadArgs {
  const void* weight = nullptr;  // [vocab_size] rows of RowLayout's row_bytes, 16-byte aligned
  const float* row_factors = nullptr;  // [vocab_size]; fp8 rows only
  RowFormat format = RowFormat::kBf16;
  int64_t vocab_size = 0;
  int64_t hidden = 0;  // a multiple of 8 (bf16, f16), 4 (f32) or 16 (fp8)

  HeadStates x;

  const int32_t* row_ids = nullptr;   // [row_capacity], or null: row s is the weight's
  const int32_t* num_rows = nullptr;  // one number, or null: row_capacity
  int64_t row_capacity = 0;

  // Tails: ids tail_ids[tail_indptr[m] .. tail_indptr[m + 1]), at most tail_capacity of them.
  const int32_t* tail_indptr = nullptr;  // [num_tokens + 1], or null: no tails
  const int32_t* tail_ids = nullptr;     // [num_tail_ids]
  int64_t num_tail_ids = -1;             // below 0: num_tokens * tail_capacity
  int64_t tail_capacity = 0;             // of one token

  int32_t* error = nullptr;  // one word of HeadErrorBits
};

/// Noise for a draw from softmax(logits / temperature), which is the choice of SampleRaceCpu
/// (kernels/sampling.h) but for ties in the last bits. All arrays [num_tokens], on the device.
struct HeadNoise {
  const float* temperatures = nullptr;  // not above 0: no noise and no division for that token
  const uint64_t* seeds = nullptr;
  const int64_t* positions = nullptr;
  uint32_t stream = 0;
};

/// What HeadTopKCuda writes. All on the device.
struct HeadTopKOutputs {
  int32_t* ids = nullptr;        // [num_tokens, k], -1 where there is no further row
  float* logits = nullptr;       // [num_tokens, k], divided by the temperature; -infinity likewise
  float* log_sum_exp = nullptr;  // [num_tokens] of those logits, over all rows; may be null
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_ARGS_H_
