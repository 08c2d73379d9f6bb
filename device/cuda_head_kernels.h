#ifndef SHORTLIST_DEVICE_CUDA_HEAD_KERNELS_H_
#define SHORTLIST_DEVICE_CUDA_HEAD_KERNELS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "device/head_kernels.h"

namespace shortlist {

/// Opens the kernels on the first CUDA device. FailedPrecondition says what is missing: a driver, a
/// device, or kernels compiled for that device.
absl::StatusOr<std::shared_ptr<HeadKernels>> OpenCudaHeadKernels();

}  // namespace shortlist

#endif  // SHORTLIST_DEVICE_CUDA_HEAD_KERNELS_H_
