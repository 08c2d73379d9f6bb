#ifndef SHORTLIST_KERNELS_CUDA_SCORE_CUH_
#define SHORTLIST_KERNELS_CUDA_SCORE_CUH_

#include <cuda_runtime_api.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/head_kernel.h"

namespace shortlist {

/// Launches the head for a job that has a plan. Each format has its own translation unit, so that
/// they compile in parallel.
template <RowFormat kFormat>
cudaError_t LaunchScore(const HeadJob& job, cudaStream_t stream);

template <RowFormat kFormat, int kRowTiles, int kTokenTiles>
__global__ void __launch_bounds__(kHeadThreads, kProcessorBlocks)
    ScoreKernel(const __grid_constant__ HeadJob job) {
  extern __shared__ __align__(16) uint8_t shared[];
  ScoreItems<CudaDevice, kFormat, kRowTiles, kTokenTiles>(job, shared);
}

template <RowFormat kFormat, int kRowTiles, int kTokenTiles>
cudaError_t LaunchScoreTiles(const HeadJob& job, cudaStream_t stream) {
  const auto kernel = ScoreKernel<kFormat, kRowTiles, kTokenTiles>;
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, job.plan.shared_bytes);
  if (error != cudaSuccess) return error;
  kernel<<<job.plan.num_blocks, kHeadThreads, job.plan.shared_bytes, stream>>>(job);
  return cudaGetLastError();
}

template <RowFormat kFormat, int kRowTiles>
cudaError_t LaunchScoreTiles(const HeadJob& job, cudaStream_t stream) {
  switch (KernelTokenTiles(job.args.x.num_tokens)) {
    case 1:
      return LaunchScoreTiles<kFormat, kRowTiles, 1>(job, stream);
    case 2:
      return LaunchScoreTiles<kFormat, kRowTiles, 2>(job, stream);
    default:
      return LaunchScoreTiles<kFormat, kRowTiles, kMaxTokenTiles>(job, stream);
  }
}

template <RowFormat kFormat>
cudaError_t LaunchScore(const HeadJob& job, cudaStream_t stream) {
  switch (job.plan.row_tiles) {
    case 1:
      return LaunchScoreTiles<kFormat, 1>(job, stream);
    case 2:
      return LaunchScoreTiles<kFormat, 2>(job, stream);
    default:
      return LaunchScoreTiles<kFormat, kMaxRowTiles>(job, stream);
  }
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_SCORE_CUH_
