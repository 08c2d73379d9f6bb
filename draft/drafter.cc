#include "draft/drafter.h"

#include <algorithm>
#include <iterator>

#include "draft/draft_policy.h"
#include "draft/prompt_lookup.h"
#include "draft/speculation.h"

namespace shortlist {
namespace {

// If a draft this unsure and a match this long disagree, the text is right seven times in ten on
// the demo pair, and the draft once in six.
constexpr double kUnsure = 0.2;
constexpr int64_t kSureMatch = 3;

// Cost of a copied token relative to a drafted one: only a row of the target's pass.
constexpr double kCopyShare = 0.4;

// Rate of usual_acceptance: averages about the last 32 judged tokens of the draft.
constexpr double kUsualRate = 1.0 / 32;

}  // namespace

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

float DraftDistribution::Probability(TokenId id) const {
  const auto found = std::find(ids.begin(), ids.end(), Raw(id));
  return found == ids.end() ? 0.0f : probs[found - ids.begin()];
}

double DraftTask::Likelihood(const Evidence& of) const {
  return SpeculationOf(*sequence).forecasts[static_cast<size_t>(of.source)].Of(of.probability);
}

void DraftTask::Add(const Evidence& of) {
  probability *= Likelihood(of);
  evidence.push_back(of);
}

double DraftTask::Covered(double probability_of_rows) const {
  if (active != nullptr && active->is_full_head()) return probability_of_rows;
  const SequenceStats& stats = sequence->stats;
  return probability_of_rows * (stats.num_step_tokens > 0 ? stats.coverage() : 1.0);
}

bool DraftTask::Weigh(TokenId token, double token_probability) {
  const double likely = Covered(token_probability);
  PromptLookup::Match match;
  if (looks_up) match = SpeculationOf(*sequence).lookup.Find(sequence->tokens(), tokens);
  const bool agrees = match.length > 0 && match.next == token;
  if (!agrees && match.length >= kSureMatch && likely < kUnsure) return false;
  const Evidence of = {agrees ? DraftSource::kDraftAndText : DraftSource::kDraft, likely};
  if (thresholds != nullptr && !IsWorthItsRow(of)) return false;
  Add(of);
  return true;
}

void DraftTask::WeighDraw(double largest_probability) {
  Add({DraftSource::kDraft, Covered(largest_probability)});
}

/// `of` is the evidence for the next token of the chain.
bool DraftTask::IsWorthItsRow(const Evidence& of) const {
  const double least = thresholds != nullptr ? thresholds->row[tokens.size()] : p_min * kCopyShare;
  return probability * Likelihood(of) >= least;  // false for NaN
}

void DraftTask::Learn(int64_t num_accepted) const {
  double& usual = SpeculationOf(*sequence).usual_acceptance;
  const int64_t num_drawn = std::ssize(tokens) - num_copied;
  for (int64_t j = 0; j < std::min(num_accepted + 1, num_drawn); ++j) {
    usual += kUsualRate * ((j < num_accepted ? 1.0 : 0.0) - usual);
  }
  const int64_t first = std::ssize(tokens) - std::ssize(evidence);
  for (int64_t j = first; j < std::min(num_accepted + 1, std::ssize(tokens)); ++j) {
    const Evidence& of = evidence[j - first];
    SpeculationOf(*sequence).forecasts[static_cast<size_t>(of.source)].Learn(of.probability,
                                                                             j < num_accepted);
  }
}

bool DraftTask::WantsMore() const {
  if (std::ssize(tokens) >= num_draft_tokens) return false;
  if (thresholds == nullptr) return p_min == 0.0 || probability >= p_min;
  const double next = probability * SpeculationOf(*sequence).usual_acceptance;
  return next >= thresholds->pass[tokens.size()];
}

void DraftTask::Copy(bool wants_distributions) {
  if (!looks_up || !weighs()) return;
  while (std::ssize(tokens) < num_draft_tokens) {
    const PromptLookup::Match match =
        SpeculationOf(*sequence).lookup.Find(sequence->tokens(), tokens);
    if (match.length == 0) return;
    const double length = static_cast<double>(match.length);
    const Evidence copied = {DraftSource::kText, length / (length + 1.0)};
    if (!IsWorthItsRow(copied)) return;
    Add(copied);
    tokens.push_back(match.next);
    ++num_copied;
    if (wants_distributions) distributions.push_back({{Raw(match.next)}, {1.0f}});
  }
}

}  // namespace shortlist
