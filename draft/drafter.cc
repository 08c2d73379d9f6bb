#include "draft/drafter.h"

#include <algorithm>
#include <iterator>

namespace shortlist {

float DraftDistribution::Probability(TokenId id) const {
  const auto found = std::find(ids.begin(), ids.end(), Raw(id));
  return found == ids.end() ? 0.0f : probs[found - ids.begin()];
}

void DraftTask::Weigh(double token_probability) {
  const SequenceStats& stats = sequence->stats;
  const double coverage = stats.num_step_tokens > 0 ? stats.coverage() : 1.0;
  token_probabilities.push_back(token_probability * coverage);
  probability *= sequence->forecast.Of(token_probabilities.back());
}

void DraftTask::Learn(int64_t num_accepted) const {
  for (int64_t j = 0; j < std::min(num_accepted + 1, std::ssize(token_probabilities)); ++j) {
    sequence->forecast.Learn(token_probabilities[j], j < num_accepted);
  }
}

bool DraftTask::WantsMore() const {
  return static_cast<int64_t>(tokens.size()) < num_draft_tokens &&
         (p_min == 0.0 || probability >= p_min);
}

}  // namespace shortlist
