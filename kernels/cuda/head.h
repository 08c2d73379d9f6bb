#ifndef SHORTLIST_KERNELS_CUDA_HEAD_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/elementwise_args.h"
#include "kernels/cuda/head_args.h"

namespace shortlist {

// Launchers. All work runs on `stream`, of the current device, and may be captured into a graph: a
// replay reads counts, ids and tails again. If HeadLogitsProblem, HeadTopKProblem,
// HeadStatesProblem or ElementwiseProblem (kernels/cuda/head_plan.h, elementwise_args.h) returns a
// reason, the launchers return cudaErrorInvalidValue, and launch and write nothing. The caller must
// ensure that pointers are device pointers. num_tokens = 0 succeeds without a launch. sm_80 and
// later.

/// Prepares x, [num_tokens, hidden] f32, for rows of `format`: rounded to bf16; multiplied by a
/// power of two and rounded to f16 (f16, fp8); unchanged (f32); or quantised as in kernels/quant.h.
/// Writes to the arrays of `states`. A state with a NaN or infinity does not affect other states.
cudaError_t PrepareHeadStatesCuda(RowFormat format, int64_t hidden, const float* x,
                                  const HeadStates& states, cudaStream_t stream);

/// logits[m * stride + s] is the logit of row s. Rows after a token's own hold -infinity, up to
/// stride, which is at least row_capacity + tail_capacity. One launch.
cudaError_t HeadLogitsCuda(const CudaHeadArgs& args, float* logits, int64_t stride,
                           cudaStream_t stream);

/// Returns the workspace bytes of HeadTopKCuda for these arguments, which depend on num_tokens, k
/// and the capacities: four for each logit, and a little more.
cudaError_t HeadTopKWorkspace(const CudaHeadArgs& args, int64_t k, int64_t* bytes);

/// Returns the k best rows of each token as token ids, best first, ties to the lower id, and the
/// log-sum-exp over all its rows. Logits of NaN and -infinity are never chosen: if a token has
/// fewer than k others, the rest get id -1 and logit -infinity. k = 1 is the argmax. With noise,
/// k = 1 is a draw from the softmax, and k > 1 gives k draws without replacement. workspace:
/// 16-byte aligned device memory that holds the logits; the caller may reuse it when the stream has
/// passed the call. cudaErrorInvalidValue also if it is null, not aligned or too small. Two
/// launches; three if row_capacity + tail_capacity is above kPartRows (head_plan.h).
cudaError_t HeadTopKCuda(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                         const HeadTopKOutputs& out, void* workspace, int64_t workspace_bytes,
                         cudaStream_t stream);

/// Returns cudaSuccess if there is code of these kernels for device number `device`.
cudaError_t HeadRunsOn(int device);

cudaError_t ElementwiseCuda(const ElementwiseJob& job, cudaStream_t stream);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_H_
