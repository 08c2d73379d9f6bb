#ifndef SHORTLIST_KERNELS_CUDA_SKETCH_H_
#define SHORTLIST_KERNELS_CUDA_SKETCH_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/sketch_args.h"

namespace shortlist {

/// SketchSelectCpu on the current device: of the same queries and races the very same rows.
/// workspace: SketchWorkspaceBytes of 4-byte aligned device memory, free again when the stream is
/// past the call. cudaErrorInvalidValue: SketchProblem, or no such workspace; nothing is launched
/// then. Two launches, which a graph may capture.
cudaError_t SketchSelectCuda(const CudaSketchArgs& args, void* workspace, int64_t workspace_bytes,
                             cudaStream_t stream);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_SKETCH_H_
