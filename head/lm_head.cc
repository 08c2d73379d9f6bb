#include "head/lm_head.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "head/cpu_head.h"
#include "head/device_head.h"
#include "kernels/quant.h"

namespace shortlist {
namespace {

/// A weight up to this size finds room in the last-level cache, most of all one that the target
/// reads in every step. There strewn rows cost little more than a stretch, and a copy would push
/// other weights out (a quarter of 16,384 rows of 512 bytes: 10 % more tokens/s without one).
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

/// exp(logit - log_sum_exp), 1 for a logit of +infinity.
float ProbabilityOf(float logit, float log_sum_exp) {
  if (std::isinf(logit)) return logit > 0.0f ? 1.0f : 0.0f;
  return std::exp(logit - log_sum_exp);
}

}  // namespace

TokenId RowIds::TokenAt(DraftId row) const {
  const int64_t s = Raw(row);
  if (active_ == nullptr) return TokenId{Raw(row)};
  return s < active_->size() ? active_->ToTokenId(row) : TokenId{tail_[s - active_->size()]};
}

void RowIds::CopyTo(std::vector<int32_t>& ids) const {
  ids.clear();
  if (active_ == nullptr) return;
  ids.insert(ids.end(), active_->rows().begin(), active_->rows().end());
  ids.insert(ids.end(), tail_.begin(), tail_.end());
}

std::optional<DraftId> RowIds::Find(TokenId id) const {
  if (active_ == nullptr) {
    if (Raw(id) >= size_) return std::nullopt;
    return DraftId{Raw(id)};
  }
  if (const std::optional<DraftId> row = active_->Find(id)) return row;
  const auto found = std::find(tail_.begin(), tail_.end(), Raw(id));
  if (found == tail_.end()) return std::nullopt;
  return DraftId{static_cast<int32_t>(active_->size() + (found - tail_.begin()))};
}

absl::StatusOr<LmHead> LmHead::OnCpu(const HeadWeight& weight, int64_t num_rows, at::Tensor owner,
                                     ThreadPool& pool) {
  SHORTLIST_RETURN_IF_ERROR(CheckNumRows(num_rows, weight.vocab_size));
  const int64_t bytes = weight.vocab_size * RowBytes(weight.dtype, weight.hidden);
  const bool packs_base = bytes > kLargestCachedBytes;
  return LmHead(std::make_unique<CpuHead>(weight, num_rows, std::move(owner), packs_base, pool),
                num_rows);
}

absl::StatusOr<LmHead> LmHead::Create(const at::Tensor& weight, int64_t num_rows,
                                      ThreadPool& pool) {
  if (!weight.defined() || weight.dim() != 2 || !weight.is_contiguous() || !weight.is_cpu()) {
    return absl::InvalidArgumentError(
        "LM head: the weight must be a contiguous [vocab_size, hidden] tensor on the CPU");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const DType dtype, HeadDType(weight));
  return OnCpu({weight.data_ptr(), dtype, weight.size(0), weight.size(1)}, num_rows, weight, pool);
}

absl::StatusOr<LmHead> LmHead::Create(const HeadWeight& weight, int64_t num_rows,
                                      ThreadPool& pool) {
  return OnCpu(weight, num_rows, /*owner=*/at::Tensor(), pool);
}

absl::StatusOr<LmHead> LmHead::Create(std::shared_ptr<const DeviceRows> rows, int64_t num_rows) {
  SHORTLIST_RETURN_IF_ERROR(CheckNumRows(num_rows, rows->vocab_size()));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<HeadScorer> head,
                             DeviceHead::Create(std::move(rows), num_rows));
  return LmHead(std::move(head), num_rows);
}

absl::Status LmHead::CheckHidden(const at::Tensor& hidden) const {
  if (!hidden.defined() || hidden.dim() != 2 || hidden.size(1) != this->hidden() ||
      hidden.scalar_type() != at::kFloat || !hidden.is_contiguous() ||
      hidden.device() != device()) {
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: hidden states must be a contiguous f32 [num_tokens, ",
                     this->hidden(), "] tensor on device ", device().str()));
  }
  return absl::OkStatus();
}

