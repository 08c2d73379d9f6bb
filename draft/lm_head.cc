#include "draft/lm_head.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "kernels/quant.h"

namespace shortlist {

TokenId SlotIds::TokenAt(DraftId slot) const {
  const int64_t s = Raw(slot);
  if (active_ == nullptr) return TokenId{Raw(slot)};
  return s < active_->size() ? active_->ToTokenId(slot) : TokenId{tail_[s - active_->size()]};
}

void SlotIds::CopyTo(std::vector<int32_t>& ids) const {
  ids.clear();
  if (active_ == nullptr) return;
  ids.insert(ids.end(), active_->rows().begin(), active_->rows().end());
  ids.insert(ids.end(), tail_.begin(), tail_.end());
}

std::optional<DraftId> SlotIds::Find(TokenId id) const {
  if (active_ == nullptr) {
    if (Raw(id) >= size_) return std::nullopt;
    return DraftId{Raw(id)};
  }
  if (const std::optional<DraftId> slot = active_->Find(id)) return slot;
  const auto found = std::find(tail_.begin(), tail_.end(), Raw(id));
  if (found == tail_.end()) return std::nullopt;
  return DraftId{static_cast<int32_t>(active_->size() + (found - tail_.begin()))};
}

absl::StatusOr<LmHead> LmHead::Create(const at::Tensor& weight, int64_t num_rows,
                                      ThreadPool& pool) {
  if (!weight.defined() || weight.dim() != 2 || !weight.is_contiguous() || !weight.is_cpu()) {
    return absl::InvalidArgumentError(
        "LM head: the weight must be a contiguous [vocab_size, hidden] tensor on the CPU");
  }
  DType dtype;
  switch (weight.scalar_type()) {
    case at::kFloat:
      dtype = DType::kF32;
      break;
    case at::kHalf:
      dtype = DType::kF16;
      break;
    case at::kBFloat16:
      dtype = DType::kBf16;
      break;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "LM head: dtype ", c10::toString(weight.scalar_type()), " is not one of f32, f16, bf16"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      LmHead head,
      Create(HeadWeight{weight.data_ptr(), dtype, weight.size(0), weight.size(1)}, num_rows, pool));
  head.tensor_ = weight;
  return head;
}

absl::StatusOr<LmHead> LmHead::Create(const HeadWeight& weight, int64_t num_rows,
                                      ThreadPool& pool) {
  if (num_rows < 1 || num_rows > weight.vocab_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: ", num_rows, " rows not in [1, ", weight.vocab_size, "]"));
  }
  return LmHead(weight, num_rows, pool);
}

absl::StatusOr<HeadArgs> LmHead::Arguments(const at::Tensor& hidden, const Selection& selection) {
  if (!hidden.defined() || hidden.dim() != 2 || hidden.size(1) != this->hidden() ||
      hidden.scalar_type() != at::kFloat || !hidden.is_contiguous() || !hidden.is_cpu()) {
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: hidden states must be a contiguous f32 [num_tokens, ",
                     this->hidden(), "] tensor on the CPU"));
  }
  const ActiveVocab& active = selection.active;
  // A draft may have fewer padding rows than its target, so it is the ids that must fit. The base
  // is sorted.
  const std::span<const int32_t> ids = active.rows();
  int32_t largest = active.base_size() > 0 ? ids[active.base_size() - 1] : -1;
  for (int32_t id : ids.subspan(active.base_size())) largest = std::max(largest, id);
  if (largest >= weight_.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "LM head: active token id ", largest, " for a weight of ", weight_.vocab_size, " rows"));
  }
  HeadArgs args;
  args.weight = weight_.rows;
  args.dtype = weight_.dtype;
  args.vocab_size = weight_.vocab_size;
  args.hidden = this->hidden();
  args.x = hidden.data_ptr<float>();
  args.num_tokens = hidden.size(0);
  if (active.empty()) {
    args.num_rows = num_rows_;
    return args;
  }
  PackBase(active);
  args.row_ids = active.rows().data();
  args.num_rows = active.size();
  args.packed = packed_.data();
  args.num_packed = active.base_size();
  if (!selection.tails.empty()) {
    SHORTLIST_CHECK(static_cast<int64_t>(selection.tails.size()) == args.num_tokens);
    tail_indptr_.assign(1, 0);
    tail_ids_.clear();
    for (const RequestTail* tail : selection.tails) {
      tail_ids_.insert(tail_ids_.end(), tail->ids().begin(), tail->ids().end());
      tail_indptr_.push_back(static_cast<int32_t>(tail_ids_.size()));
    }
    args.tail_indptr = tail_indptr_.data();
    args.tail_ids = tail_ids_.data();
  }
  return args;
}

