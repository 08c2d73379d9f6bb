#ifndef SHORTLIST_KERNELS_CPU_SKETCH_JOB_H_
#define SHORTLIST_KERNELS_CPU_SKETCH_JOB_H_

#include <cstdint>

#include "kernels/sketch_query.h"

namespace shortlist {

/// Whole panels of a sketch against one query.
struct SketchJob {
  SketchRows rows;
  int64_t first_row = 0, end_row = 0;  // first_row a multiple of kSketchPanelRows
  const SketchQuery* query = nullptr;
  float bound = 0.0f;
  // Room for all rows of the panels.
  float* keys = nullptr;
  int32_t* ids = nullptr;
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_SKETCH_JOB_H_
