#ifndef SHORTLIST_KERNELS_SKETCH_RANK_H_
#define SHORTLIST_KERNELS_SKETCH_RANK_H_

#include <cstdint>

#include "kernels/sketch.h"

namespace shortlist {

class ThreadPool;

/// Same as SketchSelectCpu(), but also returns the chosen rows' ranking keys. keys: [num_tokens,
/// num_chosen], may be null. For one token a larger key is better; ties go to the lower id.
void SketchRankCpu(const SketchRows& rows, const float* query, const SketchRace* races,
                   int64_t num_tokens, int64_t num_chosen, int32_t* ids, uint32_t* keys,
                   ThreadPool& pool);

/// Returns the `num_chosen` best of each token's candidates, which SketchRankCpu chose from `rows`,
/// by their scores in all dimensions. query: [num_tokens, rows.rank], as passed to SketchRankCpu;
/// fine_query: [num_tokens, kSketchFineRank]. candidate_ids and candidate_keys: [num_tokens,
/// num_candidates]; ids and keys: [num_tokens, num_chosen], num_chosen <= num_candidates. For ties,
/// and for what the choice depends on, SketchSelectCpu's rules hold. A query that is not finite
/// leaves the candidates' keys unchanged.
void SketchRefineCpu(const SketchRows& rows, const SketchFine& fine, const float* query,
                     const float* fine_query, const SketchRace* races, int64_t num_tokens,
                     int64_t num_candidates, const int32_t* candidate_ids,
                     const uint32_t* candidate_keys, int64_t num_chosen, int32_t* ids,
                     uint32_t* keys, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SKETCH_RANK_H_
