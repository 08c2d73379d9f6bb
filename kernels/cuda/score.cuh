#ifndef SHORTLIST_KERNELS_CUDA_SCORE_CUH_
#define SHORTLIST_KERNELS_CUDA_SCORE_CUH_

#include <cuda_runtime_api.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/head_kernel.h"

namespace shortlist {

/// Launches the head over a job that has a plan. One translation unit for each format: they compile
/// side by side.
template <RowFormat kFormat>
cudaError_t LaunchScore(const HeadJob& job, cudaStream_t stream);

template <RowFormat kFormat, int kTokenTiles>
__global__ void __launch_bounds__(kHeadThreads, 1)
    ScoreKernel(const __grid_constant__ HeadJob job) {
  extern __shared__ __align__(128) uint8_t shared[];
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  ScoreItems<CudaDevice, kFormat, kTokenTiles, /*kBulk=*/true>(job, shared);
#else
  ScoreItems<CudaDevice, kFormat, kTokenTiles, /*kBulk=*/false>(job, shared);
#endif
}

template <RowFormat kFormat, int kTokenTiles>
cudaError_t LaunchScoreTiles(const HeadJob& job, cudaStream_t stream) {
  const auto kernel = ScoreKernel<kFormat, kTokenTiles>;
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, job.plan.shared_bytes);
  if (error != cudaSuccess) return error;
  kernel<<<job.plan.num_blocks, kHeadThreads, job.plan.shared_bytes, stream>>>(job);
  return cudaGetLastError();
}

template <RowFormat kFormat>
cudaError_t LaunchScore(const HeadJob& job, cudaStream_t stream) {
  return job.args.x.num_tokens <= kTileTokens
             ? LaunchScoreTiles<kFormat, 1>(job, stream)
             : LaunchScoreTiles<kFormat, kMaxTokenTiles>(job, stream);
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_SCORE_CUH_
