#ifndef SHORTLIST_KERNELS_CUDA_HEAD_JOB_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_JOB_H_

#include <cstdint>

#include "kernels/cuda/head_plan.h"
#include "kernels/host_device.h"

namespace shortlist {

/// All arguments of the head's kernels, passed by value.
struct HeadJob {
  CudaHeadArgs args;
  RowLayout rows;
  HeadPlan plan;

  float* logits = nullptr;  // [num_tokens, stride], the caller's or in the workspace
  int64_t stride = 0;

  // The k best of each token, if k > 0; HeadPlan describes the layout of the parts.
  int k = 0;
  HeadNoise noise;
  HeadTopKOutputs out;
  uint64_t* part_keys = nullptr;
  float* part_logits = nullptr;
  SumExp* part_sums = nullptr;
};

/// Returns the job of a call without a HeadArgsProblem. `workspace` follows HeadPlan; null for
/// logits.
inline HeadJob MakeHeadJob(const CudaHeadArgs& args, int64_t k, const HeadPlan& plan,
                           void* workspace) {
  HeadJob job{.args = args, .rows = RowLayout::Of(args.format, args.hidden), .plan = plan};
  job.k = static_cast<int>(k);
  if (workspace != nullptr) {
    auto* bytes = static_cast<char*>(workspace);
    job.logits = reinterpret_cast<float*>(bytes);
    job.stride = args.row_capacity + args.tail_capacity;
    job.part_keys = reinterpret_cast<uint64_t*>(bytes + plan.part_keys_offset);
    job.part_logits = reinterpret_cast<float*>(bytes + plan.part_logits_offset);
    job.part_sums = reinterpret_cast<SumExp*>(bytes + plan.part_sums_offset);
  }
  return job;
}

/// Rows that are scored together: either `num_rows` shared rows, starting at `first`, against all
/// tokens; or `num_rows` rows of token `token`'s tail, against that token.
struct HeadItem {
  int index = 0;
  int token = -1;  // -1: shared
  int tail_item = 0;
  int first = 0;  // row, or place in the tail
  int num_rows = 0;
  const int32_t* ids = nullptr;  // of the rows; null: row r is `first` + r
};

struct TailRange {
  int begin = 0;
  int len = 0;
  bool valid = true;
};

/// Returns the number of shared rows, clamped to [0, row_capacity].
SHORTLIST_HOST_DEVICE inline int NumSharedRows(const CudaHeadArgs& args) {
  const int capacity = static_cast<int>(args.row_capacity);
  if (args.num_rows == nullptr) return capacity;
  const int count = *args.num_rows;
  return count < 0 ? 0 : count < capacity ? count : capacity;
}

SHORTLIST_HOST_DEVICE inline TailRange TailOf(const CudaHeadArgs& args, int token) {
  if (args.tail_capacity == 0) return {};
  const int64_t begin = args.tail_indptr[token];
  const int64_t end = args.tail_indptr[token + 1];
  const int64_t num_ids =
      args.num_tail_ids < 0 ? args.x.num_tokens * args.tail_capacity : args.num_tail_ids;
  if (begin < 0 || end < begin || end - begin > args.tail_capacity || end > num_ids) {
    return {0, 0, false};
  }
  return {static_cast<int>(begin), static_cast<int>(end - begin)};
}

/// Returns the number of items, including empty ones: the shared items, then each token's tail.
SHORTLIST_HOST_DEVICE inline int NumItems(const HeadJob& job) {
  return job.plan.shared_items + static_cast<int>(job.args.x.num_tokens) * job.plan.tail_items;
}

/// Returns item number `index`. It is empty if num_rows <= 0.
SHORTLIST_HOST_DEVICE inline HeadItem ItemAt(const HeadJob& job, int index) {
  const int item_rows = job.plan.item_rows();
  HeadItem item;
  item.index = index;
  int left;
  if (index < job.plan.shared_items) {
    item.first = index * item_rows;
    left = NumSharedRows(job.args) - item.first;
    if (job.args.row_ids != nullptr) item.ids = job.args.row_ids + item.first;
  } else {
    const int tail = index - job.plan.shared_items;
    item.token = tail / job.plan.tail_items;
    item.tail_item = tail % job.plan.tail_items;
    item.first = item.tail_item * item_rows;
    const TailRange range = TailOf(job.args, item.token);
    left = range.len - item.first;
    item.ids = job.args.tail_ids + range.begin + item.first;
  }
  item.num_rows = left < item_rows ? left : item_rows;
  return item;
}

/// Returns the id of the item's row `row`, which is below its num_rows; -1 if the id is out of
/// range.
SHORTLIST_HOST_DEVICE inline int RowIdAt(const HeadJob& job, const HeadItem& item, int row) {
  const int id = item.ids != nullptr ? item.ids[row] : item.first + row;
  return id >= 0 && id < job.args.vocab_size ? id : -1;
}

/// Returns a block's first non-empty item, starting at `index`; its index is NumItems if there is
/// none.
SHORTLIST_HOST_DEVICE inline HeadItem NextItem(const HeadJob& job, int index) {
  const int num_items = NumItems(job);
  for (; index < num_items; index += job.plan.num_blocks) {
    const HeadItem item = ItemAt(job, index);
    if (item.num_rows > 0) return item;
  }
  HeadItem none;
  none.index = num_items;
  return none;
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_JOB_H_
