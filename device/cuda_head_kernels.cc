#include "device/cuda_head_kernels.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/head.h"
#include "kernels/cuda/head_plan.h"
#include "kernels/cuda/sketch.h"

namespace shortlist {
namespace {

absl::Status Outcome(cudaError_t error) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("CUDA: ", cudaGetErrorString(error)));
}

absl::Status Refusal(const char* problem) {
  return absl::InvalidArgumentError(absl::StrCat("CUDA head: ", problem));
}

/// Runs on PyTorch's current stream, with workspaces from its caching allocator.
class CudaHeadKernels final : public HeadKernels {
 public:
  at::Device device() const override { return {at::kCUDA, 0}; }

  absl::Status PrepareStates(RowFormat format, int64_t hidden, const float* x,
                             const HeadStates& states) override {
    if (const char* problem = HeadStatesProblem(format, hidden, x, states)) return Refusal(problem);
    const c10::cuda::CUDAGuard guard(device());
    return Outcome(PrepareHeadStatesCuda(format, hidden, x, states, Stream()));
  }

  absl::Status Logits(const CudaHeadArgs& args, float* logits, int64_t stride) override {
    if (const char* problem = HeadLogitsProblem(args, logits, stride)) return Refusal(problem);
    const c10::cuda::CUDAGuard guard(device());
    return Outcome(HeadLogitsCuda(args, logits, stride, Stream()));
  }

  absl::Status TopK(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                    const HeadTopKOutputs& out) override {
    if (const char* problem = HeadTopKProblem(args, k, noise, out)) return Refusal(problem);
    const c10::cuda::CUDAGuard guard(device());
    int64_t bytes = 0;
    if (const absl::Status status = Outcome(HeadTopKWorkspace(args, k, &bytes)); !status.ok()) {
      return status;
    }
    const at::Tensor workspace = at::empty({bytes}, at::TensorOptions(device()).dtype(at::kByte));
    return Outcome(HeadTopKCuda(args, k, noise, out, workspace.data_ptr(), bytes, Stream()));
  }

  absl::Status SelectSketch(const CudaSketchArgs& args) override {
    if (const char* problem = SketchProblem(args)) return Refusal(problem);
    const c10::cuda::CUDAGuard guard(device());
    const int64_t bytes = SketchWorkspaceBytes(args);
    const at::Tensor workspace = at::empty({bytes}, at::TensorOptions(device()).dtype(at::kByte));
    return Outcome(SketchSelectCuda(args, workspace.data_ptr(), bytes, Stream()));
  }

 private:
  cudaStream_t Stream() const { return c10::cuda::getCurrentCUDAStream(device().index()).stream(); }
};

}  // namespace

absl::StatusOr<std::shared_ptr<HeadKernels>> OpenCudaHeadKernels() {
  int num_devices = 0;
  cudaError_t error = cudaGetDeviceCount(&num_devices);
  if (error == cudaSuccess && num_devices == 0) error = cudaErrorNoDevice;
  if (error != cudaSuccess) {
    return absl::FailedPreconditionError(
        absl::StrCat("no CUDA device can be used: ", cudaGetErrorString(error)));
  }
  if (!at::hasCUDA()) return absl::FailedPreconditionError("this PyTorch has no CUDA");
  if (error = HeadRunsOn(/*device=*/0); error != cudaSuccess) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the first CUDA device does not run this build's kernels: ", cudaGetErrorString(error)));
  }
  return std::make_shared<CudaHeadKernels>();
}

}  // namespace shortlist
