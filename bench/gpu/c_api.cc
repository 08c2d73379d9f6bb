// The CUDA head for Python's ctypes. Pointers are device addresses; the results are cudaError_t.

#include "kernels/cuda/head.h"

extern "C" {

/// Mirrored in bench.py. bf16 rows against bf16 states.
struct ShortlistHead {
  const void* weight;
  int64_t vocab_size;
  int64_t hidden;
  const void* states;
  int64_t num_tokens;
  const int32_t* row_ids;
  const int32_t* num_rows;
  int64_t row_capacity;
  int32_t* error;
};

namespace {

shortlist::CudaHeadArgs ArgsOf(const ShortlistHead& head) {
  shortlist::CudaHeadArgs args;
  args.weight = head.weight;
  args.vocab_size = head.vocab_size;
  args.hidden = head.hidden;
  args.x.codes = head.states;
  args.x.num_tokens = head.num_tokens;
  args.row_ids = head.row_ids;
  args.num_rows = head.num_rows;
  args.row_capacity = head.row_capacity;
  args.error = head.error;
  return args;
}

}  // namespace

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
