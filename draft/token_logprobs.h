#ifndef SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_
#define SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "head/lm_head.h"
#include "request/sequence.h"

namespace shortlist {

/// Sets info.logprob to the log-softmax of `logits` [ids.size()] at `token`, -infinity for one
/// without a row in `ids`, and info.top to the `num_top` largest (fewer where there are fewer
/// numbers), best first, ties by lower id. Logits that are no numbers count as -infinity.
/// `padding`: the logits of the head's rows that are nobody's tokens; they take their share of the
/// probability, as in transformers, and are never in info.top.
void AddLogprobs(std::span<const float> logits, const RowIds& ids, TokenId token, int64_t num_top,
                 TokenInfo& info, std::span<const float> padding = {});

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_