void LmHead::PackBase(const ActiveVocab& active) {
  if (packed_base_ == active.base()) return;
  const int64_t row_bytes = RowBytes(weight_.dtype, hidden());
  const std::span<const int32_t> ids = active.base()->ids();
  packed_ = Arena(static_cast<int64_t>(ids.size()) * row_bytes);
  const char* from = static_cast<const char*>(weight_.rows);
  char* to = static_cast<char*>(packed_.data());
  for (size_t slot = 0; slot < ids.size(); ++slot) {
    std::memcpy(to + slot * row_bytes, from + ids[slot] * row_bytes, row_bytes);
  }
  packed_base_ = active.base();
}

absl::StatusOr<LogitRows> LmHead::Logits(const at::Tensor& hidden, const Selection& selection,
                                         LogitRows storage) {
  SHORTLIST_ASSIGN_OR_RETURN(const HeadArgs args, Arguments(hidden, selection));
  LogitRows rows = std::move(storage);
  rows.stride = HeadMaxSlots(args);
  const auto size = static_cast<size_t>(args.num_tokens * rows.stride);
  if (rows.values.size() < size) rows.values.resize(size);
  rows.ids.clear();
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    if (selection.active.empty()) {
      rows.ids.emplace_back(num_rows_);
    } else {
      rows.ids.emplace_back(selection.active, selection.tails.empty() ? std::span<const int32_t>()
                                                                      : selection.tails[m]->ids());
    }
  }
  HeadLogitsCpu(args, rows.values.data(), rows.stride, *pool_);
  return rows;
}

absl::StatusOr<std::vector<LmHead::Best>> LmHead::Argmax(const at::Tensor& hidden,
                                                         const Selection& selection) {
  SHORTLIST_ASSIGN_OR_RETURN(const HeadArgs args, Arguments(hidden, selection));
  std::vector<int32_t> ids(args.num_tokens);
  std::vector<float> logits(args.num_tokens);
  HeadArgmaxCpu(args, ids.data(), logits.data(), *pool_);
  std::vector<Best> best(args.num_tokens);
  for (int64_t m = 0; m < args.num_tokens; ++m) best[m] = {TokenId{ids[m]}, logits[m]};
  return best;
}

absl::StatusOr<std::vector<LmHead::Best>> LmHead::ArgmaxWithProbability(
    const at::Tensor& hidden, const Selection& selection) {
  SHORTLIST_ASSIGN_OR_RETURN(const HeadArgs args, Arguments(hidden, selection));
  std::vector<int32_t> ids(args.num_tokens);
  std::vector<float> logits(args.num_tokens), log_sum_exp(args.num_tokens);
  HeadTopKCpu(args, /*k=*/1, ids.data(), logits.data(), log_sum_exp.data(), *pool_);
  std::vector<Best> best(args.num_tokens);
  for (int64_t m = 0; m < args.num_tokens; ++m) {
    best[m] = {TokenId{ids[m]}, logits[m], std::exp(logits[m] - log_sum_exp[m])};
  }
  return best;
}

float LmHead::RowLogit(const float* hidden, TokenId id) const {
  const char* rows = static_cast<const char*>(weight_.rows);
  const int64_t row_bytes = RowBytes(weight_.dtype, this->hidden());
  return HeadDotCpu(rows + Raw(id) * row_bytes, weight_.dtype, hidden, this->hidden());
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
