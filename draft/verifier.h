#ifndef SHORTLIST_DRAFT_VERIFIER_H_
#define SHORTLIST_DRAFT_VERIFIER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "draft/token_chooser.h"
#include "head/lm_head.h"
#include "request/sequence.h"

namespace shortlist {

/// How drafted tokens are judged.
enum class VerifyMode {
  /// The target chooses every token itself, by noise that depends on (seed, position, token id)
  /// alone; a draft token is accepted when it is that choice. Outputs are bit-identical to plain
  /// decoding. The draft chooses by the same noise, so the two agree often (Daliri, Musco, Suresh
  /// 2024, "Coupling without communication").
  kCoupled,
  /// Leviathan, Kalman, Matias 2023: accept x ~ q with probability min(1, p(x) / q(x)), else draw
  /// from norm(max(0, p - q)). The output has the target's distribution; which output it is depends
  /// on the draft.
  kRejection,
};

/// The target's verdict on one sequence's chain: num_drafted + 1 rows, row j for the token after
/// the j-th draft token. Either logits, or (all greedy, raw logits, no log-probabilities asked)
/// only the best token of each row.
struct TargetRows {
  const TokenLogits* logits = nullptr;
  std::span<const LmHead::Best> best;  // used when logits is null
  int64_t first_row = 0;
  // Of the same rows, the logits of what is nobody's token, where log-probabilities are asked for;
  // null: there are no such rows.
  const TokenLogits* padding = nullptr;

  /// Fills in logprob and top of `info`, for `token` in row `row`. Wants logits.
  void AddLogprobs(int64_t row, TokenId token, int64_t num_top, TokenInfo& info) const;
};

/// Judges drafted chains and emits what stands. Holds scratch; one per thread.
class Verifier {
 public:
  /// Emits the accepted draft tokens and one more of the target's (correction or bonus) into
  /// `sequence`, with their token_infos (but for the escapes); the sequence may finish inside the
  /// run: then the rest is dropped. A row without any usable logit fails the sequence. `tokens`:
  /// the chain, may be empty. `distributions`: [tokens.size()] for kRejection, else unused. Returns
  /// how many drafted tokens were emitted.
  int64_t Verify(Sequence& sequence, std::span<const TokenId> tokens,
                 std::span<const DraftDistribution> distributions, const TargetRows& rows,
                 VerifyMode mode, int64_t context_len);

 private:
  std::optional<TokenId> JudgeByRejection(const TokenId* drafted, const DraftDistribution* q,
                                          uint64_t seed);

  TokenChooser chooser_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_VERIFIER_H_
