#ifndef SHORTLIST_KERNELS_CUDA_SKETCH_H_
#define SHORTLIST_KERNELS_CUDA_SKETCH_H_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/sketch_args.h"

namespace shortlist {

/// Same as SketchSelectCpu(), but on the current device: chooses exactly the same rows for the same
/// queries and races. workspace: SketchWorkspaceBytes of 4-byte aligned device memory; the caller
/// may reuse it when the stream has passed the call. Returns cudaErrorInvalidValue, and launches
/// nothing, if there is a SketchProblem or no such workspace. Two launches, which a graph may
/// capture.
cudaError_t SketchSelectCuda(const CudaSketchArgs& args, void* workspace, int64_t workspace_bytes,
                             cudaStream_t stream);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_SKETCH_H_
