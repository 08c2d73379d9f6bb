#ifndef SHORTLIST_DRAFT_CHAIN_MEMORY_H_
#define SHORTLIST_DRAFT_CHAIN_MEMORY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/ids.h"
#include "draft/acceptance_forecast.h"
#include "draft/drafted_chain.h"
#include "draft/suffix_index.h"

namespace shortlist {

/// What the text of one request and the target's verdicts on its chains tell about its next chain.
struct ChainMemory {
  std::unique_ptr<SuffixIndex> text_index;  // null until FindInText() is called
  // By DraftSource. SuffixMatch::Probability(), of kText, is calibrated.
  std::array<AcceptanceForecast, kNumDraftSources> forecasts = {
      AcceptanceForecast(), AcceptanceForecast(), AcceptanceForecast(1.0), AcceptanceForecast()};
  double usual_acceptance = 0.8;  // of recent tokens of the drafter that were judged

  /// Returns what followed the end of `text` and then `drafted` earlier in `text`, the request's
  /// tokens. Indexes what is new since the last call. No match if memory is short.
  SuffixMatch FindInText(std::span<const TokenId> text, std::span<const TokenId> drafted);

  /// Probability that the target accepts a token with this evidence. NaN if the evidence is.
  double Likelihood(const DraftEvidence& of) const;

  /// Learns that the target accepted the first `num_accepted` tokens of `chain` and rejected the
  /// next one, if any.
  void Learn(const DraftedChain& chain, int64_t num_accepted);
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_CHAIN_MEMORY_H_
