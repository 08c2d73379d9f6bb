#ifndef SHORTLIST_DRAFT_TOKEN_CHOOSER_H_
#define SHORTLIST_DRAFT_TOKEN_CHOOSER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "draft/drafter.h"
#include "head/lm_head.h"
#include "kernels/sampling.h"
#include "request/sequence.h"

namespace shortlist {

/// Turns one token's logits into a choice, for target and draft alike: penalties, bias and bans,
/// temperature, filters, then the likeliest token or a draw. Holds scratch; one per thread.
///
/// Use: Prepare(...), then any of the others.
class TokenChooser {
 public:
  /// logits: [ids.size()], raw from the head, for the token that follows the sequence's tokens and
  /// then `drafted` (tokens proposed but not emitted; empty on the target's side, where they are
  /// emitted one by one). Both views must outlive the calls below.
  void Prepare(std::span<const float> logits, const RowIds& ids, const Sequence& sequence,
               std::span<const TokenId> drafted);

  /// The token: greedily, or by the noise of (seed, position). The row, or nullopt when no logit
  /// is a number.
  std::optional<DraftId> Choose() const;

  /// The same choice, and how likely a target that sees the same noise makes it too: for a draw its
  /// share in the race (kernels/sampling.h), for a greedy choice the largest probability.
  struct SureChoice {
    DraftId row;
    double probability;
  };
  std::optional<SureChoice> ChooseSurely() const;

  /// The distribution Choose draws from, over its support. Temperature 0 gives one token.
  DraftDistribution Distribution();

  /// One draw from norm(max(0, p - q)), the residual of rejection sampling, where p is what
  /// was prepared.
  std::optional<DraftId> ChooseResidual(const DraftDistribution& q);

  /// Probability of `id` under what was prepared.
  double Probability(TokenId id);

  TokenId TokenAt(DraftId row) const { return ids_->TokenAt(row); }
  /// Position in the sequence of the token being chosen.
  int64_t position() const { return position_; }

 private:
  void ApplyPenalties(const Sequence& sequence, std::span<const TokenId> drafted);
  void ApplyBans(const Sequence& sequence, std::span<const TokenId> drafted);
  void ApplyTemperature();
  void ApplyFilters();
  RaceRow Racers() const;
  RaceNoise Noise(uint32_t stream) const;
  double LogSumExp();

  const RowIds* ids_ = nullptr;
  const SamplingParams* params_ = nullptr;
  int64_t position_ = 0;
  std::span<const float> logits_;   // [ids_->size()], raw
  std::vector<int32_t> token_ids_;  // [ids_->size()], empty for the full head
  // [ids_->size()], log-probabilities but for a constant, -infinity: excluded. Empty while the raw
  // logits say the same but for the temperature: most choices need no more.
  std::vector<float> scores_;
  std::optional<double> log_sum_exp_;  // of scores_, once asked for; not for temperature 0
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TOKEN_CHOOSER_H_
