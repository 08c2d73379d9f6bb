#include "draft/chain_memory.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <new>

namespace shortlist {

SuffixMatch ChainMemory::FindInText(std::span<const TokenId> text,
                                    std::span<const TokenId> drafted) {
  constexpr SuffixIndex::Owner kOwner = 0;
  if (text_index == nullptr || text_index->capacity() < std::ssize(text)) {
    const auto twice = static_cast<int64_t>(std::bit_ceil(2 * text.size()));
    try {
      text_index = std::make_unique<SuffixIndex>(
          std::clamp(twice, SuffixIndex::kMinCapacity, SuffixIndex::kMaxCapacity));
    } catch (const std::bad_alloc&) {  // drafts are optional
      text_index = nullptr;
      return {};
    }
  }
  text_index->Append(kOwner, text.subspan(text_index->end()));
  return text_index->Find(kOwner, text, drafted);
}

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
