#include "draft/chain_policy.h"

#include "draft/chain_memory.h"
#include "draft/constraint_path.h"
#include "draft/draft_policy.h"
#include "draft/past_outputs.h"

namespace shortlist {
namespace {

// If a draft this unsure and a match this sure disagree, the match is right more often.
constexpr double kUnsure = 0.2;
constexpr double kSureMatch = 0.5;

// Cost of a copied token relative to a drafted one: only a row of the target's pass.
constexpr double kCopyShare = 0.4;

// Before any verdict the square root of this (AcceptanceForecast). Low enough that a model that
// writes the text in other tokens ends forced drafts early.
constexpr double kForcedProbability = 0.9;

}  // namespace

void ChainPolicy::Add(const DraftEvidence& of, DraftedChain& chain) const {
  chain.probability *= memory_->Likelihood(of);
  chain.evidence.push_back(of);
}

/// Coverage at the end of the chain.
double ChainPolicy::CoverageOf(const DraftedChain& chain) const {
  return chain.IsNarrowed(chain.size()) ? 1.0 : limits_.coverage;
}

/// `of` is the evidence for the next token of the chain.
bool ChainPolicy::IsWorthItsRow(const DraftEvidence& of, const DraftedChain& chain) const {
  const double least = limits_.thresholds != nullptr ? limits_.thresholds->row[chain.size()]
                                                     : limits_.p_min * kCopyShare;
  return chain.probability * memory_->Likelihood(of) >= least;  // false for NaN
}

/// Returns what followed the end of the chain earlier. No match if it may not follow here.
SuffixMatch ChainPolicy::FindCopy(const DraftedChain& chain) const {
  SuffixMatch match = memory_->FindInText(text_, chain.tokens);
  if (limits_.past_outputs != nullptr) {
    const SuffixMatch other = limits_.past_outputs->Find(*limits_.cache_salt, text_, chain.tokens);
    if (other.Probability() > match.Probability()) match = other;
  }
  if (match.length == 0 || limits_.constraints.empty()) return match;
  const ConstraintPath path(limits_.constraints, chain.tokens);
  return path.IsComplete() || !path.Allows(match.next) ? SuffixMatch() : match;
}

bool ChainPolicy::Weigh(TokenId token, double token_probability, DraftedChain& chain) const {
  const double likely = token_probability * CoverageOf(chain);
  SuffixMatch match;
  if (limits_.copies) match = FindCopy(chain);
  const bool agrees = match.length > 0 && match.next == token;
  if (!agrees && match.Probability() >= kSureMatch && likely < kUnsure) return false;
  const DraftEvidence of = {agrees ? DraftSource::kDraftAndText : DraftSource::kDraft, likely};
  if (limits_.thresholds != nullptr && !IsWorthItsRow(of, chain)) return false;
  Add(of, chain);
  return true;
}

void ChainPolicy::WeighDraw(double largest_probability, DraftedChain& chain) const {
  Add({DraftSource::kDraft, largest_probability * CoverageOf(chain)}, chain);
}

void ChainPolicy::Force(bool wants_distributions, DraftedChain& chain) const {
  if (!is_constrained() || chain.size() >= limits_.max_tokens) return;
  const DraftEvidence forced = {DraftSource::kForced, kForcedProbability};
  for (const TokenId token : ConstraintPath(limits_.constraints, chain.tokens).Forced()) {
    if (chain.size() >= limits_.max_tokens) return;
    if (weighs() && !IsWorthItsRow(forced, chain)) return;
    if (weighs()) Add(forced, chain);
    chain.forced.push_back(static_cast<int32_t>(chain.size()));
    chain.AddCertain(token, wants_distributions);
  }
}

bool ChainPolicy::WantsMore(const DraftedChain& chain, int64_t num_passes) const {
  if (chain.size() >= limits_.max_tokens) return false;
  if (is_constrained() && ConstraintPath(limits_.constraints, chain.tokens).IsComplete()) {
    return false;
  }
  if (limits_.thresholds == nullptr) {
    return limits_.p_min == 0.0 || chain.probability >= limits_.p_min;
  }
  const double next = chain.probability * memory_->usual_acceptance;
  const double pass = limits_.thresholds->pass[chain.size()];
  const double without_row = pass - limits_.thresholds->row[chain.size()];
  return next >= pass + static_cast<double>(num_passes - 1) * without_row;
}

void ChainPolicy::Copy(bool wants_distributions, DraftedChain& chain) const {
  if (!limits_.copies) return;
  while (chain.size() < limits_.max_tokens) {
    const SuffixMatch match = FindCopy(chain);
    if (match.length == 0) return;
    const DraftEvidence copied = {DraftSource::kText, match.Probability()};
    if (!IsWorthItsRow(copied, chain)) return;
    Add(copied, chain);
    chain.AddCertain(match.next, wants_distributions);
    ++chain.num_copied;
  }
}

}  // namespace shortlist
