#include "head/pruned_head.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "head/cpu_head.h"
#include "kernels/quant.h"

namespace shortlist {
namespace {

/// A weight up to this size fits in the last-level cache, above all one that the target reads in
/// every step. There scattered rows cost little more than contiguous ones, and a copy would evict
/// other weights (a quarter of 16,384 rows of 512 bytes: 10 % more tokens/s without a copy).
constexpr int64_t kLargestCachedBytes = int64_t{16} << 20;

absl::Status CheckNumRows(int64_t num_rows, int64_t vocab_size) {
  if (num_rows >= 1 && num_rows <= vocab_size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("LM head: ", num_rows, " rows not in [1, ", vocab_size, "]"));
}

absl::Status CheckDraws(const HeadDraws& draws, int64_t num_tokens) {
  const std::span<const HeadDraw> of_tokens = draws.of_tokens;
  if (of_tokens.empty()) return absl::OkStatus();
  if (std::ssize(of_tokens) != num_tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: ", of_tokens.size(), " draws for ", num_tokens, " tokens"));
  }
  for (int64_t m = 0; m < num_tokens; ++m) {
    const double temperature = of_tokens[m].temperature;
    if (temperature >= 0.0 && temperature <= HeadDraw::kMaxTemperature) continue;
    return absl::InvalidArgumentError(absl::StrCat("LM head: temperature ", temperature,
                                                   " of token ", m, " not in [0, ",
                                                   HeadDraw::kMaxTemperature, "]"));
  }
  return absl::OkStatus();
}

/// Returns exp(logit - log_sum_exp), 1 for a logit of +infinity.
float ProbabilityOf(float logit, float log_sum_exp) {
  if (std::isinf(logit)) return logit > 0.0f ? 1.0f : 0.0f;
  return std::exp(logit - log_sum_exp);
}

absl::Status CheckStates(HeadInput hidden) {
  if (hidden.num_tokens >= 0 && (hidden.data != nullptr || hidden.num_tokens == 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("LM head: ", hidden.num_tokens, " hidden states",
                   hidden.data == nullptr ? " at a null pointer" : ""));
}

/// Checks the limits of the kernels: indices are 32 bits.
absl::Status CheckWeight(const HeadWeight& weight) {
  constexpr int64_t kBound = int64_t{1} << 31;
  if (weight.rows == nullptr) return absl::InvalidArgumentError("LM head: the weight is null");
  for (const auto& [name, size] :
       {std::pair("vocab_size", weight.vocab_size), std::pair("hidden", weight.hidden)}) {
    if (size >= 1 && size < kBound) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: ", name, " ", size, " not in [1, ", kBound, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

TokenId RowIds::TokenAt(DraftId row) const {
  const int64_t s = Raw(row);
  if (active_ == nullptr) {
    return TokenId{head_rows_ != nullptr ? head_rows_->ids()[s] : Raw(row)};
  }
  return s < active_->size() ? active_->ToTokenId(row) : TokenId{tail_[s - active_->size()]};
}

void RowIds::CopyTo(std::vector<int32_t>& ids) const {
  ids.clear();
  if (active_ == nullptr) {
    if (head_rows_ == nullptr) return;
    const std::span<const int32_t> rows = head_rows_->ids().first(size_);
    ids.assign(rows.begin(), rows.end());
    return;
  }
  ids.insert(ids.end(), active_->rows().begin(), active_->rows().end());
  ids.insert(ids.end(), tail_.begin(), tail_.end());
}

std::optional<DraftId> RowIds::Find(TokenId id) const {
  if (active_ == nullptr) {
    const int64_t end = head_rows_ != nullptr ? head_rows_->vocab_size() : size_;
    if (Raw(id) < 0 || Raw(id) >= end) return std::nullopt;
    const int32_t row = head_rows_ != nullptr ? head_rows_->RowOf(id) : Raw(id);
    if (row < 0 || row >= size_) return std::nullopt;
    return DraftId{row};
  }
  if (const std::optional<DraftId> row = active_->Find(id)) return row;
  const auto found = std::find(tail_.begin(), tail_.end(), Raw(id));
  if (found == tail_.end()) return std::nullopt;
  return DraftId{static_cast<int32_t>(active_->size() + (found - tail_.begin()))};
}

absl::StatusOr<PrunedHead> PrunedHead::Create(const HeadWeight& weight, int64_t num_rows,
                                              ThreadPool& pool,
                                              std::shared_ptr<const HeadRows> head_rows) {
  SHORTLIST_RETURN_IF_ERROR(CheckWeight(weight));
  SHORTLIST_RETURN_IF_ERROR(CheckNumRows(num_rows, weight.vocab_size));
  if (head_rows != nullptr && head_rows->size() != weight.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("LM head: tokens of ", head_rows->size(),
                                                   " rows for a weight of ", weight.vocab_size));
  }
  const bool packs_base =
      weight.vocab_size > kLargestCachedBytes / RowBytes(weight.dtype, weight.hidden);
  auto scorer = std::make_unique<CpuHead>(weight, num_rows, packs_base, pool, head_rows);
  return PrunedHead(std::move(scorer), num_rows, std::move(head_rows));
}

absl::StatusOr<PrunedHead> PrunedHead::Create(std::unique_ptr<HeadScorer> scorer,
                                              int64_t num_rows) {
  if (scorer == nullptr) return absl::InvalidArgumentError("LM head: the scorer is null");
  SHORTLIST_RETURN_IF_ERROR(CheckNumRows(num_rows, scorer->vocab_size()));
  return PrunedHead(std::move(scorer), num_rows, /*head_rows=*/nullptr);
}

absl::Status PrunedHead::Check(HeadInput hidden, const HeadSelection& selection) const {
  SHORTLIST_RETURN_IF_ERROR(CheckStates(hidden));
  const ActiveVocab& active = selection.active;
  if (!selection.tails.empty() && std::ssize(selection.tails) != hidden.num_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("LM head: ", selection.tails.size(),
                                                   " tails for ", hidden.num_tokens, " tokens"));
  }
  // A draft may have fewer padding rows than its target, so the ids must fit, not vocab_size. The
  // base is sorted.
  const std::span<const int32_t> ids = active.rows();
  int32_t largest = active.base_size() > 0 ? ids[active.base_size() - 1] : -1;
  for (int32_t id : ids.subspan(active.base_size())) largest = std::max(largest, id);
  if (!active.is_full_head()) {
    for (const std::span<const int32_t> tail : selection.tails) {
      for (const int32_t id : tail) {
        if (id < 0) {
          return absl::InvalidArgumentError(absl::StrCat("LM head: token id ", id, " of a tail"));
        }
        largest = std::max(largest, id);
      }
    }
  }
  if (largest >= scorer_->vocab_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "LM head: active token id ", largest, " for a weight of ", scorer_->vocab_size(), " rows"));
  }
  return head_rows_ == nullptr ? absl::OkStatus() : CheckHeadRows(selection);
}

/// Precondition: all ids are below vocab_size().
absl::Status PrunedHead::CheckHeadRows(const HeadSelection& selection) const {
  const ActiveVocab& active = selection.active;
  const auto check = [this](std::span<const int32_t> ids) {
    const auto has_row = [this](int32_t id) { return head_rows_->RowOf(TokenId{id}) >= 0; };
    const auto missing = std::ranges::find_if_not(ids, has_row);
    if (missing == ids.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "LM head: active token id ", *missing, " has none of the ", head_rows_->size(), " rows"));
  };
  // A base of these rows has no other ids.
  const bool is_of_rows = active.base()->head_rows() == head_rows_;
  SHORTLIST_RETURN_IF_ERROR(check(active.rows().subspan(is_of_rows ? active.base_size() : 0)));
  if (active.is_full_head()) return absl::OkStatus();
  for (const std::span<const int32_t> tail : selection.tails) {
    SHORTLIST_RETURN_IF_ERROR(check(tail));
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenLogits> PrunedHead::Logits(HeadInput hidden, const HeadSelection& selection,
                                               TokenLogits storage) {
  SHORTLIST_RETURN_IF_ERROR(Check(hidden, selection));
  TokenLogits rows = std::move(storage);
  SHORTLIST_RETURN_IF_ERROR(scorer_->Logits(hidden, selection, rows.values, rows.stride));
  rows.ids.clear();
  for (int64_t m = 0; m < hidden.num_tokens; ++m) {
    if (selection.active.is_full_head()) {
      rows.ids.emplace_back(num_rows_, head_rows_.get());
    } else {
      rows.ids.emplace_back(selection.active, selection.tails.empty() ? std::span<const int32_t>()
                                                                      : selection.tails[m]);
    }
  }
  return rows;
}

absl::StatusOr<std::vector<PrunedHead::Best>> PrunedHead::Argmax(HeadInput hidden,
                                                                 const HeadSelection& selection) {
  const int64_t num_tokens = std::max<int64_t>(hidden.num_tokens, 0);
  std::vector<int32_t> ids(num_tokens);
  std::vector<float> logits(num_tokens);
  SHORTLIST_RETURN_IF_ERROR(TopK(hidden, selection, /*k=*/1, /*draws=*/{},
                                 {ids.data(), logits.data(), /*log_sum_exp=*/nullptr}));
  std::vector<Best> best(num_tokens);
  for (int64_t m = 0; m < num_tokens; ++m) best[m] = {TokenId{ids[m]}, logits[m]};
  return best;
}

absl::StatusOr<std::vector<PrunedHead::Best>> PrunedHead::TopK(HeadInput hidden,
                                                               const HeadSelection& selection,
                                                               int64_t k, const HeadDraws& draws) {
  SHORTLIST_RETURN_IF_ERROR(CheckK(selection, hidden.num_tokens, k));
  const int64_t num_tokens = std::max<int64_t>(hidden.num_tokens, 0);
  std::vector<int32_t> ids(num_tokens * k);
  std::vector<float> logits(num_tokens * k), log_sum_exp(num_tokens);
  SHORTLIST_RETURN_IF_ERROR(
      TopK(hidden, selection, k, draws, {ids.data(), logits.data(), log_sum_exp.data()}));
  std::vector<Best> best(num_tokens * k);
  for (int64_t i = 0; i < num_tokens * k; ++i) {
    best[i] = {TokenId{ids[i]}, logits[i], ProbabilityOf(logits[i], log_sum_exp[i / k])};
  }
  return best;
}

absl::Status PrunedHead::TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                              const HeadDraws& draws, const Targets& targets) {
  SHORTLIST_RETURN_IF_ERROR(Check(hidden, selection));
  SHORTLIST_RETURN_IF_ERROR(CheckK(selection, hidden.num_tokens, k));
  SHORTLIST_RETURN_IF_ERROR(CheckDraws(draws, hidden.num_tokens));
  return scorer_->TopK(hidden, selection, k, draws, targets.ids, targets.logits,
                       targets.log_sum_exp);
}

absl::Status PrunedHead::CheckK(const HeadSelection& selection, int64_t num_tokens,
                                int64_t k) const {
  if (k < 1 || k > kMaxTopK) {
    return absl::InvalidArgumentError(absl::StrCat("k ", k, " not in [1, ", kMaxTopK, "]"));
  }
  const bool full = selection.active.is_full_head();
  for (int64_t m = 0; m < num_tokens; ++m) {
    const bool has_tail = !full && m < std::ssize(selection.tails);
    const int64_t tail = has_tail ? std::ssize(selection.tails[m]) : 0;
    const int64_t rows = (full ? num_rows_ : selection.active.size()) + tail;
    if (k <= rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("k ", k, " passes the ", rows, " rows of token ", m));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> PrunedHead::RowLogits(HeadInput hidden,
                                                         std::span<const TokenId> ids) {
  SHORTLIST_RETURN_IF_ERROR(CheckStates(hidden));
  if (std::ssize(ids) != hidden.num_tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: ", ids.size(), " ids for ", hidden.num_tokens, " tokens"));
  }
  for (TokenId id : ids) {
    if (Raw(id) < 0 || Raw(id) >= scorer_->vocab_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("LM head: token id ", Raw(id), " not in [0, ", scorer_->vocab_size(), ")"));
    }
    if (head_rows_ == nullptr || head_rows_->RowOf(id) >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "LM head: token id ", Raw(id), " has none of the ", head_rows_->size(), " rows"));
  }
  std::vector<float> logits(ids.size());
  SHORTLIST_RETURN_IF_ERROR(scorer_->RowLogits(hidden, ids, logits.data()));
  return logits;
}

}  // namespace shortlist
