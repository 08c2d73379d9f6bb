#ifndef SHORTLIST_HEAD_HEAD_KERNELS_H_
#define SHORTLIST_HEAD_HEAD_KERNELS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/head_args.h"
#include "kernels/cuda/sketch_args.h"

namespace shortlist {

/// The head's kernels of kernels/cuda/ on one device: a GPU runs them, or in tests an emulator on
/// the host. Pointers in arguments are of that device.
///
/// Calls queue their work on the device's current stream, behind ATen's copies and before the next.
/// InvalidArgument names the reason of a refusal: nothing is launched then; Internal tells what the
/// device reported, maybe of earlier work; ATen's exceptions pass through.
class HeadKernels {
 public:
  virtual ~HeadKernels() = default;

  virtual at::Device device() const = 0;
  /// As PrepareHeadStatesCuda (kernels/cuda/head.h).
  virtual absl::Status PrepareStates(RowFormat format, int64_t hidden, const float* x,
                                     const HeadStates& states) = 0;
  /// As HeadLogitsCuda.
  virtual absl::Status Logits(const CudaHeadArgs& args, float* logits, int64_t stride) = 0;
  /// As HeadTopKCuda.
  virtual absl::Status TopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                            const HeadTopKOutputs& out) = 0;
  /// As SketchSelectCuda (kernels/cuda/sketch.h).
  virtual absl::Status SelectSketch(const CudaSketchArgs& args) = 0;
};

/// The kernels on the first CUDA device. FailedPrecondition says what is missing: CUDA in this
/// build, a driver, a device, or one of a kind that the kernels are compiled for.
absl::StatusOr<std::shared_ptr<HeadKernels>> OpenCudaHeadKernels();

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_HEAD_KERNELS_H_
