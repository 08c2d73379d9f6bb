// Used instead of cuda_head_kernels.cc if SHORTLIST_CUDA is off or PyTorch has no CUDA.

#include "device/head_kernels.h"

namespace shortlist {

absl::StatusOr<std::shared_ptr<HeadKernels>> OpenCudaHeadKernels() {
  return absl::FailedPreconditionError(
      "this build runs on the CPU alone; building with nvcc and a PyTorch that has CUDA "
      "(README, \"CUDA\") adds the device");
}

}  // namespace shortlist
