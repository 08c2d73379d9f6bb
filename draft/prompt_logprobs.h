#ifndef SHORTLIST_DRAFT_PROMPT_LOGPROBS_H_
#define SHORTLIST_DRAFT_PROMPT_LOGPROBS_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "absl/status/status.h"
#include "draft/target_head.h"
#include "request/sequence.h"

namespace shortlist {

/// Appends to `infos` the log-probabilities of `sequence`'s prompt that are asked for and that
/// `hidden` [len, hidden] gives: the target's states of the tokens from cached_len on, each of
/// which tells of the token behind it. Those before are in sequence.prompt_infos already. The
/// memory of `verdict` is used again.
absl::Status ScorePrompt(const Sequence& sequence, const at::Tensor& hidden, TargetHead& head,
                         TargetHead::Verdict& verdict, std::vector<TokenInfo>& infos);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_PROMPT_LOGPROBS_H_
