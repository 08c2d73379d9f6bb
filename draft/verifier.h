#ifndef SHORTLIST_DRAFT_VERIFIER_H_
#define SHORTLIST_DRAFT_VERIFIER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "draft/drafted_chain.h"
#include "draft/engine_options.h"
#include "draft/token_chooser.h"
#include "head/pruned_head.h"
#include "request/sequence.h"

namespace shortlist {

/// The target's results for one sequence's chain: num_drafted + 1 rows, row j for the token after
/// the j-th draft token. Contains either logits, or only the best token of each row (if all
/// requests are greedy on raw logits and ask for no log-probabilities).
struct TargetRows {
  const TokenLogits* logits = nullptr;
  std::span<const PrunedHead::Best> best;  // used when logits is null
  int64_t first_row = 0;
  // Logits of the padding (rows without a token) for the same rows, if log-probabilities are
  // requested; null if there is no padding.
  const TokenLogits* padding = nullptr;

  /// Sets logprob and top of `info` for `token` in row `row`. Requires logits.
  void AddLogprobs(int64_t row, TokenId token, int64_t num_top, TokenInfo& info) const;
};

/// Verifies drafted chains and emits the accepted tokens. Holds scratch memory; one object per
/// thread.
class Verifier {
 public:
  /// Emits the accepted draft tokens and one token of the target's (correction or bonus) into
  /// `sequence`, with their token_infos (except escapes). If the sequence finishes within the
  /// chain, the rest is dropped. A row without any usable logit fails the sequence. `chain` may be
  /// empty, and needs its distributions for kRejection. Returns how many drafted tokens were
  /// emitted.
  int64_t Verify(Sequence& sequence, const DraftedChain& chain, const TargetRows& rows,
                 VerifyMode mode, int64_t context_len);

 private:
  std::optional<TokenId> JudgeByRejection(const TokenId* drafted, const DraftDistribution* q,
                                          uint64_t seed);

  TokenChooser chooser_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_VERIFIER_H_
