#ifndef SHORTLIST_DRAFT_TOKEN_CHOOSER_H_
#define SHORTLIST_DRAFT_TOKEN_CHOOSER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "draft/drafted_chain.h"
#include "head/pruned_head.h"
#include "kernels/sampling.h"
#include "request/sequence.h"

namespace shortlist {

/// Chooses a token from one token's logits, for target and draft alike: applies penalties, bias,
/// the constraints, temperature and filters, then takes the likeliest token or samples. Holds
/// scratch memory; one object per thread.
///
/// Constraints apply last where nothing depends on the other tokens' scores: the best of all
/// tokens, or the winner of the race, is that of the allowed ones too if it is allowed. The set of
/// allowed tokens is then not needed.
///
/// Call Prepare() first, then any other method.
class TokenChooser {
 public:
  /// logits: [ids.size()], raw from the head, for the token that follows the sequence's tokens and
  /// then `drafted`. `drafted`: tokens proposed but not emitted; empty for the target, whose tokens
  /// are emitted one by one. Views and sequence must outlive the calls below, and not change.
  void Prepare(std::span<const float> logits, const RowIds& ids, const Sequence& sequence,
               std::span<const TokenId> drafted);

  /// Returns the row of the chosen token: greedily, or by the noise of (seed, position). nullopt if
  /// no token is left: each one is excluded, or its logit is not a number.
  std::optional<DraftId> Choose();

  /// The choice of Choose(), and the probability that a target with the same noise chooses it too:
  /// for a sample its share in the race (kernels/sampling.h), for a greedy choice the largest
  /// probability.
  struct SureChoice {
    DraftId row;
    double probability;
  };
  std::optional<SureChoice> ChooseSurely();

  /// The distribution that Choose() samples from, over its support. One token at temperature 0.
  DraftDistribution Distribution();

  /// Samples from norm(max(0, p - q)), the residual of rejection sampling, where p is the prepared
  /// distribution.
  std::optional<DraftId> ChooseResidual(const DraftDistribution& q);

  /// Probability of `id` in the prepared distribution.
  double Probability(TokenId id);

  TokenId TokenAt(DraftId row) const { return ids_->TokenAt(row); }
  /// Position in the sequence of the token being chosen.
  int64_t position() const { return position_; }

 private:
  void ApplyPenalties();
  void ApplyConstraints();
  bool MayFollow(DraftId row) const;
  std::optional<DraftId> ChooseByScores() const;
  std::optional<SureChoice> ChooseSurelyByScores() const;
  void KeepAllowed(const TokenSet& allowed);
  void ApplyTemperature();
  void ApplyFilters();
  RaceRow Racers() const;
  RaceNoise Noise(uint32_t stream) const;
  double LogSumExp();

  const RowIds* ids_ = nullptr;
  const Sequence* sequence_ = nullptr;
  const SamplingParams* params_ = nullptr;  // of sequence_
  std::span<const TokenId> drafted_;
  int64_t position_ = 0;
  std::span<const float> logits_;   // [ids_->size()], raw
  std::vector<int32_t> token_ids_;  // [ids_->size()], empty for the full head
  // [ids_->size()], log-probabilities up to a constant; -infinity: excluded. Empty while the raw
  // logits differ only by the temperature, which suffices for most choices.
  std::vector<float> scores_;
  bool is_constrained_ = false;        // the constraints have been applied to scores_
  std::optional<double> log_sum_exp_;  // of scores_, computed on demand; not for temperature 0
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_TOKEN_CHOOSER_H_
