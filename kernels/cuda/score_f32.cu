#include "kernels/cuda/score.cuh"

namespace shortlist {

template cudaError_t LaunchScore<RowFormat::kF32>(const HeadJob&, cudaStream_t);

}  // namespace shortlist
