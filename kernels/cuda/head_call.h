#ifndef SHORTLIST_KERNELS_CUDA_HEAD_CALL_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_CALL_H_

#include <cstdint>

#include "kernels/cuda/head_args.h"

namespace shortlist {

// How an operator over plain tensors calls the head: for any number of tokens, with lists on the
// device of which the host knows the lengths, never a value. Nothing here reads device memory.

/// What such a call scores.
struct HeadLists {
  const int32_t* row_ids = nullptr;  // [num_rows]
  int64_t num_rows = 0;
  const int32_t* tail_indptr = nullptr;  // [num_tokens + 1], or null: no tails
  const int32_t* tail_ids = nullptr;     // [num_tail_ids]
  int64_t num_tail_ids = 0;
  int64_t max_tail = -1;  // ids of one token's tail at most; -1: as many as there are
};

/// Puts `lists` into `call`, whose vocab_size is set. A longer tail than max_tail or vocab_size is
/// flagged and left out (kHeadTailError). What the bits of a token's results depend on is whether
/// it has a tail, never how long those of others are. Row and tail capacities that are both 0 are
/// for the caller to answer: the kernels refuse them.
void SetHeadLists(const HeadLists& lists, CudaHeadArgs& call);

/// The launch for tokens `first` .. `first` + kHeadMaxTokens - 1, or as many as there are, of
/// `call`, which is as CudaHeadArgs says but for x.num_tokens: any number above `first`.
CudaHeadArgs HeadLaunch(const CudaHeadArgs& call, int64_t first);

/// Where that launch writes the k best: `out` is the whole call's.
HeadTopKOutputs HeadLaunchOutputs(const HeadTopKOutputs& out, int64_t k, int64_t first);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_CALL_H_
