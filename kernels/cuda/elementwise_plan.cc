#include <limits>

#include "kernels/cuda/elementwise_args.h"

namespace shortlist {
namespace {

const char* IdsProblem(const ElementwiseJob& job) {
  if (job.ids == nullptr) return "ids is null";
  if (job.num_ids < 1 || job.num_ids > std::numeric_limits<int32_t>::max()) {
    return "num_ids is not in [1, 2^31)";
  }
  return job.error == nullptr ? "the error word is null" : nullptr;
}

const char* RopeProblem(const ElementwiseJob& job) {
  if (job.num_heads < 1) return "num_heads is not positive";
  if (job.head_dim < 2 || job.head_dim % 2 != 0) return "head_dim is not positive and even";
  if (job.row_stride < job.num_heads * job.head_dim) {
    return "row_stride is less than num_heads * head_dim";
  }
  if (job.positions == nullptr || job.cos == nullptr || job.sin == nullptr) {
    return "positions, cos or sin is null";
  }
  if (job.num_positions < 1) return "num_positions is not positive";
  return job.error == nullptr ? "the error word is null" : nullptr;
}

}  // namespace

const char* ElementwiseProblem(const ElementwiseJob& job) {
  if (job.num_tokens < 0 || job.num_tokens > std::numeric_limits<int32_t>::max()) {
    return "num_tokens is not in [0, 2^31)";
  }
  if (job.num_tokens == 0) return nullptr;
  if (job.op == ElementwiseOp::kMapIds) {
    if (job.map == nullptr || job.mapped == nullptr) return "map or mapped is null";
    return IdsProblem(job);
  }
  if (job.y == nullptr) return "y is null";
  if (job.op == ElementwiseOp::kRope) return RopeProblem(job);
  if (job.width < 1 || job.width > (1 << 24)) return "width is not in [1, 2^24]";
  switch (job.op) {
    case ElementwiseOp::kEmbedding:
      if (job.table == nullptr) return "table is null";
      if (IsQuantized(job.table_dtype)) return "the table is not of f32, f16 or bf16";
      return IdsProblem(job);
    case ElementwiseOp::kRmsNorm:
      if (job.x == nullptr || job.weight == nullptr) return "x or weight is null";
      if (job.y_dtype != DType::kF32 && job.y_dtype != DType::kBf16) return "y is not f32 or bf16";
      return nullptr;
    case ElementwiseOp::kSiluMul:
      return job.x == nullptr || job.up == nullptr ? "x or up is null" : nullptr;
    default:
      return "the operation is unknown";
  }
}

}  // namespace shortlist
