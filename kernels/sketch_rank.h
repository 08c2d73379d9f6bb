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

/// The `num_chosen` best of each token's candidates, which SketchRankCpu has chosen of `rows`, by
/// their scores in all dimensions. query: [num_tokens, rows.rank], of SketchRankCpu; fine_query:
/// [num_tokens, kSketchFineRank]. candidate_ids and candidate_keys: [num_tokens, num_candidates];
/// ids and keys: [num_tokens, num_chosen], num_chosen <= num_candidates. Ties and what the choice
/// depends on as there; to a query that is not finite all candidates are as they were.
void SketchRefineCpu(const SketchRows& rows, const SketchFine& fine, const float* query,
                     const float* fine_query, const SketchRace* races, int64_t num_tokens,
                     int64_t num_candidates, const int32_t* candidate_ids,
                     const uint32_t* candidate_keys, int64_t num_chosen, int32_t* ids,
                     uint32_t* keys, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SKETCH_RANK_H_
