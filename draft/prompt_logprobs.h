#ifndef SHORTLIST_DRAFT_PROMPT_LOGPROBS_H_
#define SHORTLIST_DRAFT_PROMPT_LOGPROBS_H_

#include <vector>

#include "absl/status/status.h"
#include "draft/target_head.h"
#include "kernels/matrix.h"
#include "request/sequence.h"

namespace shortlist {

/// Appends the requested log-probabilities of `sequence`'s prompt that `hidden` [len, hidden]
/// predicts to `infos`. `hidden`: the target's states of the tokens from cached_len on; each
/// predicts the following token. Earlier log-probabilities are in sequence.prompt_infos already.
/// Reuses the memory of `verdict`.
absl::Status ScorePrompt(const Sequence& sequence, const Matrix& hidden, TargetHead& head,
                         TargetHead::Verdict& verdict, std::vector<TokenInfo>& infos);

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_PROMPT_LOGPROBS_H_
