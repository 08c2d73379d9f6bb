#include "kernels/cpu/input.h"

#include <cstring>

#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/block_layout.h"
#include "kernels/cpu/quant_layout.h"
#include "kernels/cpu/tiles.h"

namespace shortlist {
namespace {

struct Plan {
  char* data;
  int64_t stride;
  int64_t element_bytes;
  DType stored;

  InputRows Rows(int64_t num_tokens) const {
    return {data, stride, num_tokens, stride * element_bytes};
  }
};

int64_t LanesOf(QuantLayout layout) { return layout == QuantLayout::kHeadRow ? kRowLanes : 1; }

Plan MakePlan(const KernelTable& table, int64_t num_tokens, int64_t width, DType dtype,
              QuantLayout layout, Scratch& scratch) {
  Plan plan;
  if (IsBlocked(dtype)) {
    plan = {nullptr, BlockInput::Bytes(width, LanesOf(layout)), 1, dtype};
  } else if (IsQuantized(dtype)) {
    plan = {nullptr, QuantInput::Bytes(QuantShape::Of(dtype, width, layout)), 1, dtype};
  } else {
    const DType stored = dtype == DType::kBf16 && table.native_bf16 ? DType::kBf16 : DType::kF32;
    int64_t stride = (width + kInputPadding - 1) / kInputPadding * kInputPadding;
    // A tile reads one element of each row in turn. With rows a multiple of kSetBytes apart, these
    // elements share a few sets of the first-level cache, and outnumber its ways.
    constexpr int64_t kSetBytes = 2048;
    if (stride * DTypeBytes(stored) % kSetBytes == 0) stride += kInputPadding;
    plan = {nullptr, stride, DTypeBytes(stored), stored};
  }
  // Kernels over tiles read past the last row, but do not use these bytes.
  const int64_t multiple = table.byte_tiles ? kMaxTileRows : 1;
  const int64_t num_rows = (num_tokens + multiple - 1) / multiple * multiple;
  plan.data = static_cast<char*>(scratch.Get(num_rows * plan.stride * plan.element_bytes));
  return plan;
}

void FillRow(const KernelTable& table, const Plan& plan, const LinearInput& input, int64_t width,
             DType dtype, QuantLayout layout, int64_t token) {
  const float* x = input.x + token * width;
  if (input.norm_weight != nullptr) {
    thread_local Scratch scratch;
    auto* normed = static_cast<float*>(scratch.Get(width * static_cast<int64_t>(sizeof(float))));
    table.rms_norm(x, input.norm_weight, input.norm_epsilon, width, normed);
    x = normed;
  }
  const int64_t element = plan.element_bytes;
  char* row = plan.data + token * plan.stride * element;
  if (IsBlocked(dtype)) {
    return table.blocks->quantize_input(x, width, LanesOf(layout), row);
  }
  if (IsQuantized(dtype)) {
    return table.quantize_input(x, dtype, QuantShape::Of(dtype, width, layout), row);
  }
  if (dtype != DType::kBf16) {
    std::memcpy(row, x, static_cast<size_t>(width * element));
  } else if (plan.stored == DType::kBf16) {
    table.from_f32(x, DType::kBf16, width, row);
  } else {
    constexpr int64_t kChunk = 256;
    uint16_t rounded[kChunk];
    for (int64_t i = 0; i < width; i += kChunk) {
      const int64_t count = width - i < kChunk ? width - i : kChunk;
      table.from_f32(x + i, DType::kBf16, count, rounded);
      table.to_f32(rounded, DType::kBf16, count, reinterpret_cast<float*>(row) + i);
    }
  }
  std::memset(row + width * element, 0, static_cast<size_t>((plan.stride - width) * element));
}

}  // namespace

InputRows PrepareInput(const KernelTable& table, const LinearInput& input, int64_t num_tokens,
                       int64_t width, DType dtype, QuantLayout layout, Scratch& scratch) {
  const Plan plan = MakePlan(table, num_tokens, width, dtype, layout, scratch);
  for (int64_t t = 0; t < num_tokens; ++t) FillRow(table, plan, input, width, dtype, layout, t);
  return plan.Rows(num_tokens);
}

InputRows PrepareInput(const KernelTable& table, const LinearInput& input, int64_t num_tokens,
                       int64_t width, DType dtype, QuantLayout layout, Scratch& scratch,
                       ThreadPool& pool) {
  if (num_tokens * width < kFewInputElements) {
    return PrepareInput(table, input, num_tokens, width, dtype, layout, scratch);
  }
  const Plan plan = MakePlan(table, num_tokens, width, dtype, layout, scratch);
  pool.ParallelFor(num_tokens, /*grain=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) FillRow(table, plan, input, width, dtype, layout, t);
  });
  return plan.Rows(num_tokens);
}

}  // namespace shortlist
