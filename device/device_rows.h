#ifndef SHORTLIST_DEVICE_DEVICE_ROWS_H_
#define SHORTLIST_DEVICE_DEVICE_ROWS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "device/head_kernels.h"
#include "head/head_on_device.h"
#include "kernels/cuda/rows.h"
#include "kernels/head.h"

namespace shortlist {

/// The rows of an LM head in device memory, in the layout of its kernels. Immutable; any number of
/// heads may share it.
class DeviceRows final : public HeadOnDevice, public std::enable_shared_from_this<DeviceRows> {
 public:
  /// Copies rows from host memory and reorders those of kernels/quant.h. InvalidArgument names what
  /// the kernels do not support: a hidden size that is not a multiple of 8 (16-bit rows) or 4
  /// (f32). ResourceExhausted if the device has too little memory.
  static absl::StatusOr<std::shared_ptr<const DeviceRows>> Copy(
      const HeadWeight& weight, std::shared_ptr<HeadKernels> kernels);

  /// Uses rows already on the device: [vocab_size, hidden] bf16, f16 or f32, contiguous, aligned to
  /// 16 bytes; kept by reference. InvalidArgument names the property that does not fit.
  static absl::StatusOr<std::shared_ptr<const DeviceRows>> Over(
      const at::Tensor& weight, std::shared_ptr<HeadKernels> kernels);

  absl::StatusOr<std::unique_ptr<HeadScorer>> NewScorer(int64_t num_rows) const override;
  absl::StatusOr<std::unique_ptr<SketchRanker>> NewSketchRanker(
      const SketchRows& rows) const override;

  HeadKernels& kernels() const { return *kernels_; }
  at::Device device() const { return kernels_->device(); }
  const RowLayout& layout() const { return layout_; }
  int64_t vocab_size() const { return vocab_size_; }
  /// [vocab_size] rows of layout().row_bytes.
  const void* data() const { return memory_.data_ptr(); }

 private:
  DeviceRows(std::shared_ptr<HeadKernels> kernels, const RowLayout& layout, int64_t vocab_size,
             at::Tensor memory)
      : kernels_(std::move(kernels)),
        layout_(layout),
        vocab_size_(vocab_size),
        memory_(std::move(memory)) {}

  const std::shared_ptr<HeadKernels> kernels_;
  const RowLayout layout_;
  const int64_t vocab_size_;
  const at::Tensor memory_;
};

/// Returns the kernels' name of a tensor's dtype f32, f16 or bf16; InvalidArgument for others.
absl::StatusOr<DType> HeadDType(const at::Tensor& weight);

}  // namespace shortlist

#endif  // SHORTLIST_DEVICE_DEVICE_ROWS_H_
