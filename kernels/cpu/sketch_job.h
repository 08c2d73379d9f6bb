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

/// Some rows of a sketch's further dimensions against one query. Adds scale * (codes . query) *
/// factor to each row's key.
struct SketchFineJob {
  SketchFine fine;
  // Codes 8 s + b of the query at [0][4 s + b], codes 8 s + 4 + b at [1][4 s + b].
  alignas(64) int8_t query[2][kSketchFineRank / 2] = {};
  int32_t offset = 0;  // same as SketchQuery::offset
  float factor = 0.0f;
  const int32_t* ids = nullptr;
  float* keys = nullptr;
  int64_t count = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_SKETCH_JOB_H_
