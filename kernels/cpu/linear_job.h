#ifndef SHORTLIST_KERNELS_CPU_LINEAR_JOB_H_
#define SHORTLIST_KERNELS_CPU_LINEAR_JOB_H_

#include <algorithm>

#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/linear.h"

namespace shortlist {

/// Runs `job` over panels [begin, end) of `weight`. Its outputs and rows are set, for the whole
/// weight.
inline void RunLinear(const KernelTable& table, const PackedLinear& weight, LinearJob job,
                      int64_t begin, int64_t end) {
  const int64_t y_begin = job.y_begin;
  job.in_features = weight.in_features();
  for (const PackedLinear::Part& part : weight.parts()) {
    const int64_t first = std::max(begin - part.first_panel, int64_t{0});
    const int64_t last = std::min(end - part.first_panel, part.num_panels);
    if (first >= last) continue;
    const int64_t first_row = part.first_panel * kPanelRows;
    job.panels = part.panels;
    job.dtype = part.dtype;
    job.out_features = weight.out_features() - first_row;
    job.y_begin = y_begin - first_row;
    (IsBlocked(part.dtype) ? table.blocks->linear : table.linear)(job, first, last);
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_LINEAR_JOB_H_
