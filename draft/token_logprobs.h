#ifndef SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_
#define SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "draft/lm_head.h"
#include "draft/sequence.h"

namespace shortlist {

/// Sets info.logprob to the log-softmax of `logits` [ids.size()] at `token`, -infinity for one
/// without a slot in `ids`, and info.top to the `num_top` largest (fewer where there are fewer
/// numbers), best first, ties by lower id. Logits that are no numbers count as -infinity.
void AddLogprobs(std::span<const float> logits, const SlotIds& ids, TokenId token, int64_t num_top,
                 TokenInfo& info);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TOKEN_LOGPROBS_H_
