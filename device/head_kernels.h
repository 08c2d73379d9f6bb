#ifndef SHORTLIST_DEVICE_HEAD_KERNELS_H_
#define SHORTLIST_DEVICE_HEAD_KERNELS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cuda/head_args.h"
#include "kernels/cuda/sketch_args.h"

namespace shortlist {

/// The head's kernels of kernels/cuda/ on one device: a GPU, or in tests an emulator on the host.
/// Pointers in arguments are of that device.
///
/// Calls enqueue work on the device's current stream, after ATen's earlier copies and before later
/// ones. InvalidArgument names the reason of a rejection; nothing is launched then. Internal
/// reports a device error, possibly of earlier work. ATen's exceptions pass through.
class HeadKernels {
 public:
  virtual ~HeadKernels() = default;

  virtual at::Device device() const = 0;
  /// Same as PrepareHeadStatesCuda (kernels/cuda/head.h).
  virtual absl::Status PrepareStates(RowFormat format, int64_t hidden, const float* x,
                                     const HeadStates& states) = 0;
  /// Same as HeadLogitsCuda (kernels/cuda/head.h).
  virtual absl::Status Logits(const CudaHeadArgs& args, float* logits, int64_t stride) = 0;
  /// Same as HeadTopKCuda (kernels/cuda/head.h).
  virtual absl::Status TopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                            const HeadTopKOutputs& out) = 0;
  /// Same as SketchSelectCuda (kernels/cuda/sketch.h).
  virtual absl::Status SelectSketch(const CudaSketchArgs& args) = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DEVICE_HEAD_KERNELS_H_
