#ifndef SHORTLIST_DRAFT_NUCLEUS_H_
#define SHORTLIST_DRAFT_NUCLEUS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace shortlist {

/// Keeps the nucleus of `rows` (top-p sampling, Holtzman et al. 2020): the fewest best rows that
/// hold at least `top_p` of the mass exp(score) of all of them. Higher scores are better; of equal
/// ones the smaller token id. The order of the kept rows is unspecified.
///
/// scores: [num_rows], not NaN and above -inf where `rows` points. token_ids: [num_rows], or empty
/// where a row is its token id. top_p in (0, 1]. Takes time linear in rows, however flat the
/// distribution is.
void KeepNucleus(std::span<const float> scores, std::span<const int32_t> token_ids, double top_p,
                 std::vector<int32_t>& rows);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_NUCLEUS_H_
