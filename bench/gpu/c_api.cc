// The CUDA head for Python's ctypes. Pointers are device addresses; the results are cudaError_t.

#include "kernels/cuda/head.h"

extern "C" {

/// Mirrored in bench.py. CudaHeadArgs without tails.
struct ShortlistHead {
  int64_t format;  // RowFormat
  const void* weight;
  const float* row_factors;
  int64_t vocab_size;
  int64_t hidden;
  const void* states;
  const float* state_scales;
  const float* state_factors;
  int64_t num_tokens;
  const int32_t* row_ids;
  const int32_t* num_rows;
  int64_t row_capacity;
  int32_t* error;
};

namespace {

shortlist::CudaHeadArgs ArgsOf(const ShortlistHead& head) {
  shortlist::CudaHeadArgs args;
  args.format = static_cast<shortlist::RowFormat>(head.format);
  args.weight = head.weight;
  args.row_factors = head.row_factors;
  args.vocab_size = head.vocab_size;
  args.hidden = head.hidden;
  args.x.codes = head.states;
  args.x.scales = head.state_scales;
  args.x.factors = head.state_factors;
  args.x.num_tokens = head.num_tokens;
  args.row_ids = head.row_ids;
  args.num_rows = head.num_rows;
  args.row_capacity = head.row_capacity;
  args.error = head.error;
  return args;
}

}  // namespace

/// Writes the bytes of a row, of a state's codes and of its scales to `bytes`.
void shortlist_head_layout(int64_t format, int64_t hidden, int64_t bytes[3]) {
  const auto rows = shortlist::RowLayout::Of(static_cast<shortlist::RowFormat>(format), hidden);
  bytes[0] = rows.row_bytes;
  bytes[1] = rows.x_code_bytes;
  bytes[2] = rows.x_scale_bytes;
}

int shortlist_head_workspace(const ShortlistHead* head, int64_t k, int64_t* bytes) {
  return shortlist::HeadTopKWorkspace(ArgsOf(*head), k, bytes);
}

int shortlist_head_topk(const ShortlistHead* head, int64_t k, int32_t* ids, float* logits,
                        float* log_sum_exp, void* workspace, int64_t workspace_bytes,
                        void* stream) {
  return shortlist::HeadTopKCuda(ArgsOf(*head), k, {}, {ids, logits, log_sum_exp}, workspace,
                                 workspace_bytes, static_cast<cudaStream_t>(stream));
}

}  // extern "C"
