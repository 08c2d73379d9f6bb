#ifndef SHORTLIST_KERNELS_CUDA_HEAD_CALL_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_CALL_H_

#include <cstdint>

#include "kernels/cuda/head_args.h"

namespace shortlist {

// How an operator over plain tensors calls the head: for any number of tokens, with lists on the
// device of which the host knows only the lengths. Nothing here reads device memory.

/// The rows that such a call scores.
struct HeadLists {
  const int32_t* row_ids = nullptr;  // [num_rows]
  int64_t num_rows = 0;
  const int32_t* tail_indptr = nullptr;  // [num_tokens + 1], or null: no tails
  const int32_t* tail_ids = nullptr;     // [num_tail_ids]
  int64_t num_tail_ids = 0;
  int64_t max_tail = -1;  // most ids in one token's tail; -1: num_tail_ids
};

/// Copies `lists` into `call`, whose vocab_size is set. A tail longer than max_tail or vocab_size
/// is flagged and left out (kHeadTailError). The bits of a token's results depend on its own tail,
/// but not on the lengths of other tokens' tails. The caller must handle row and tail capacities
/// that are both 0: the kernels reject them.
void SetHeadLists(const HeadLists& lists, CudaHeadArgs& call);

/// Returns the launch for tokens `first` .. `first` + kHeadMaxTokens - 1 of `call`, or fewer if
/// there are no more. `call` follows CudaHeadArgs, except that x.num_tokens may be any number above
/// `first`.
CudaHeadArgs HeadLaunch(const CudaHeadArgs& call, int64_t first);

/// Returns the outputs of the launch that starts at token `first`; `out` is that of the whole call.
HeadTopKOutputs HeadLaunchOutputs(const HeadTopKOutputs& out, int64_t k, int64_t first);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_CALL_H_
