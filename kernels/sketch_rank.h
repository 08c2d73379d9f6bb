#ifndef SHORTLIST_KERNELS_SKETCH_RANK_H_
#define SHORTLIST_KERNELS_SKETCH_RANK_H_

#include <cstdint>

#include "kernels/sketch.h"

namespace shortlist {

class ThreadPool;

/// As SketchSelectCpu, and what ranks the chosen rows: keys: [num_tokens, num_chosen], of a token
/// the larger is better, of equal ones the lower id is; null: nobody asks.
void SketchRankCpu(const SketchRows& rows, const float* query, const SketchRace* races,
                   int64_t num_tokens, int64_t num_chosen, int32_t* ids, uint32_t* keys,
                   ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SKETCH_RANK_H_
