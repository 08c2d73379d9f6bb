#ifndef SHORTLIST_KERNELS_CPU_LINEAR_JOB_H_
#define SHORTLIST_KERNELS_CPU_LINEAR_JOB_H_

#include "kernels/cpu/kernel_table.h"
#include "kernels/linear.h"

namespace shortlist {

/// Returns a job for `weight` over prepared rows. The caller still has to set the outputs.
inline LinearJob MakeLinearJob(const PackedLinear& weight, const InputRows& x) {
  return {
      .panels = weight.panels(),
      .dtype = weight.dtype(),
      .in_features = weight.in_features(),
      .out_features = weight.out_features(),
      .x = x,
  };
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_LINEAR_JOB_H_
