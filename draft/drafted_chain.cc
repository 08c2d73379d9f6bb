#include "draft/drafted_chain.h"

#include <algorithm>

namespace shortlist {

float DraftDistribution::Probability(TokenId id) const {
  const auto found = std::find(ids.begin(), ids.end(), Raw(id));
  return found == ids.end() ? 0.0f : probs[found - ids.begin()];
}

int64_t RankedRows::RankOf(TokenId id) const {
  const auto found = std::ranges::lower_bound(ids, Raw(id));
  if (found == ids.end() || *found != Raw(id)) return kUnranked;
  const int64_t place = found - ids.begin();
  int64_t rank = 0;
  for (int64_t i = 0; i < std::ssize(keys); ++i) {
    rank += keys[i] > keys[place] || (keys[i] == keys[place] && i < place) ? 1 : 0;
  }
  return rank;
}

bool DraftedChain::IsForced(int64_t place) const {
  return std::ranges::binary_search(forced, place);
}

bool DraftedChain::IsNarrowed(int64_t place) const {
  return std::ranges::binary_search(narrowed, place);
}

ProposalSource DraftedChain::SourceOf(int64_t place) const {
  if (IsForced(place)) return ProposalSource::kForced;
  return place < first_copy() ? ProposalSource::kDrafter : ProposalSource::kCopied;
}

int64_t DraftedChain::NumForced(int64_t end) const {
  return std::ranges::lower_bound(forced, end) - forced.begin();
}

std::optional<int64_t> DraftedChain::PassOf(int64_t place) const {
  if (IsForced(place)) return std::nullopt;
  return place - NumForced(place);
}

void DraftedChain::AddCertain(TokenId token, bool wants_distributions) {
  tokens.push_back(token);
  if (wants_distributions) distributions.push_back({{Raw(token)}, {1.0f}});
}

}  // namespace shortlist
