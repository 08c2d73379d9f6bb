// Used instead of open_cuda.cc if SHORTLIST_CUDA is off, or there is no PyTorch with CUDA.

#include "device/open_cuda.h"

namespace shortlist {

absl::StatusOr<std::shared_ptr<const HeadDevice>> OpenCuda() {
  return absl::FailedPreconditionError(
      "this build runs on the CPU alone; building with nvcc and a PyTorch that has CUDA "
      "(README, \"CUDA\") adds the device");
}

}  // namespace shortlist
