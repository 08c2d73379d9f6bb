#ifndef SHORTLIST_TESTS_DEVICE_TENSOR_HEAD_H_
#define SHORTLIST_TESTS_DEVICE_TENSOR_HEAD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "device/device_rows.h"
#include "head/pruned_head.h"
#include "kernels/head.h"

namespace shortlist {

/// A PrunedHead whose weight and hidden states are ATen's tensors, which tests compare with.
class TensorHead {
 public:
  /// Scores on the CPU. weight: [vocab_size, hidden] bf16, f16 or f32, contiguous.
  static absl::StatusOr<TensorHead> Create(const at::Tensor& weight, int64_t num_rows,
                                           ThreadPool& pool);
  /// Scores a head of any dtype on the CPU. The weight's memory must outlive the head.
  static absl::StatusOr<TensorHead> Create(const HeadWeight& weight, int64_t num_rows,
                                           ThreadPool& pool);
  /// Scores on the device of `rows`.
  static absl::StatusOr<TensorHead> Create(const std::shared_ptr<const DeviceRows>& rows,
                                           int64_t num_rows);

  static constexpr int64_t kMaxTopK = PrunedHead::kMaxTopK;
  using Selection = HeadSelection;
  using Best = PrunedHead::Best;

  // Same as the members of PrunedHead. hidden: [num_tokens, hidden()].

  absl::StatusOr<TokenLogits> Logits(const at::Tensor& hidden, const Selection& selection,
                                     TokenLogits storage = {});
  absl::StatusOr<std::vector<Best>> Argmax(const at::Tensor& hidden, const Selection& selection);
  absl::StatusOr<std::vector<Best>> TopK(const at::Tensor& hidden, const Selection& selection,
                                         int64_t k, const HeadDraws& draws = {});
  absl::StatusOr<std::vector<float>> RowLogits(const at::Tensor& hidden,
                                               std::span<const TokenId> ids);

  int64_t vocab_size() const { return head_.vocab_size(); }
  int64_t hidden() const { return head_.hidden(); }

 private:
  TensorHead(PrunedHead head, at::Tensor owner)
      : head_(std::move(head)), owner_(std::move(owner)) {}

  /// Keeps the states in `states_`.
  HeadInput StatesOf(const at::Tensor& hidden);

  PrunedHead head_;
  at::Tensor owner_;  // of the weight; undefined if the caller keeps it
  at::Tensor states_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_DEVICE_TENSOR_HEAD_H_
