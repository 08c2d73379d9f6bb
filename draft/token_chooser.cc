#include "draft/token_chooser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "draft/constraint_path.h"
#include "draft/nucleus.h"
#include "kernels/sampling.h"

namespace shortlist {
namespace {

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

// Noise streams at one position. Draft and target sample from the same stream; the residual must be
// independent of the noise of the rejected token.
constexpr uint32_t kTokenStream = 0;
constexpr uint32_t kResidualStream = 2;

/// Moves the `keep` best of `order` (rows) to the front and drops the rest. `better` is a strict
/// order, so the set is unique.
template <typename Better>
void KeepBest(std::vector<int32_t>& order, int64_t keep, const Better& better) {
  if (keep >= static_cast<int64_t>(order.size())) return;
  std::nth_element(order.begin(), order.begin() + keep, order.end(), better);
  order.resize(keep);
}

/// Converts a kernel's result; -1: none.
std::optional<DraftId> RowAt(int64_t index) {
  if (index < 0) return std::nullopt;
  return DraftId{static_cast<int32_t>(index)};
}

}  // namespace

void TokenChooser::Prepare(std::span<const float> logits, const RowIds& ids,
                           const Sequence& sequence, std::span<const TokenId> drafted) {
  ids_ = &ids;
  sequence_ = &sequence;
  params_ = &sequence.sampling();
  drafted_ = drafted;
  position_ = sequence.num_tokens() + static_cast<int64_t>(drafted.size());
  logits_ = logits;
  ids.CopyTo(token_ids_);
  scores_.clear();
  log_sum_exp_.reset();
  is_constrained_ = sequence.constraints().empty();
  const bool keeps_all_k =
      params_->top_k == 0 || params_->top_k >= static_cast<int64_t>(logits.size());
  const bool filters =
      !params_->greedy() && (!keeps_all_k || params_->top_p < 1.0 || params_->min_p > 0.0);
  if (filters && !is_constrained_) {
    ApplyConstraints();  // first, as filters keep a share of the allowed tokens
  } else {
    ApplyPenalties();
    if (!params_->greedy() && (filters || !scores_.empty())) ApplyTemperature();
  }
  if (filters) ApplyFilters();
}

double TokenChooser::LogSumExp() {
  ApplyConstraints();
  if (scores_.empty()) ApplyTemperature();
  if (!log_sum_exp_) {
    log_sum_exp_ = LogSumExpCpu(scores_.data(), static_cast<int64_t>(scores_.size()));
  }
  return *log_sum_exp_;
}

/// Sets scores_ to the changed logits, if penalties or bias change them.
void TokenChooser::ApplyPenalties() {
  const SamplingParams& params = *params_;
  if (!params.ChangesLogits()) return;
  scores_.assign(logits_.begin(), logits_.end());
  std::unordered_map<int32_t, TokenHistory::Count> counts = sequence_->history().counts();
  for (TokenId id : drafted_) ++counts[Raw(id)].in_output;
  for (const auto& [id, count] : counts) {
    const std::optional<DraftId> row = ids_->Find(TokenId{id});
    if (!row) continue;
    float& score = scores_[Raw(*row)];
    const float repetition = static_cast<float>(params.repetition_penalty);
    score = score > 0.0f ? score / repetition : score * repetition;
    if (count.in_output > 0) {
      score -= static_cast<float>(params.presence_penalty);
      score -= static_cast<float>(params.frequency_penalty) * static_cast<float>(count.in_output);
    }
  }
  for (const auto& [id, bias] : params.logit_bias) {
    if (const std::optional<DraftId> row = ids_->Find(id)) scores_[Raw(*row)] += bias;
  }
}

/// Sets scores_ to those of the allowed tokens, with the temperature applied: once, and from the
/// start, because the temperature is relative to the best allowed token.
void TokenChooser::ApplyConstraints() {
  if (is_constrained_) return;
  is_constrained_ = true;
  scores_.clear();
  ApplyPenalties();
  if (scores_.empty()) scores_.assign(logits_.begin(), logits_.end());
  for (const Sequence::Constraint& constraint : sequence_->constraints()) {
    TokenConstraint::State state = constraint.state;
    for (const TokenId token : drafted_) state = constraint.of->Next(state, token);
    KeepAllowed(constraint.of->Allowed(state));
  }
  if (!params_->greedy()) ApplyTemperature();
}

bool TokenChooser::MayFollow(DraftId row) const {
  return ConstraintPath(sequence_->constraints(), drafted_).Allows(TokenAt(row));
}

void TokenChooser::KeepAllowed(const TokenSet& allowed) {
  if (allowed.is_exception()) {
    for (const TokenId id : allowed.ids()) {
      if (const std::optional<DraftId> row = ids_->Find(id)) scores_[Raw(*row)] = kExcluded;
    }
    return;
  }
  std::vector<float> kept(scores_.size(), kExcluded);
  if (token_ids_.empty()) {
    for (const TokenId id : allowed.ids()) {
      if (Raw(id) < std::ssize(kept)) kept[Raw(id)] = scores_[Raw(id)];
    }
  } else {
    for (size_t s = 0; s < kept.size(); ++s) {
      if (std::ranges::binary_search(allowed.ids(), TokenId{token_ids_[s]})) kept[s] = scores_[s];
    }
  }
  scores_.swap(kept);
}

void TokenChooser::ApplyTemperature() {
  if (scores_.empty()) scores_.assign(logits_.begin(), logits_.end());
  // Relative to the best score, so that a tiny temperature cannot cause overflow. Infinite logits
  // outweigh all others.
  const float max = LargestCpu(scores_.data(), static_cast<int64_t>(scores_.size()));
  const float inverse_temperature = InverseTemperature(params_->temperature);
  if (std::isfinite(max)) {
    for (float& score : scores_) score = (score - max) * inverse_temperature;
  } else {
    for (float& score : scores_) score = score == max && max > 0.0f ? 0.0f : kExcluded;
  }
}

void TokenChooser::ApplyFilters() {
  const SamplingParams& params = *params_;
  const int64_t size = static_cast<int64_t>(scores_.size());
  std::vector<int32_t> kept;  // rows that passed so far
  kept.reserve(size);
  for (int64_t s = 0; s < size; ++s) {
    if (scores_[s] > kExcluded) kept.push_back(static_cast<int32_t>(s));
  }
  const auto better = [this](int32_t a, int32_t b) {
    if (scores_[a] != scores_[b]) return scores_[a] > scores_[b];
    return token_ids_.empty() ? a < b : token_ids_[a] < token_ids_[b];
  };
  if (params.top_k > 0) KeepBest(kept, params.top_k, better);
  if (kept.empty()) return;
  const float best = scores_[*std::min_element(kept.begin(), kept.end(), better)];

  if (params.top_p < 1.0) KeepNucleus(scores_, token_ids_, params.top_p, kept);
  const double lowest =
      params.min_p > 0.0 ? best + std::log(params.min_p) : -std::numeric_limits<double>::infinity();
  std::vector<float> filtered(size, kExcluded);
  for (int32_t s : kept) {
    if (scores_[s] >= lowest) filtered[s] = scores_[s];
  }
  scores_.swap(filtered);
}

RaceRow TokenChooser::Racers() const {
  const bool raw = scores_.empty();
  return {.logits = raw ? logits_.data() : scores_.data(),
          .ids = token_ids_.empty() ? nullptr : token_ids_.data(),
          .count = static_cast<int64_t>(logits_.size()),
          .inverse_temperature = raw ? InverseTemperature(params_->temperature) : 1.0f};
}

RaceNoise TokenChooser::Noise(uint32_t stream) const { return {params_->seed, position_, stream}; }

std::optional<DraftId> TokenChooser::Choose() {
  const std::optional<DraftId> row = ChooseByScores();
  if (is_constrained_ || !row || MayFollow(*row)) return row;
  ApplyConstraints();
  return ChooseByScores();
}

std::optional<DraftId> TokenChooser::ChooseByScores() const {
  if (!params_->greedy()) return RowAt(SampleRaceCpu(Racers(), Noise(kTokenStream)));
  const std::span<const float> scores = scores_.empty() ? logits_ : std::span<const float>(scores_);
  int64_t best = -1;
  for (int64_t s = 0; s < static_cast<int64_t>(scores.size()); ++s) {
    if (!(scores[s] > kExcluded)) continue;
    if (best < 0 || scores[s] > scores[best] ||
        (scores[s] == scores[best] && !token_ids_.empty() && token_ids_[s] < token_ids_[best])) {
      best = s;
    }
  }
  return RowAt(best);
}

std::optional<TokenChooser::SureChoice> TokenChooser::ChooseSurely() {
  const std::optional<SureChoice> choice = ChooseSurelyByScores();
  if (is_constrained_ || !choice || MayFollow(choice->row)) return choice;
  ApplyConstraints();
  return ChooseSurelyByScores();
}

std::optional<TokenChooser::SureChoice> TokenChooser::ChooseSurelyByScores() const {
  if (!params_->greedy()) {
    const RaceWinner winner = SampleRaceWithShareCpu(Racers(), Noise(kTokenStream));
    const std::optional<DraftId> row = RowAt(winner.index);
    return row ? std::optional(SureChoice{*row, winner.share}) : std::nullopt;
  }
  const std::optional<DraftId> row = ChooseByScores();
  if (!row) return std::nullopt;
  return SureChoice{*row,
                    LargestProbabilityCpu(logits_.data(), static_cast<int64_t>(logits_.size()))};
}

DraftDistribution TokenChooser::Distribution() {
  DraftDistribution distribution;
  if (params_->greedy()) {
    if (const std::optional<DraftId> row = Choose()) {
      distribution.ids.push_back(Raw(TokenAt(*row)));
      distribution.probs.push_back(1.0f);
    }
    return distribution;
  }
  const double log_sum_exp = LogSumExp();
  for (size_t s = 0; s < scores_.size(); ++s) {
    if (!(scores_[s] > kExcluded)) continue;
    distribution.ids.push_back(token_ids_.empty() ? static_cast<int32_t>(s) : token_ids_[s]);
    distribution.probs.push_back(static_cast<float>(std::exp(scores_[s] - log_sum_exp)));
  }
  return distribution;
}

double TokenChooser::Probability(TokenId id) {
  const std::optional<DraftId> row = ids_->Find(id);
  if (!row) return 0.0;
  if (params_->greedy()) return row == Choose() ? 1.0 : 0.0;
  const double log_sum_exp = LogSumExp();  // before scores_ is read, which LogSumExp() may fill
  return std::exp(scores_[Raw(*row)] - log_sum_exp);
}

std::optional<DraftId> TokenChooser::ChooseResidual(const DraftDistribution& q) {
  if (params_->greedy()) return Choose();
  // Outside q's support the residual is p itself: only the support needs arithmetic.
  const double log_sum_exp = LogSumExp();
  const std::vector<float> prepared = scores_;
  for (size_t i = 0; i < q.ids.size(); ++i) {
    const std::optional<DraftId> row = ids_->Find(TokenId{q.ids[i]});
    if (!row) continue;
    float& score = scores_[Raw(*row)];
    const double rest = std::exp(score - log_sum_exp) - static_cast<double>(q.probs[i]);
    score = rest > 0.0 ? static_cast<float>(std::log(rest) + log_sum_exp) : kExcluded;
  }
  const std::optional<DraftId> row = RowAt(SampleRaceCpu(Racers(), Noise(kResidualStream)));
  scores_ = prepared;
  // p <= q everywhere results only from rounding, if p and q are equal. The limit of the residual
  // is then p.
  return row ? row : RowAt(SampleRaceCpu(Racers(), Noise(kResidualStream)));
}

}  // namespace shortlist
