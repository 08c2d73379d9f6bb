#include "device/open_cuda.h"

#include <utility>

#include "base/status_macros.h"
#include "device/cuda_head_kernels.h"
#include "device/device_rows.h"

namespace shortlist {
namespace {

class CudaDevice final : public HeadDevice {
 public:
  explicit CudaDevice(std::shared_ptr<HeadKernels> kernels) : kernels_(std::move(kernels)) {}

  absl::StatusOr<std::shared_ptr<const HeadOnDevice>> Copy(
      const HeadWeight& weight) const override {
    return DeviceRows::Copy(weight, kernels_);
  }

 private:
  const std::shared_ptr<HeadKernels> kernels_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const HeadDevice>> OpenCuda() {
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<HeadKernels> kernels, OpenCudaHeadKernels());
  return std::make_shared<CudaDevice>(std::move(kernels));
}

}  // namespace shortlist
