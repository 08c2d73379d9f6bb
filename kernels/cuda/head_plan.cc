#include "kernels/cuda/head_plan.h"

#include <algorithm>
#include <limits>

namespace shortlist {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxHidden = 1 << 17;
constexpr int64_t kMaxWeightBytes = int64_t{1} << 36;  // 2^32 pieces

int64_t CeilDivide(int64_t value, int64_t by) { return (value + by - 1) / by; }
int64_t RoundUp(int64_t value, int64_t multiple) { return CeilDivide(value, multiple) * multiple; }

bool Aligned(const void* pointer, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

const char* WidthProblem(RowFormat format, int64_t hidden) {
  if (hidden < 1 || hidden > kMaxHidden) return "hidden is not in [1, 131072]";
  switch (format) {
    case RowFormat::kBf16:
    case RowFormat::kF16:
      return hidden % 8 != 0 ? "hidden of 16-bit rows is not a multiple of 8" : nullptr;
    case RowFormat::kF32:
      return hidden % 4 != 0 ? "hidden of f32 rows is not a multiple of 4" : nullptr;
    case RowFormat::kFp8:
      return hidden % 16 != 0 ? "hidden of fp8 rows is not a multiple of 16" : nullptr;
    case RowFormat::kInt8:
    case RowFormat::kInt4:
      return nullptr;
  }
  return "the row format is none of bf16, f16, f32, fp8, int8, int4";
}

const char* WeightProblem(const CudaHeadArgs& args) {
  if (const char* problem = WidthProblem(args.format, args.hidden)) return problem;
  if (args.vocab_size < 1 || args.vocab_size > kMaxInt) return "vocab_size is not in [1, 2^31)";
  const int64_t row_bytes = RowLayout::Of(args.format, args.hidden).row_bytes;
  if (args.vocab_size > kMaxWeightBytes / row_bytes) return "the weight passes 64 GiB";
  if (args.weight == nullptr) return "weight is null";
  if (!Aligned(args.weight, 16)) return "weight is not 16-byte aligned";
  if (args.format == RowFormat::kFp8 && args.row_factors == nullptr) {
    return "fp8 rows have no row_factors";
  }
  return nullptr;
}

const char* StatesProblem(RowFormat format, const HeadStates& x) {
  if (x.num_tokens < 0 || x.num_tokens > kHeadMaxTokens) return "num_tokens is not in [0, 64]";
  if (x.num_tokens == 0) return nullptr;
  if (x.codes == nullptr) return "the hidden states are null";
  if (!Aligned(x.codes, 16)) return "the hidden states are not 16-byte aligned";
  const bool quantized = format == RowFormat::kInt8 || format == RowFormat::kInt4;
  if (quantized && (x.scales == nullptr || !Aligned(x.scales, 16))) {
    return "the scales of quantised hidden states are null or not 16-byte aligned";
  }
  const bool scaled = format == RowFormat::kF16 || format == RowFormat::kFp8;
  if (scaled && x.factors == nullptr) return "f16 hidden states have no factors";
  return nullptr;
}

const char* RowsProblem(const CudaHeadArgs& args) {
  if (args.row_capacity < 0 || args.row_capacity > kMaxInt / 2) {
    return "row_capacity is not in [0, 2^30)";
  }
  if (args.row_ids == nullptr && args.row_capacity > args.vocab_size) {
    return "row_capacity without row_ids passes vocab_size";
  }
  if (args.tail_capacity < 0 || args.tail_capacity > kMaxInt / (2 * kHeadMaxTokens)) {
    return "tail_capacity is not in [0, 2^24)";
  }
  if (args.tail_indptr == nullptr && args.tail_capacity > 0) return "tail_indptr is null";
  if (args.tail_capacity > 0 && args.tail_ids == nullptr) return "tail_ids is null";
  if (args.num_tail_ids > kMaxInt) return "num_tail_ids is not below 2^31";
  if (args.row_capacity + args.tail_capacity == 0) return "the set of rows is empty";
  if (args.error == nullptr) return "the error word is null";
  return nullptr;
}

}  // namespace

const char* HeadArgsProblem(const CudaHeadArgs& args) {
  if (const char* problem = WeightProblem(args)) return problem;
  if (const char* problem = StatesProblem(args.format, args.x)) return problem;
  return RowsProblem(args);
}

const char* HeadLogitsProblem(const CudaHeadArgs& args, const float* logits, int64_t stride) {
  if (const char* problem = HeadArgsProblem(args)) return problem;
  if (logits == nullptr) return "logits is null";
  if (stride < args.row_capacity + args.tail_capacity || stride > kMaxInt) {
    return "stride is not in [row_capacity + tail_capacity, 2^31)";
  }
  return nullptr;
}

const char* HeadTopKProblem(const CudaHeadArgs& args, int64_t k, const HeadNoise& noise,
                            const HeadTopKOutputs& out) {
  if (const char* problem = HeadArgsProblem(args)) return problem;
  if (k < 1 || k > kHeadMaxTopK) return "k is not in [1, 32]";
  if (out.ids == nullptr || out.logits == nullptr) return "ids or logits is null";
  if (noise.temperatures != nullptr && (noise.seeds == nullptr || noise.positions == nullptr)) {
    return "the noise has no seeds or no positions";
  }
  return nullptr;
}

const char* HeadStatesProblem(RowFormat format, int64_t hidden, const float* x,
                              const HeadStates& states) {
  if (const char* problem = WidthProblem(format, hidden)) return problem;
  if (const char* problem = StatesProblem(format, states)) return problem;
  return states.num_tokens > 0 && x == nullptr ? "x is null" : nullptr;
}

HeadPlan PlanHead(const CudaHeadArgs& args, int64_t k, int num_processors) {
  const int64_t num_tokens = args.x.num_tokens;
  const int most_blocks = num_processors * kProcessorBlocks;
  HeadPlan plan;
  // One item per block if possible: large items read the hidden states less often.
  const int64_t row_tiles = CeilDivide(args.row_capacity, int64_t{most_blocks} * kTileRows);
  plan.row_tiles = row_tiles <= 1 ? 1 : row_tiles == 2 ? 2 : kMaxRowTiles;
  plan.shared_items = static_cast<int>(CeilDivide(args.row_capacity, plan.item_rows()));
  plan.tail_items = static_cast<int>(CeilDivide(args.tail_capacity, plan.item_rows()));
  plan.shared_bytes = kMeetBytes + RingBytes(KernelTokenTiles(num_tokens));
  plan.num_blocks = args.tail_capacity > 0 ? most_blocks : std::min(plan.shared_items, most_blocks);
  if (k == 0) return plan;

  const int64_t stride = args.row_capacity + args.tail_capacity;
  plan.num_parts = static_cast<int>(CeilDivide(stride, kPartRows));
  const int64_t parts = plan.num_parts == 1 ? 0 : num_tokens * plan.num_parts;
  plan.part_keys_offset = RoundUp(num_tokens * stride * 4, 16);
  plan.part_logits_offset = plan.part_keys_offset + parts * k * 8;
  plan.part_sums_offset = RoundUp(plan.part_logits_offset + parts * k * 4, 16);
  plan.workspace_bytes = plan.part_sums_offset + parts * static_cast<int64_t>(sizeof(SumExp));
  return plan;
}

}  // namespace shortlist
