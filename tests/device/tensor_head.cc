#include "tests/device/tensor_head.h"

#include <ATen/ATen.h>

#include "base/status_macros.h"

namespace shortlist {

absl::StatusOr<TensorHead> TensorHead::Create(const at::Tensor& weight, int64_t num_rows,
                                              ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(const DType dtype, HeadDType(weight));
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head, PrunedHead::Create({weight.data_ptr(), dtype,
                                                                  weight.size(0), weight.size(1)},
                                                                 num_rows, pool));
  return TensorHead(std::move(head), weight);
}

absl::StatusOr<TensorHead> TensorHead::Create(const HeadWeight& weight, int64_t num_rows,
                                              ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head, PrunedHead::Create(weight, num_rows, pool));
  return TensorHead(std::move(head), /*owner=*/at::Tensor());
}

absl::StatusOr<TensorHead> TensorHead::Create(const std::shared_ptr<const DeviceRows>& rows,
                                              int64_t num_rows) {
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<HeadScorer> scorer, rows->NewScorer(num_rows));
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head, PrunedHead::Create(std::move(scorer), num_rows));
  return TensorHead(std::move(head), /*owner=*/at::Tensor());
}

HeadInput TensorHead::StatesOf(const at::Tensor& hidden) {
  states_ = hidden.to(at::kCPU, at::kFloat).contiguous();
  SHORTLIST_CHECK(states_.dim() == 2 && states_.size(1) == this->hidden());
  return {states_.data_ptr<float>(), states_.size(0)};
}

absl::StatusOr<TokenLogits> TensorHead::Logits(const at::Tensor& hidden, const Selection& selection,
                                               TokenLogits storage) {
  return head_.Logits(StatesOf(hidden), selection, std::move(storage));
}

absl::StatusOr<std::vector<TensorHead::Best>> TensorHead::Argmax(const at::Tensor& hidden,
                                                                 const Selection& selection) {
  return head_.Argmax(StatesOf(hidden), selection);
}

absl::StatusOr<std::vector<TensorHead::Best>> TensorHead::TopK(const at::Tensor& hidden,
                                                               const Selection& selection,
                                                               int64_t k, const HeadDraws& draws) {
  return head_.TopK(StatesOf(hidden), selection, k, draws);
}

absl::StatusOr<std::vector<float>> TensorHead::RowLogits(const at::Tensor& hidden,
                                                         std::span<const TokenId> ids) {
  return head_.RowLogits(StatesOf(hidden), ids);
}

}  // namespace shortlist
