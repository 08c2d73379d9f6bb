#include "kernels/cuda/device.cuh"
#include "kernels/cuda/sketch.h"
#include "kernels/cuda/sketch_kernel.h"

namespace shortlist {
namespace {

__global__ void __launch_bounds__(kSketchThreads)
    ChunkKernel(const __grid_constant__ CudaSketchJob job) {
  __shared__ __align__(64) uint8_t shared[sizeof(SketchChunkShared)];
  ChooseInChunk<CudaDevice>(job, reinterpret_cast<SketchChunkShared*>(shared));
}

__global__ void __launch_bounds__(kSketchThreads)
    ChooseKernel(const __grid_constant__ CudaSketchJob job) {
  __shared__ SketchShared shared;
  ChooseOfToken<CudaDevice>(job, &shared);
}

}  // namespace

cudaError_t SketchSelectCuda(const CudaSketchArgs& args, void* workspace, int64_t workspace_bytes,
                             cudaStream_t stream) {
  if (SketchProblem(args) != nullptr) return cudaErrorInvalidValue;
  if (args.num_tokens == 0) return cudaSuccess;
  if (workspace == nullptr || reinterpret_cast<uintptr_t>(workspace) % 4 != 0 ||
      workspace_bytes < SketchWorkspaceBytes(args)) {
    return cudaErrorInvalidValue;
  }
  CudaSketchJob job{args, SketchNumCandidates(args), static_cast<uint32_t*>(workspace), nullptr};
  job.candidate_ids =
      reinterpret_cast<int32_t*>(job.candidate_keys + args.num_tokens * job.num_candidates);
  ChunkKernel<<<static_cast<unsigned>(SketchNumChunks(args)), kSketchThreads, 0, stream>>>(job);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  ChooseKernel<<<static_cast<unsigned>(args.num_tokens), kSketchThreads, 0, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace shortlist
