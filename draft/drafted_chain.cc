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

}  // namespace shortlist