absl::Status LmHead::Check(const at::Tensor& hidden, const Selection& selection) const {
  SHORTLIST_RETURN_IF_ERROR(CheckHidden(hidden));
  const ActiveVocab& active = selection.active;
  SHORTLIST_CHECK(selection.tails.empty() ||
                  static_cast<int64_t>(selection.tails.size()) == hidden.size(0));
  // A draft may have fewer padding rows than its target, so it is the ids that must fit. The base
  // is sorted.
  const std::span<const int32_t> ids = active.rows();
  int32_t largest = active.base_size() > 0 ? ids[active.base_size() - 1] : -1;
  for (int32_t id : ids.subspan(active.base_size())) largest = std::max(largest, id);
  if (!active.is_full_head()) {
    for (const std::span<const int32_t> tail : selection.tails) {
      for (int32_t id : tail) largest = std::max(largest, id);
    }
  }
  if (largest >= scorer_->vocab_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "LM head: active token id ", largest, " for a weight of ", scorer_->vocab_size(), " rows"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenLogits> LmHead::Logits(const at::Tensor& hidden, const Selection& selection,
                                           TokenLogits storage) {
  SHORTLIST_RETURN_IF_ERROR(Check(hidden, selection));
  TokenLogits rows = std::move(storage);
  SHORTLIST_RETURN_IF_ERROR(scorer_->Logits(hidden, selection, rows.values, rows.stride));
  rows.ids.clear();
  for (int64_t m = 0; m < hidden.size(0); ++m) {
    if (selection.active.is_full_head()) {
      rows.ids.emplace_back(num_rows_);
    } else {
      rows.ids.emplace_back(selection.active, selection.tails.empty() ? std::span<const int32_t>()
                                                                      : selection.tails[m]);
    }
  }
  return rows;
}

absl::StatusOr<std::vector<LmHead::Best>> LmHead::Argmax(const at::Tensor& hidden,
                                                         const Selection& selection) {
  SHORTLIST_RETURN_IF_ERROR(Check(hidden, selection));
  const int64_t num_tokens = hidden.size(0);
  SHORTLIST_RETURN_IF_ERROR(CheckK(selection, num_tokens, /*k=*/1));
  std::vector<int32_t> ids(num_tokens);
  std::vector<float> logits(num_tokens);
  SHORTLIST_RETURN_IF_ERROR(scorer_->TopK(hidden, selection, /*k=*/1, /*draws=*/{}, ids.data(),
                                          logits.data(), /*log_sum_exp=*/nullptr));
  std::vector<Best> best(num_tokens);
  for (int64_t m = 0; m < num_tokens; ++m) best[m] = {TokenId{ids[m]}, logits[m]};
  return best;
}

absl::StatusOr<std::vector<LmHead::Best>> LmHead::TopK(const at::Tensor& hidden,
                                                       const Selection& selection, int64_t k,
                                                       const HeadDraws& draws) {
  SHORTLIST_RETURN_IF_ERROR(Check(hidden, selection));
  const int64_t num_tokens = hidden.size(0);
  SHORTLIST_RETURN_IF_ERROR(CheckK(selection, num_tokens, k));
  SHORTLIST_RETURN_IF_ERROR(CheckDraws(draws, num_tokens));
  std::vector<int32_t> ids(num_tokens * k);
  std::vector<float> logits(num_tokens * k), log_sum_exp(num_tokens);
  SHORTLIST_RETURN_IF_ERROR(
      scorer_->TopK(hidden, selection, k, draws, ids.data(), logits.data(), log_sum_exp.data()));
  std::vector<Best> best(num_tokens * k);
  for (int64_t i = 0; i < num_tokens * k; ++i) {
    best[i] = {TokenId{ids[i]}, logits[i], ProbabilityOf(logits[i], log_sum_exp[i / k])};
  }
  return best;
}

absl::Status LmHead::CheckK(const Selection& selection, int64_t num_tokens, int64_t k) const {
  if (k < 1 || k > kMaxTopK) {
    return absl::InvalidArgumentError(absl::StrCat("k ", k, " not in [1, ", kMaxTopK, "]"));
  }
  const bool full = selection.active.is_full_head();
  for (int64_t m = 0; m < num_tokens; ++m) {
    const int64_t tail = full || selection.tails.empty() ? 0 : std::ssize(selection.tails[m]);
    const int64_t rows = (full ? num_rows_ : selection.active.size()) + tail;
    if (k <= rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("k ", k, " passes the ", rows, " rows of token ", m));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> LmHead::RowLogits(const at::Tensor& hidden,
                                                     std::span<const TokenId> ids) {
  SHORTLIST_RETURN_IF_ERROR(CheckHidden(hidden));
  SHORTLIST_CHECK(static_cast<int64_t>(ids.size()) == hidden.size(0));
  for (TokenId id : ids) {
    if (Raw(id) >= 0 && Raw(id) < scorer_->vocab_size()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: token id ", Raw(id), " not in [0, ", scorer_->vocab_size(), ")"));
  }
  std::vector<float> logits(ids.size());
  SHORTLIST_RETURN_IF_ERROR(scorer_->RowLogits(hidden, ids, logits.data()));
  return logits;
}

at::Tensor GatherRows(const at::Tensor& source, std::span<const int64_t> rows) {
  const int64_t width = source.size(1);
  at::Tensor gathered = at::empty({static_cast<int64_t>(rows.size()), width}, at::kFloat);
  for (size_t m = 0; m < rows.size(); ++m) {
    std::memcpy(gathered.data_ptr<float>() + m * width, source.data_ptr<float>() + rows[m] * width,
                width * sizeof(float));
  }
  return gathered;
}

}  // namespace shortlist
