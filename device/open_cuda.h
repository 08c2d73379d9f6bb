#ifndef SHORTLIST_DEVICE_OPEN_CUDA_H_
#define SHORTLIST_DEVICE_OPEN_CUDA_H_

#include <memory>

#include "absl/status/statusor.h"
#include "head/head_on_device.h"

namespace shortlist {

/// Opens the first CUDA device. FailedPrecondition says what is missing: CUDA in this build, a
/// driver, a device, or kernels compiled for that device.
absl::StatusOr<std::shared_ptr<const HeadDevice>> OpenCuda();

}  // namespace shortlist

#endif  // SHORTLIST_DEVICE_OPEN_CUDA_H_
