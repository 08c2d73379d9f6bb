#ifndef SHORTLIST_PYTHON_SRC_GATHER_HEAD_H_
#define SHORTLIST_PYTHON_SRC_GATHER_HEAD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace shortlist {

#ifdef SHORTLIST_PYTHON_CUDA
inline constexpr bool kScoresOnCuda = true;
#else
inline constexpr bool kScoresOnCuda = false;
#endif

using OptionalTensor = c10::optional<at::Tensor>;

/// The tensors of one call, all on the same device, as the outputs are. Before scoring, shapes,
/// dtypes, strides and devices of all of them are checked. Values are not.
struct HeadTensors {
  const at::Tensor& hidden;           // [num_tokens, d] f32, f16 or bf16
  const at::Tensor& weight;           // [vocab_size, d] f32, f16 or bf16, contiguous
  const at::Tensor& row_ids;          // [num_rows] int32, contiguous
  const OptionalTensor& tail_indptr;  // [num_tokens + 1] int32, contiguous; set with tail_ids
  const OptionalTensor& tail_ids;     // int32, contiguous

  int64_t num_tokens() const { return hidden.size(0); }
  int64_t num_rows() const { return row_ids.numel(); }
  int64_t vocab_size() const { return weight.size(0); }
};

// gather_head_cpu.cc: uses the threads of TheThreads. ValueError for values out of range.

/// out: [num_tokens, num_rows + max_tail] f32.
void LogitsOnCpu(const HeadTensors& tensors, int64_t max_tail, const at::Tensor& out);
/// ids, logits: [num_tokens] int32 and f32.
void ArgmaxOnCpu(const HeadTensors& tensors, const at::Tensor& ids, const at::Tensor& logits);
/// ids, logits: [num_tokens, k] int32 and f32; log_sum_exp: [num_tokens] f32.
void TopKOnCpu(const HeadTensors& tensors, int64_t k, const at::Tensor& ids,
               const at::Tensor& logits, const at::Tensor& log_sum_exp);

// gather_head_cuda.cc, if kScoresOnCuda: work is queued on the device's current stream without
// waiting for it, and the host reads no values. An id or a tail out of range is omitted, as
// described in kernels/cuda/head_args.h. ValueError for inputs that the kernels do not support.

void LogitsOnCuda(const HeadTensors& tensors, int64_t max_tail, const at::Tensor& out);
void ArgmaxOnCuda(const HeadTensors& tensors, const at::Tensor& ids, const at::Tensor& logits);
/// k in [1, kHeadMaxTopK].
void TopKOnCuda(const HeadTensors& tensors, int64_t k, const at::Tensor& ids,
                const at::Tensor& logits, const at::Tensor& log_sum_exp);

}  // namespace shortlist

#endif  // SHORTLIST_PYTHON_SRC_GATHER_HEAD_H_
