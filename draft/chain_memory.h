#ifndef SHORTLIST_DRAFT_CHAIN_MEMORY_H_
#define SHORTLIST_DRAFT_CHAIN_MEMORY_H_

#include <array>
#include <cstdint>

#include "draft/acceptance_forecast.h"
#include "draft/drafted_chain.h"
#include "draft/prompt_lookup.h"

namespace shortlist {

/// What the text of one request and the target's verdicts on its chains tell about its next chain.
struct ChainMemory {
  PromptLookup lookup;                                         // over the request's tokens
  std::array<AcceptanceForecast, kNumDraftSources> forecasts;  // by DraftSource
  double usual_acceptance = 0.8;  // of recent tokens of the drafter that were judged

  /// Probability that the target accepts a token with this evidence. NaN if the evidence is.
  double Likelihood(const DraftEvidence& of) const;

  /// Learns that the target accepted the first `num_accepted` tokens of `chain` and rejected the
  /// next one, if any.
  void Learn(const DraftedChain& chain, int64_t num_accepted);
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_CHAIN_MEMORY_H_
