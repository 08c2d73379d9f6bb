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

/// An LM head, the target's or a draft's, over libtorch's tensors: a PrunedHead on the device where
/// the rows lie.
///
/// What crosses to a device and back: the rows once (DeviceRows); the ids of rows when they
/// change; of a call, its tails and draws, and 2 words a token (Argmax), 2k + 1 (TopK) or its
/// logits (Logits). Hidden states are the caller's to move.
///
/// Not thread-safe.
class LmHead {
 public:
  /// On the CPU. weight: [vocab_size, hidden] bf16, f16 or f32, contiguous, in host memory; kept by
  /// reference. The full head scores rows 0 .. num_rows - 1. InvalidArgument names the property
  /// that does not fit.
  static absl::StatusOr<LmHead> Create(const at::Tensor& weight, int64_t num_rows,
                                       ThreadPool& pool);
  /// The same over a model's head, of any dtype, whose memory must outlive this.
  static absl::StatusOr<LmHead> Create(const HeadWeight& weight, int64_t num_rows,
                                       ThreadPool& pool);
  /// On the device of `rows`. ResourceExhausted when it has no room for what a call needs.
  static absl::StatusOr<LmHead> Create(std::shared_ptr<const DeviceRows> rows, int64_t num_rows);

  static constexpr int64_t kMaxTopK = PrunedHead::kMaxTopK;

  using Selection = HeadSelection;
  using Best = PrunedHead::Best;

  // As PrunedHead's. hidden: [num_tokens, hidden()] f32, contiguous, on device(); else
  // InvalidArgument.

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
  at::Tensor owner_;  // of the weight; undefined where the caller keeps it
  at::Device device_;
};

/// Rows `rows` of a contiguous f32 matrix in host memory, in that order: [rows.size(),
/// source.size(1)].
at::Tensor GatherRows(const at::Tensor& source, std::span<const int64_t> rows);

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_LM_HEAD_H_
