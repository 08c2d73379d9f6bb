#include <cstdint>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/elementwise_kernel.h"
#include "kernels/cuda/head.h"
#include "kernels/cuda/select_kernel.h"
#include "kernels/cuda/states_kernel.h"

namespace shortlist {

// Defined in kernels/cuda/score_*.cu.
template <RowFormat kFormat>
cudaError_t LaunchScore(const HeadJob& job, cudaStream_t stream);
extern template cudaError_t LaunchScore<RowFormat::kBf16>(const HeadJob&, cudaStream_t);
extern template cudaError_t LaunchScore<RowFormat::kF16>(const HeadJob&, cudaStream_t);
extern template cudaError_t LaunchScore<RowFormat::kFp8>(const HeadJob&, cudaStream_t);
extern template cudaError_t LaunchScore<RowFormat::kInt8>(const HeadJob&, cudaStream_t);
extern template cudaError_t LaunchScore<RowFormat::kInt4>(const HeadJob&, cudaStream_t);
extern template cudaError_t LaunchScore<RowFormat::kF32>(const HeadJob&, cudaStream_t);

namespace {

__global__ void __launch_bounds__(kSelectThreads)
    SelectKernel(const __grid_constant__ HeadJob job) {
  __shared__ SelectShared shared;
  SelectPart<CudaDevice>(job, shared);
}

__global__ void __launch_bounds__(kSelectThreads) MergeKernel(const __grid_constant__ HeadJob job) {
  __shared__ SelectShared shared;
  MergeParts<CudaDevice>(job, shared);
}

__global__ void __launch_bounds__(kHeadThreads)
    StatesKernel(const __grid_constant__ StatesJob job) {
  __shared__ __align__(16) uint8_t shared[kHeadWarps * 4];
  PrepareState<CudaDevice>(job, shared);
}

__global__ void __launch_bounds__(kElementwiseThreads)
    ElementwiseKernel(const __grid_constant__ ElementwiseJob job) {
  __shared__ float shared[kElementwiseWarps];
  RunElementwise<CudaDevice>(job, shared);
}

/// Returns the plan for the current device.
cudaError_t Plan(const CudaHeadArgs& args, int64_t k, HeadPlan* plan) {
  int ordinal = 0, num_processors = 0;
  cudaError_t error = cudaGetDevice(&ordinal);
  if (error != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(&num_processors, cudaDevAttrMultiProcessorCount, ordinal);
  if (error != cudaSuccess) return error;
  *plan = PlanHead(args, k, num_processors);
  return cudaSuccess;
}

cudaError_t Score(const HeadJob& job, cudaStream_t stream) {
  switch (job.args.format) {
    case RowFormat::kBf16:
      return LaunchScore<RowFormat::kBf16>(job, stream);
    case RowFormat::kF16:
      return LaunchScore<RowFormat::kF16>(job, stream);
    case RowFormat::kFp8:
      return LaunchScore<RowFormat::kFp8>(job, stream);
    case RowFormat::kInt8:
      return LaunchScore<RowFormat::kInt8>(job, stream);
    case RowFormat::kInt4:
      return LaunchScore<RowFormat::kInt4>(job, stream);
    case RowFormat::kF32:
      return LaunchScore<RowFormat::kF32>(job, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t PrepareHeadStatesCuda(RowFormat format, int64_t hidden, const float* x,
                                  const HeadStates& states, cudaStream_t stream) {
  if (HeadStatesProblem(format, hidden, x, states) != nullptr) return cudaErrorInvalidValue;
  if (states.num_tokens == 0) return cudaSuccess;
  const StatesJob job{RowLayout::Of(format, hidden), x,
                      static_cast<uint8_t*>(const_cast<void*>(states.codes)),
                      const_cast<float*>(states.scales), const_cast<float*>(states.factors)};
  StatesKernel<<<static_cast<unsigned>(states.num_tokens), kHeadThreads, 0, stream>>>(job);
  return cudaGetLastError();
}

cudaError_t HeadLogitsCuda(const CudaHeadArgs& args, float* logits, int64_t stride,
                           cudaStream_t stream) {
  if (HeadLogitsProblem(args, logits, stride) != nullptr) return cudaErrorInvalidValue;
  if (args.x.num_tokens == 0) return cudaSuccess;
  HeadPlan plan;
  const cudaError_t error = Plan(args, /*k=*/0, &plan);
  if (error != cudaSuccess) return error;
  HeadJob job = MakeHeadJob(args, /*k=*/0, plan, nullptr);
  job.logits = logits;
  job.stride = stride;
  return Score(job, stream);
}

cudaError_t HeadTopKWorkspace(const CudaHeadArgs& args, int64_t k, int64_t* bytes) {
  if (HeadArgsProblem(args) != nullptr || k < 1 || k > kHeadMaxTopK) return cudaErrorInvalidValue;
  HeadPlan plan;
  const cudaError_t error = Plan(args, k, &plan);
  *bytes = plan.workspace_bytes;
  return error;
}

cudaError_t HeadTopKCuda(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                         const HeadTopKOutputs& out, void* workspace, int64_t workspace_bytes,
                         cudaStream_t stream) {
  if (HeadTopKProblem(args, k, noise, out) != nullptr) return cudaErrorInvalidValue;
  if (args.x.num_tokens == 0) return cudaSuccess;
  HeadPlan plan;
  cudaError_t error = Plan(args, k, &plan);
  if (error != cudaSuccess) return error;
  if (workspace == nullptr || reinterpret_cast<uintptr_t>(workspace) % 16 != 0 ||
      workspace_bytes < plan.workspace_bytes) {
    return cudaErrorInvalidValue;
  }
  HeadJob job = MakeHeadJob(args, k, plan, workspace);
  job.noise = noise;
  job.out = out;
  error = Score(job, stream);
  if (error != cudaSuccess) return error;
  const auto num_tokens = static_cast<unsigned>(args.x.num_tokens);
  SelectKernel<<<num_tokens * plan.num_parts, kSelectThreads, 0, stream>>>(job);
  if (plan.num_parts > 1) MergeKernel<<<num_tokens, kSelectThreads, 0, stream>>>(job);
  return cudaGetLastError();
}

cudaError_t HeadRunsOn(int device) {
  int before = 0;
  cudaError_t error = cudaGetDevice(&before);
  if (error == cudaSuccess) error = cudaSetDevice(device);
  if (error != cudaSuccess) return error;
  cudaFuncAttributes attributes;
  error = cudaFuncGetAttributes(&attributes, MergeKernel);
  const cudaError_t restored = cudaSetDevice(before);
  return error != cudaSuccess ? error : restored;
}

cudaError_t ElementwiseCuda(const ElementwiseJob& job, cudaStream_t stream) {
  if (ElementwiseProblem(job) != nullptr) return cudaErrorInvalidValue;
  if (job.num_tokens == 0) return cudaSuccess;
  ElementwiseKernel<<<static_cast<unsigned>(ElementwiseBlocks(job)), kElementwiseThreads, 0,
                      stream>>>(job);
  return cudaGetLastError();
}

}  // namespace shortlist
