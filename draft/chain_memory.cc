#include "draft/chain_memory.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace shortlist {

double ChainMemory::Likelihood(const DraftEvidence& of) const {
  return forecasts[static_cast<size_t>(of.source)].Of(of.probability);
}

void ChainMemory::Learn(const DraftedChain& chain, int64_t num_accepted) {
  // Averages about the last 32 judged tokens of the drafter.
  constexpr double kUsualRate = 1.0 / 32;
  for (int64_t j = 0; j < std::min(num_accepted + 1, chain.first_copy()); ++j) {
    if (chain.IsForced(j)) continue;
    usual_acceptance += kUsualRate * ((j < num_accepted ? 1.0 : 0.0) - usual_acceptance);
  }
  const int64_t first = chain.size() - std::ssize(chain.evidence);
  for (int64_t j = first; j < std::min(num_accepted + 1, chain.size()); ++j) {
    const DraftEvidence& of = chain.evidence[j - first];
    forecasts[static_cast<size_t>(of.source)].Learn(of.probability, j < num_accepted);
  }
}

}  // namespace shortlist
