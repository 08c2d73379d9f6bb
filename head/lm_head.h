#ifndef SHORTLIST_HEAD_LM_HEAD_H_
#define SHORTLIST_HEAD_LM_HEAD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "head/device_rows.h"
#include "head/pruned_head.h"
#include "kernels/head.h"

namespace shortlist {

/// An LM head, the target's or a draft's, for libtorch's tensors: a PrunedHead on the device that
/// holds the rows.
///
/// Copied to a device and back: the rows once (DeviceRows); the ids of rows when they change; for a
/// call, its tails and draws, and 2 words a token (Argmax), 2k + 1 (TopK) or its logits (Logits).
/// The caller moves hidden states.
///
/// Not thread-safe.
class LmHead {
 public:
  /// Scores on the CPU. weight: [vocab_size, hidden] bf16, f16 or f32, contiguous, in host memory;
  /// kept by reference. The full head scores rows 0 .. num_rows - 1. InvalidArgument names the
  /// property that does not fit.
  static absl::StatusOr<LmHead> Create(const at::Tensor& weight, int64_t num_rows,
                                       ThreadPool& pool);
  /// Scores a model's head on the CPU, of any dtype. The weight's memory must outlive the head.
  static absl::StatusOr<LmHead> Create(const HeadWeight& weight, int64_t num_rows,
                                       ThreadPool& pool);
  /// Scores on the device of `rows`. ResourceExhausted if it has too little memory for a call.
  static absl::StatusOr<LmHead> Create(std::shared_ptr<const DeviceRows> rows, int64_t num_rows);

  static constexpr int64_t kMaxTopK = PrunedHead::kMaxTopK;

  using Selection = HeadSelection;
  using Best = PrunedHead::Best;

  // Same as the members of PrunedHead. hidden: [num_tokens, hidden()] f32, contiguous, on device();
  // else InvalidArgument.

  absl::StatusOr<TokenLogits> Logits(const at::Tensor& hidden, const Selection& selection,
                                     TokenLogits storage = {});
  absl::StatusOr<std::vector<Best>> Argmax(const at::Tensor& hidden, const Selection& selection);
  absl::StatusOr<std::vector<Best>> TopK(const at::Tensor& hidden, const Selection& selection,
                                         int64_t k, const HeadDraws& draws = {});
  absl::StatusOr<std::vector<float>> RowLogits(const at::Tensor& hidden,
                                               std::span<const TokenId> ids);

  at::Device device() const { return device_; }
  int64_t vocab_size() const { return head_.vocab_size(); }  // rows of the weight
  int64_t hidden() const { return head_.hidden(); }

 private:
  LmHead(PrunedHead head, at::Tensor owner, at::Device device)
      : head_(std::move(head)), owner_(std::move(owner)), device_(device) {}

  absl::StatusOr<HeadInput> StatesOf(const at::Tensor& hidden) const;

  PrunedHead head_;
  at::Tensor owner_;  // of the weight; undefined if the caller keeps it
  at::Device device_;
};

/// Returns rows `rows` of a contiguous f32 matrix in host memory, in that order: [rows.size(),
/// source.size(1)].
at::Tensor GatherRows(const at::Tensor& source, std::span<const int64_t> rows);

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_LM_HEAD_H_
