#ifndef SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_
#define SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "head/pruned_head.h"
#include "request/sequence.h"

namespace shortlist {

/// Sets info.logprob to the log-softmax of `logits` [ids.size()] at `token`, or -infinity if
/// `token` has no row in `ids`. Sets info.top to the `num_top` largest (fewer if there are fewer
/// numbers), best first, ties to the lower id. NaN counts as -infinity. `padding`: the logits of
/// the head's padding rows, which have no token. They take their share of the probability, as in
/// transformers, and never enter info.top.
void AddLogprobs(std::span<const float> logits, const RowIds& ids, TokenId token, int64_t num_top,
                 TokenInfo& info, std::span<const float> padding = {});

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_
