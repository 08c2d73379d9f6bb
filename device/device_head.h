#ifndef SHORTLIST_DEVICE_DEVICE_HEAD_H_
#define SHORTLIST_DEVICE_DEVICE_HEAD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "device/device_rows.h"
#include "device/device_selection.h"
#include "head/head_scorer.h"

namespace shortlist {

/// Scores by the kernels of kernels/cuda/, kHeadMaxTokens tokens at a time. Row ids are in the
/// DeviceSelections of the kMaxResident most recent bases, each replaced by a larger one when a set
/// outgrows it.
class DeviceHead final : public HeadScorer {
 public:
  static constexpr int64_t kMaxResident = 4;

  /// The full head scores rows 0 .. num_rows - 1, num_rows in [1, rows->vocab_size()].
  static absl::StatusOr<std::unique_ptr<DeviceHead>> Create(std::shared_ptr<const DeviceRows> rows,
                                                            int64_t num_rows);

  int64_t vocab_size() const override { return rows_->vocab_size(); }
  int64_t hidden() const override { return rows_->layout().hidden; }

  absl::Status Logits(HeadInput hidden, const HeadSelection& selection, std::vector<float>& logits,
                      int64_t& stride) override;
  absl::Status TopK(HeadInput hidden, const HeadSelection& selection, int64_t k,
                    const HeadDraws& draws, int32_t* ids, float* logits,
                    float* log_sum_exp) override;
  absl::Status RowLogits(HeadInput hidden, std::span<const TokenId> ids, float* logits) override;

 private:
  DeviceHead(std::shared_ptr<const DeviceRows> rows, int64_t num_rows)
      : rows_(std::move(rows)), num_rows_(num_rows) {}

  void Allocate();
  /// Returns the DeviceSelection of the selection's base, with enough capacity; null for the full
  /// head, which needs none.
  DeviceSelection* MakeRoom(const HeadSelection& selection);
  using Body = absl::FunctionRef<absl::Status(CudaHeadArgs& args, int64_t first)>;
  /// Calls `body` for each kHeadMaxTokens tokens, beginning at token `first`, with prepared states.
  /// In `args`, weight and states are set.
  absl::Status ForTokens(HeadInput hidden, Body body);
  /// Sets the rows of args.x.num_tokens tokens from `first` on.
  absl::Status AddSelection(const HeadSelection& selection, DeviceSelection* resident,
                            int64_t first, CudaHeadArgs& args);
  /// Waits for the device and returns the first `count` words of the results. Internal if the
  /// device flagged input that the checks on the host should have rejected.
  absl::StatusOr<const int32_t*> Fetch(int64_t count);
  /// Copies the noise of `draws` to the device.
  HeadNoise SendDraws(std::span<const HeadDraw> draws, uint32_t stream);
  int32_t* results() const { return words_.data_ptr<int32_t>() + 1; }

  const std::shared_ptr<const DeviceRows> rows_;
  const int64_t num_rows_;
  struct Resident {
    std::shared_ptr<const VocabBase> base;
    DeviceSelection selection;
  };
  std::vector<Resident> residents_;      // most recently used first
  at::Tensor states_;                    // [kHeadMaxTokens, hidden] f32
  at::Tensor codes_, scales_, factors_;  // HeadStates of kHeadMaxTokens tokens
  at::Tensor words_;                     // i32: the word of HeadErrorBits, then results
  at::Tensor host_;                      // the last fetched part of words_
  at::Tensor draws_;                     // bytes: the noise of kHeadMaxTokens tokens
  at::Tensor row_tails_;                 // i32: an indptr of one id for each token, then those ids
};

}  // namespace shortlist

#endif  // SHORTLIST_DEVICE_DEVICE_HEAD_H_
