#ifndef SHORTLIST_DRAFT_NUCLEUS_H_
#define SHORTLIST_DRAFT_NUCLEUS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace shortlist {

/// Keeps the nucleus of `rows` (top-p sampling, Holtzman et al. 2020): the fewest best rows with at
/// least `top_p` of the total mass exp(score). Higher scores are better; ties go to the smaller
/// token id. The order of the kept rows is unspecified.
///
/// scores: [num_rows], for `rows` neither NaN nor -inf. token_ids: [num_rows], or empty if a row is
/// its own token id. top_p in (0, 1]. Takes time linear in rows, even for a flat distribution.
void KeepNucleus(std::span<const float> scores, std::span<const int32_t> token_ids, double top_p,
                 std::vector<int32_t>& rows);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_NUCLEUS_H_
