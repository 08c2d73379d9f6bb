#include "kernels/cuda/head_plan.h"

#include <algorithm>
#include <limits>

namespace shortlist {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxHidden = 1 << 17;

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

StagePart Part(int64_t num_rows, int64_t bytes, int64_t pad, int64_t& end) {
  const StagePart part{static_cast<int>(end), static_cast<int>(bytes + pad)};
  end = RoundUp(end + num_rows * (bytes + pad), 128);
  return part;
}

/// Lays out a stage of `plan`. A warp reads 8 rows at a time, 16 bytes a lane: the strides put a
/// quarter of it on all banks (64 bytes off a multiple of 128 where a quad reads 64 bytes in one
/// piece, 16 where it skips every other piece).
void LayOutStage(const RowLayout& rows, int64_t num_token_rows, HeadPlan& plan) {
  const int64_t code_bytes = int64_t{plan.chunk_units} * kUnitBytes;
  const int64_t pieces = StatePieces(rows.format);
  // Scales start at the 16-byte boundary at or before the chunk's first.
  const int64_t groups_per_unit = rows.format == RowFormat::kInt4 ? 4 : 1;
  const int64_t groups = rows.quantized() ? plan.chunk_units * groups_per_unit : 0;
  int64_t end = 0;
  plan.row_codes = Part(plan.item_rows(), code_bytes, 64, end);
  plan.state_codes = Part(num_token_rows, code_bytes * pieces, pieces == 1 ? 64 : 16, end);
  plan.row_scales = Part(plan.item_rows(), RoundUp(groups * 2, 16), 0, end);
  plan.state_scales = Part(num_token_rows, groups * 4, 0, end);
  plan.stage_bytes = static_cast<int>(end);
}

/// Lays out what follows the stages; returns its bytes.
int64_t LayOutRest(int64_t num_tokens, int64_t k, int64_t begin, HeadPlan& plan) {
  auto take = [end = begin](int64_t bytes) mutable {
    const int64_t offset = end;
    end = RoundUp(end + bytes, 16);
    return static_cast<int>(offset);
  };
  plan.meet_offset = take(kHeadWarps * kTileTokens * kMeetStride * 4);
  plan.keys_offset = take(num_tokens * k * 8);
  plan.logits_offset = take(num_tokens * k * 4);
  plan.sums_offset = take(num_tokens * static_cast<int64_t>(sizeof(SumExp)));
  plan.barriers_offset = take(kMaxStages * 8);
  return take(0) - begin;
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

HeadPlan PlanHead(const CudaHeadArgs& args, int64_t k, const HeadDevice& device) {
  const RowLayout rows = RowLayout::Of(args.format, args.hidden);
  const int64_t num_tokens = args.x.num_tokens;
  HeadPlan plan;
  // One item per processor if that is possible: large ones read the hidden states less often.
  const int64_t row_tiles =
      CeilDivide(args.row_capacity, int64_t{device.num_processors} * kTileRows);
  plan.row_tiles = static_cast<int>(std::clamp<int64_t>(row_tiles, 1, kMaxRowTiles));
  plan.shared_items = static_cast<int>(CeilDivide(args.row_capacity, plan.item_rows()));
  plan.tail_items = static_cast<int>(CeilDivide(args.tail_capacity, plan.item_rows()));

  const int64_t num_token_rows = RoundUp(num_tokens, kTileTokens);
  const int64_t rest = LayOutRest(num_tokens, k, 0, plan);
  for (const int chunk_units : {16, 8, 4}) {
    // A shorter chunk that holds the row as well leaves room for more stages.
    if (chunk_units > 4 && rows.num_units <= chunk_units / 2) continue;
    plan.chunk_units = chunk_units;
    LayOutStage(rows, num_token_rows, plan);
    plan.num_stages = static_cast<int>(
        std::min<int64_t>((device.shared_bytes - rest) / plan.stage_bytes, kMaxStages));
    if (plan.num_stages >= 4) break;
  }
  if (plan.num_stages < 2) return plan;
  plan.num_chunks = static_cast<int>(CeilDivide(rows.num_units, plan.chunk_units));
  const int64_t stages_end = int64_t{plan.num_stages} * plan.stage_bytes;
  plan.shared_bytes = static_cast<int>(stages_end + LayOutRest(num_tokens, k, stages_end, plan));
  plan.num_blocks = args.tail_capacity > 0 ? device.num_processors
                                           : std::min(plan.shared_items, device.num_processors);

  plan.num_parts = plan.num_blocks + plan.tail_items;
  const int64_t parts = num_tokens * plan.num_parts;
  if (k > 0) {
    plan.part_logits_offset = parts * k * 8;
    plan.part_sums_offset = RoundUp(plan.part_logits_offset + parts * k * 4, 16);
    plan.workspace_bytes = plan.part_sums_offset + parts * static_cast<int64_t>(sizeof(SumExp));
  }
  return plan;
}

}  // namespace shortlist
