#include "draft/drafter.h"

#include <algorithm>

namespace shortlist {

float DraftDistribution::Probability(TokenId id) const {
  const auto found = std::find(ids.begin(), ids.end(), Raw(id));
  return found == ids.end() ? 0.0f : probs[found - ids.begin()];
}

void DraftTask::Weigh(double token_probability) {
  const SequenceStats& stats = sequence->stats;
  const double coverage = stats.num_step_tokens > 0 ? stats.coverage() : 1.0;
  probability *= token_probability * coverage;
}

bool DraftTask::WantsMore() const {
  return static_cast<int64_t>(tokens.size()) < num_draft_tokens &&
         (p_min == 0.0 || probability >= p_min);
}

}  // namespace shortlist
