#ifndef SHORTLIST_KERNELS_HEAD_H_
#define SHORTLIST_KERNELS_HEAD_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"

namespace shortlist {

/// The rows of an LM head. Does not own the memory.
struct HeadWeight {
  const void* rows = nullptr;  // [vocab_size] rows of RowBytes(dtype, hidden) (kernels/quant.h)
  DType dtype = DType::kF32;
  int64_t vocab_size = 0;
  int64_t hidden = 0;
};

/// The gather-GEMM of the LM head: scores chosen rows of `weight` against hidden states and returns
/// token ids. The same call serves the target (all rows) and the draft (the active vocabulary).
///
/// A row is a place among the scored rows. Token m has, in order: the shared rows 0 .. num_rows -
/// 1, then the token's own tail. There is one dot order: a row's logit has the same bits in the
/// full head, gathered by index, read from the packed copy or in a tail, for any num_tokens and any
/// number of threads.
struct HeadArgs {
  // [vocab_size] rows, each [hidden], row-major: the checkpoint's memory (possibly tied to the
  // embedding), or QuantizedRows.
  const void* weight = nullptr;
  DType dtype = DType::kF32;
  int64_t vocab_size = 0;
  int64_t hidden = 0;

  // [num_tokens, hidden]; rounded to bf16 if the rows are bf16, quantised if the rows are quantised
  const float* x = nullptr;
  int64_t num_tokens = 0;

  // Shared rows. Null: row s is the weight's row s (the full head has num_rows = vocab_size).
  const int32_t* row_ids = nullptr;  // [num_rows], each in [0, vocab_size)
  int64_t num_rows = 0;

  // Optional copy of the first num_packed rows, stored consecutively, each RowBytes
  // (kernels/quant.h) long. It must hold exactly the bytes of weight[row_ids[s]]. Null: every row
  // is read in place.
  const void* packed = nullptr;
  int64_t num_packed = 0;

  // Optional tail of each token: ids tail_ids[tail_indptr[m] .. tail_indptr[m + 1]), disjoint from
  // row_ids.
  const int32_t* tail_indptr = nullptr;  // [num_tokens + 1], first 0
  const int32_t* tail_ids = nullptr;
};

/// Number of rows of the token with the longest tail: the smallest valid `stride` for
/// HeadLogitsCpu.
int64_t HeadMaxRows(const HeadArgs& args);

/// Token id of `row` of `token`.
int32_t HeadTokenId(const HeadArgs& args, int64_t token, int64_t row);

/// logits[m * stride + s] is the logit of row s. Rows after a token's own tail hold -infinity.
/// stride >= HeadMaxRows(args).
void HeadLogitsCpu(const HeadArgs& args, float* logits, int64_t stride, ThreadPool& pool);

/// ids[m]: the token id with the largest logit; ties go to the lower id. Logits of NaN and
/// -infinity are never chosen; the id is -1 if the token has no others. logits[m] (`logits` may be
/// null): the logit of ids[m], -infinity for id -1.
void HeadArgmaxCpu(const HeadArgs& args, int32_t* ids, float* logits, ThreadPool& pool);

/// Returns the k best rows of each token as token ids, best first, ties to the lower id. Logits of
/// NaN and -infinity are never chosen. ids, logits: [num_tokens, k], padded with id -1 and logit
/// -infinity if a token has fewer than k other logits. log_sum_exp: [num_tokens], over all rows of
/// the token, NaN counting as -infinity; -infinity for no rows. k >= 1.
void HeadTopKCpu(const HeadArgs& args, int64_t k, int32_t* ids, float* logits, float* log_sum_exp,
                 ThreadPool& pool);

/// Returns the result of HeadTopKCpu for token `token`, computed from the logits of its rows as
/// HeadLogitsCpu returns them. log_sum_exp: one number.
void HeadTopKOfLogitsCpu(const HeadArgs& args, int64_t token, const float* logits, int64_t k,
                         int32_t* ids, float* top_logits, float* log_sum_exp);

/// Returns the logit of one row for one hidden state [hidden], with the same bits as HeadLogitsCpu.
float HeadDotCpu(const void* row, DType dtype, const float* x, int64_t hidden);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_HEAD_H_
