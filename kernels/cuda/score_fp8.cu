#include "kernels/cuda/score.cuh"

namespace shortlist {

template cudaError_t LaunchScore<RowFormat::kFp8>(const HeadJob&, cudaStream_t);

}  // namespace shortlist
