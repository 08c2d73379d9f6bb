#include "kernels/cuda/head_call.h"

#include <algorithm>

#include "kernels/cuda/rows.h"

namespace shortlist {

void SetHeadLists(const HeadLists& lists, CudaHeadArgs& call) {
  call.row_ids = lists.row_ids;
  call.row_capacity = lists.num_rows;
  call.tail_capacity = 0;
  if (lists.tail_indptr == nullptr) return;
  call.tail_indptr = lists.tail_indptr;
  call.tail_ids = lists.tail_ids;
  call.num_tail_ids = lists.num_tail_ids;
  call.tail_capacity = std::min(lists.num_tail_ids, call.vocab_size);
  if (lists.max_tail >= 0) call.tail_capacity = std::min(call.tail_capacity, lists.max_tail);
}

CudaHeadArgs HeadLaunch(const CudaHeadArgs& call, int64_t first) {
  const RowLayout layout = RowLayout::Of(call.format, call.hidden);
  CudaHeadArgs launch = call;
  launch.x.num_tokens = std::min<int64_t>(call.x.num_tokens - first, kHeadMaxTokens);
  launch.x.codes = static_cast<const char*>(call.x.codes) + first * layout.x_code_bytes;
  if (call.x.scales != nullptr) launch.x.scales += first * layout.x_scale_bytes / 4;
  if (call.x.factors != nullptr) launch.x.factors += first;
  // In every launch the offsets count from the beginning of tail_ids.
  if (call.tail_indptr != nullptr) launch.tail_indptr += first;
  return launch;
}

HeadTopKOutputs HeadLaunchOutputs(const HeadTopKOutputs& out, int64_t k, int64_t first) {
  return {out.ids + first * k, out.logits + first * k,
          out.log_sum_exp == nullptr ? nullptr : out.log_sum_exp + first};
}

}  // namespace shortlist
