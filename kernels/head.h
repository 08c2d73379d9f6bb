#ifndef SHORTLIST_KERNELS_HEAD_H_
#define SHORTLIST_KERNELS_HEAD_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"

namespace shortlist {

/// The rows of an LM head, in memory that somebody else owns.
struct HeadWeight {
  const void* rows = nullptr;  // [vocab_size] rows of RowBytes(dtype, hidden) (kernels/quant.h)
  DType dtype = DType::kF32;
  int64_t vocab_size = 0;
  int64_t hidden = 0;
};

/// The gather-GEMM of the LM head: scores chosen rows of `weight` against hidden states and hands
/// back token ids. The same call serves the target (all rows) and the draft (the active
/// vocabulary).
///
/// A row is a place among those that are scored. Those of token m, in order: the shared rows
/// 0 .. num_rows - 1, then the token's own tail. A
/// row's logit has the same bits in the full head, gathered in place by index, read from the packed
/// copy, or in a tail, for any num_tokens and any number of threads: there is one dot order.
struct HeadArgs {
  // [vocab_size] rows, each [hidden], row-major: the checkpoint's (maybe tied) memory, or
  // QuantizedRows.
  const void* weight = nullptr;
  DType dtype = DType::kF32;
  int64_t vocab_size = 0;
  int64_t hidden = 0;

  // [num_tokens, hidden]; rounded when the rows are bf16, quantised when they are
  const float* x = nullptr;
  int64_t num_tokens = 0;

  // Shared rows. Null: row s is the weight's row s (the full head has num_rows = vocab_size).
  const int32_t* row_ids = nullptr;  // [num_rows], each in [0, vocab_size)
  int64_t num_rows = 0;

  // Optional copy of the rows of the first num_packed rows, one behind the other, each RowBytes
  // (kernels/quant.h) long; it must hold the very bytes of weight[row_ids[s]]. Null: every row is
  // read in place.
  const void* packed = nullptr;
  int64_t num_packed = 0;

  // Optional tail of each token: ids tail_ids[tail_indptr[m] .. tail_indptr[m + 1]), disjoint from
  // row_ids.
  const int32_t* tail_indptr = nullptr;  // [num_tokens + 1], first 0
  const int32_t* tail_ids = nullptr;
};

/// Number of rows of the token with the longest tail: the least admissible `stride` below.
int64_t HeadMaxRows(const HeadArgs& args);

/// Token id of `row` of `token`.
int32_t HeadTokenId(const HeadArgs& args, int64_t token, int64_t row);

/// logits[m * stride + s] is the logit of row s; rows past a token's own tail hold -infinity.
/// stride >= HeadMaxRows(args).
void HeadLogitsCpu(const HeadArgs& args, float* logits, int64_t stride, ThreadPool& pool);

/// ids[m]: the token id with the largest logit; ties go to the lower id. Logits of NaN and
/// -infinity are never chosen: -1 when the token has no other. logits[m] (may be null): its logit,
/// -infinity for id -1.
void HeadArgmaxCpu(const HeadArgs& args, int32_t* ids, float* logits, ThreadPool& pool);

/// The k best rows of each token, best first, ties to the lower id, as token ids. Logits of NaN and
/// -infinity are never chosen. ids, logits: [num_tokens, k], padded with id -1 and logit -infinity
/// where a token has fewer than k other logits. log_sum_exp: [num_tokens], over all rows of the
/// token, NaN as -infinity; -infinity for none. k >= 1.
void HeadTopKCpu(const HeadArgs& args, int64_t k, int32_t* ids, float* logits, float* log_sum_exp,
                 ThreadPool& pool);

/// What HeadTopKCpu gives for token `token`, from the logits of its rows as HeadLogitsCpu gives
/// them. log_sum_exp: one number.
void HeadTopKOfLogitsCpu(const HeadArgs& args, int64_t token, const float* logits, int64_t k,
                         int32_t* ids, float* top_logits, float* log_sum_exp);

/// The logit of one row against one hidden state [hidden], the very bits HeadLogitsCpu gives.
float HeadDotCpu(const void* row, DType dtype, const float* x, int64_t hidden);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_HEAD_H_
