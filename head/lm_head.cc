#include "head/lm_head.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "head/device_head.h"

namespace shortlist {

absl::StatusOr<LmHead> LmHead::Create(const at::Tensor& weight, int64_t num_rows,
                                      ThreadPool& pool) {
  if (!weight.defined() || weight.dim() != 2 || !weight.is_contiguous() || !weight.is_cpu()) {
    return absl::InvalidArgumentError(
        "LM head: the weight must be a contiguous [vocab_size, hidden] tensor on the CPU");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const DType dtype, HeadDType(weight));
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head, PrunedHead::Create({weight.data_ptr(), dtype,
                                                                  weight.size(0), weight.size(1)},
                                                                 num_rows, pool));
  return LmHead(std::move(head), weight, at::kCPU);
}

absl::StatusOr<LmHead> LmHead::Create(const HeadWeight& weight, int64_t num_rows,
                                      ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head, PrunedHead::Create(weight, num_rows, pool));
  return LmHead(std::move(head), /*owner=*/at::Tensor(), at::kCPU);
}

absl::StatusOr<LmHead> LmHead::Create(std::shared_ptr<const DeviceRows> rows, int64_t num_rows) {
  const at::Device device = rows->device();
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<HeadScorer> scorer,
                             DeviceHead::Create(std::move(rows), num_rows));
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head, PrunedHead::Create(std::move(scorer), num_rows));
  return LmHead(std::move(head), /*owner=*/at::Tensor(), device);
}

absl::StatusOr<HeadInput> LmHead::StatesOf(const at::Tensor& hidden) const {
  if (!hidden.defined() || hidden.dim() != 2 || hidden.size(1) != this->hidden() ||
      hidden.scalar_type() != at::kFloat || !hidden.is_contiguous() ||
      hidden.device() != device()) {
    return absl::InvalidArgumentError(
        absl::StrCat("LM head: hidden states must be a contiguous f32 [num_tokens, ",
                     this->hidden(), "] tensor on device ", device().str()));
  }
  return HeadInput{hidden.data_ptr<float>(), hidden.size(0)};
}

absl::StatusOr<TokenLogits> LmHead::Logits(const at::Tensor& hidden, const Selection& selection,
                                           TokenLogits storage) {
  SHORTLIST_ASSIGN_OR_RETURN(const HeadInput states, StatesOf(hidden));
  return head_.Logits(states, selection, std::move(storage));
}

absl::StatusOr<std::vector<LmHead::Best>> LmHead::Argmax(const at::Tensor& hidden,
                                                         const Selection& selection) {
  SHORTLIST_ASSIGN_OR_RETURN(const HeadInput states, StatesOf(hidden));
  return head_.Argmax(states, selection);
}

absl::StatusOr<std::vector<LmHead::Best>> LmHead::TopK(const at::Tensor& hidden,
                                                       const Selection& selection, int64_t k,
                                                       const HeadDraws& draws) {
  SHORTLIST_ASSIGN_OR_RETURN(const HeadInput states, StatesOf(hidden));
  return head_.TopK(states, selection, k, draws);
}

absl::StatusOr<std::vector<float>> LmHead::RowLogits(const at::Tensor& hidden,
                                                     std::span<const TokenId> ids) {
  SHORTLIST_ASSIGN_OR_RETURN(const HeadInput states, StatesOf(hidden));
  return head_.RowLogits(states, ids);
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
