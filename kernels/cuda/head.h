#ifndef SHORTLIST_KERNELS_CUDA_HEAD_H_
#define SHORTLIST_KERNELS_CUDA_HEAD_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/elementwise_args.h"
#include "kernels/cuda/head_args.h"

namespace shortlist {

// Launchers. All work is on `stream`, of the current device, and may be captured into a graph: a
// replay reads counts, ids and tails anew. They return cudaErrorInvalidValue, and launch and write
// nothing, where HeadLogitsProblem, HeadTopKProblem, HeadStatesProblem or ElementwiseProblem
// (kernels/cuda/head_plan.h, elementwise_args.h) name a reason; whether a pointer is of the device
// is for the caller to know. num_tokens = 0 succeeds without a launch. sm_80 and later.

/// Prepares x, [num_tokens, hidden] f32, for rows of `format`: rounded to bf16; rounded to f16
/// after a multiplication by a power of two (f16, fp8); as it is (f32); or quantised as
/// kernels/quant.h tells. Writes to the arrays of `states`. A state with a NaN or infinity does not
/// disturb others.
cudaError_t PrepareHeadStatesCuda(RowFormat format, int64_t hidden, const float* x,
                                  const HeadStates& states, cudaStream_t stream);

/// logits[m * stride + s] is the logit of row s; rows past a token's own hold -infinity, up to
/// stride >= row_capacity + tail_capacity. One launch.
cudaError_t HeadLogitsCuda(const CudaHeadArgs& args, float* logits, int64_t stride,
                           cudaStream_t stream);

/// Bytes of workspace that HeadTopKCuda takes for these arguments, of which num_tokens, k and the
/// capacities count: four for each logit, and a little more.
cudaError_t HeadTopKWorkspace(const CudaHeadArgs& args, int64_t k, int64_t* bytes);

/// The k best rows of each token, best first, ties to the lower id, as token ids, and the
/// log-sum-exp over all its rows. Logits of NaN and -infinity are never chosen: id -1 and logit
/// -infinity where a token has fewer than k others. k = 1 is the argmax; with noise, a draw from
/// the softmax (or, for k > 1, k draws without replacement). workspace: 16-byte aligned device
/// memory, through which the logits go, free again when the stream is past the call. Two launches,
/// three where row_capacity + tail_capacity is above kPartRows (head_plan.h).
cudaError_t HeadTopKCuda(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                         const HeadTopKOutputs& out, void* workspace, int64_t workspace_bytes,
                         cudaStream_t stream);

/// cudaSuccess where device number `device` runs these kernels: there is code for it.
cudaError_t HeadRunsOn(int device);

cudaError_t ElementwiseCuda(const ElementwiseJob& job, cudaStream_t stream);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_HEAD_H_
