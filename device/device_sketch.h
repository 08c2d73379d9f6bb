#ifndef SHORTLIST_DEVICE_DEVICE_SKETCH_H_
#define SHORTLIST_DEVICE_DEVICE_SKETCH_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "device/head_kernels.h"
#include "head/head_on_device.h"

namespace shortlist {

/// Ranks the rows of a sketch by the kernels of kernels/cuda/sketch.h.
class DeviceSketch final : public SketchRanker {
 public:
  /// Same as HeadOnDevice::NewSketchRanker.
  static absl::StatusOr<std::unique_ptr<DeviceSketch>> Create(const SketchRows& rows,
                                                              std::shared_ptr<HeadKernels> kernels);

  absl::Status Rank(const float* queries, const SketchRace* races, int64_t num_tokens,
                    int64_t num_chosen, int32_t* ids, uint32_t* keys) override;

 private:
  explicit DeviceSketch(std::shared_ptr<HeadKernels> kernels) : kernels_(std::move(kernels)) {}

  at::Tensor Send(const void* from, int64_t bytes) const;

  const std::shared_ptr<HeadKernels> kernels_;
  at::Tensor codes_, scales_;
  SketchRows rows_;  // on the device
  std::vector<char> input_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DEVICE_DEVICE_SKETCH_H_
