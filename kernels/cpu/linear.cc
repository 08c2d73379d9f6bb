#include "kernels/linear.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/blocks.h"
#include "kernels/cpu/input.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/linear_job.h"

// Layout. Panel p holds output rows 32 p .. 32 p + 31; missing rows of the last panel are zeros.
// Inside a panel the rows are interleaved along the input dimension, so that a kernel reads it
// once, front to back, against broadcast inputs:
//   f32, f16:  [in_features][32]
//   bf16:      [(in_features + 1) / 2][32][2], the pairs of the bf16 dot product; a missing last
//              element is zero.
//   int8, int4: groups of codes and their scales; see QuantizePanel.
//   blocks:    see kernels/blocks.h.
// The layout is the same for every instruction set.

namespace shortlist {
namespace {

int64_t Interleave(DType dtype) { return dtype == DType::kBf16 ? 2 : 1; }

int64_t PanelBytes(DType dtype, int64_t in_features) {
  if (IsBlocked(dtype)) return BlockPanelBytes(dtype, in_features);
  if (IsQuantized(dtype)) return QuantPanelBytes(dtype, in_features);
  const int64_t interleave = Interleave(dtype);
  const int64_t padded = (in_features + interleave - 1) / interleave * interleave;
  return kPanelRows * padded * DTypeBytes(dtype);
}

int64_t StoredBytes(DType dtype, int64_t in_features) {
  return IsBlocked(dtype) ? StoredRowBytes(dtype, in_features) : in_features * DTypeBytes(dtype);
}

/// Location of output row `row` in its block, as bytes of [in_features] in the block's dtype.
struct SourceRow {
  const char* data;
  DType dtype;
};

SourceRow FindRow(std::span<const MatrixView> blocks, int64_t in_features, int64_t row) {
  for (const MatrixView& block : blocks) {
    if (row < block.num_rows) {
      const char* data = static_cast<const char*>(block.data);
      return {data + row * StoredBytes(block.dtype, in_features), block.dtype};
    }
    row -= block.num_rows;
  }
  SHORTLIST_CHECK(false);
}

/// target[k / interleave][row][k % interleave] = rows[row][k], for a panel's rows.
template <typename Element>
void InterleaveRows(const void* const* rows, int64_t num_rows, int64_t count, int64_t interleave,
                    void* target) {
  auto* panel = static_cast<Element*>(target);
  for (int64_t k = 0; k < count; ++k) {
    Element* column = panel + k / interleave * interleave * kPanelRows + k % interleave;
    for (int64_t r = 0; r < num_rows; ++r) {
      column[r * interleave] = static_cast<const Element*>(rows[r])[k];
    }
  }
}

/// Same as FillPanel(), but for quantised `dtype`.
void FillQuantPanel(std::span<const MatrixView> blocks, int64_t in_features, DType dtype,
                    int64_t first_row, int64_t num_rows, char* panel) {
  const KernelTable& table = CurrentKernels();
  std::vector<float> values(num_rows * in_features);
  const float* rows[kPanelRows];
  for (int64_t r = 0; r < num_rows; ++r) {
    const SourceRow source = FindRow(blocks, in_features, first_row + r);
    float* row = values.data() + r * in_features;
    table.to_f32(source.data, source.dtype, in_features, row);
    rows[r] = row;
  }
  QuantizePanel(rows, num_rows, dtype, in_features, panel);
}

/// Fills one panel with output rows, starting at `first_row`. `f32_row` is scratch for one row,
/// `converted` for a panel of rows.
void FillPanel(std::span<const MatrixView> blocks, int64_t in_features, DType dtype,
               int64_t first_row, int64_t num_rows, std::vector<float>& f32_row,
               std::vector<char>& converted, char* panel) {
  const KernelTable& table = CurrentKernels();
  const int64_t row_bytes = in_features * DTypeBytes(dtype);
  const void* rows[kPanelRows];
  for (int64_t r = 0; r < num_rows; ++r) {
    const SourceRow source = FindRow(blocks, in_features, first_row + r);
    rows[r] = source.data;
    if (source.dtype != dtype) {
      char* row = converted.data() + r * row_bytes;
      table.to_f32(source.data, source.dtype, in_features, f32_row.data());
      table.from_f32(f32_row.data(), dtype, in_features, row);
      rows[r] = row;
    }
  }
  if (dtype == DType::kF32) {
    InterleaveRows<uint32_t>(rows, num_rows, in_features, Interleave(dtype), panel);
  } else {
    InterleaveRows<uint16_t>(rows, num_rows, in_features, Interleave(dtype), panel);
  }
}

int64_t NumPanels(const PackedLinear& weight) {
  return (weight.out_features() + kPanelRows - 1) / kPanelRows;
}

int64_t NumRows(std::span<const MatrixView> blocks) {
  int64_t num_rows = 0;
  for (const MatrixView& block : blocks) num_rows += block.num_rows;
  return num_rows;
}

/// Returns memory of `memory`, or of an arena of its own if that is null.
std::shared_ptr<void> TakeMemory(int64_t bytes, ArenaBlocks* memory) {
  if (memory != nullptr) return memory->Take(bytes);
  const auto own = std::make_shared<Arena>(bytes);
  return {own, own->data()};
}

/// Calls body(x, begin, end) for ranges of the weight's panels, where x is the prepared rows of
/// `input`.
template <typename Body>
void ForPanels(const PackedLinear& weight, const LinearInput& input, int64_t num_tokens,
               ThreadPool& pool, Body&& body) {
  const KernelTable& table = CurrentKernels();
  const int64_t width = weight.in_features();
  // Each thread prepares few rows by itself, in the time in which it would wait for another thread.
  const bool few = num_tokens * width < kFewInputElements;
  thread_local Scratch scratch;
  InputRows shared;
  if (!few) {
    shared = PrepareInput(table, input, num_tokens, width, weight.dtype(), QuantLayout::kPanel,
                          scratch, pool);
  }
  pool.ParallelFor(NumPanels(weight), /*grain=*/1, [&](int64_t begin, int64_t end) {
    thread_local Scratch own;
    body(few ? PrepareInput(table, input, num_tokens, width, weight.dtype(), QuantLayout::kPanel,
                            own)
             : shared,
         begin, end);
  });
}

}  // namespace

PackedLinear PackedLinear::Pack(std::span<const MatrixView> blocks, int64_t in_features,
                                DType dtype, ThreadPool& pool, ArenaBlocks* memory) {
  PackedLinear packed;
  packed.in_features_ = in_features;
  packed.out_features_ = NumRows(blocks);
  SHORTLIST_CHECK(in_features >= 1 && packed.out_features_ >= 1 && !IsBlocked(dtype));

  const int64_t num_panels = NumPanels(packed);
  const int64_t panel_bytes = PanelBytes(dtype, in_features);
  const std::shared_ptr<void> block = TakeMemory(num_panels * panel_bytes, memory);
  char* const panels = static_cast<char*>(block.get());
  pool.ParallelFor(num_panels, /*grain=*/1, [&](int64_t begin, int64_t end) {
    std::vector<float> f32_row(in_features);
    std::vector<char> converted(panel_bytes);
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first_row = p * kPanelRows;
      const int64_t num_rows = std::min(kPanelRows, packed.out_features_ - first_row);
      char* const panel = panels + p * panel_bytes;
      if (IsQuantized(dtype)) {
        FillQuantPanel(blocks, in_features, dtype, first_row, num_rows, panel);
      } else {
        FillPanel(blocks, in_features, dtype, first_row, num_rows, f32_row, converted, panel);
      }
    }
  });
  packed.parts_ = {{dtype, 0, num_panels, panels}};
  packed.memory_ = block;
  return packed;
}

bool PackedLinear::CanPackBlocks(std::span<const MatrixView> blocks) {
  int64_t row = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!IsBlocked(blocks[i].dtype)) return false;
    if (i > 0 && blocks[i].dtype != blocks[i - 1].dtype && row % kPanelRows != 0) return false;
    row += blocks[i].num_rows;
  }
  return true;
}

PackedLinear PackedLinear::PackBlocks(std::span<const MatrixView> blocks, int64_t in_features,
                                      ThreadPool& pool, ArenaBlocks* memory) {
  SHORTLIST_CHECK(CanPackBlocks(blocks));
  PackedLinear packed;
  packed.in_features_ = in_features;
  packed.out_features_ = NumRows(blocks);
  int64_t bytes = 0, first_row = 0;
  std::vector<int64_t> offsets;
  for (const MatrixView& block : blocks) {
    // Rows of a block's last panel may belong to the next block, of the same type.
    const int64_t first = (first_row + kPanelRows - 1) / kPanelRows;
    first_row += block.num_rows;
    const int64_t num_panels = (first_row + kPanelRows - 1) / kPanelRows - first;
    if (!packed.parts_.empty() && packed.parts_.back().dtype == block.dtype) {
      packed.parts_.back().num_panels += num_panels;
    } else {
      packed.parts_.push_back({block.dtype, first, num_panels, nullptr});
      offsets.push_back(bytes);
    }
    bytes += num_panels * PanelBytes(block.dtype, in_features);
  }
  const std::shared_ptr<void> taken = TakeMemory(bytes, memory);
  for (size_t i = 0; i < packed.parts_.size(); ++i) {
    Part& part = packed.parts_[i];
    char* const panels = static_cast<char*>(taken.get()) + offsets[i];
    part.panels = panels;
    pool.ParallelFor(part.num_panels, /*grain=*/1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t row = (part.first_panel + p) * kPanelRows;
        const int64_t num_rows = std::min(kPanelRows, packed.out_features_ - row);
        const void* rows[kPanelRows];
        for (int64_t r = 0; r < num_rows; ++r) {
          rows[r] = FindRow(blocks, in_features, row + r).data;
        }
        PackBlockPanel(rows, num_rows, part.dtype, in_features,
                       panels + p * PanelBytes(part.dtype, in_features));
      }
    });
  }
  packed.memory_ = taken;
  return packed;
}

void LinearCpu(const PackedLinear& weight, const LinearInput& input, int64_t num_tokens, float* y,
               bool accumulate, ThreadPool& pool) {
  if (num_tokens == 0) return;
  const KernelTable& table = CurrentKernels();
  ForPanels(weight, input, num_tokens, pool, [&](const InputRows& x, int64_t begin, int64_t end) {
    RunLinear(table, weight,
              {.x = x, .y = y, .y_stride = weight.out_features(), .accumulate = accumulate}, begin,
              end);
  });
}

void GatedLinearCpu(const PackedLinear& gate, const PackedLinear& up, const LinearInput& input,
                    int64_t num_tokens, Activation activation, float* y, ThreadPool& pool) {
  // Number of panels of each weight whose outputs are combined in the cache before they are stored.
  constexpr int64_t kBlockPanels = 4;
  constexpr int64_t kStride = kBlockPanels * kPanelRows;
  const bool same_inputs =
      gate.dtype() == up.dtype() || (IsBlocked(gate.dtype()) && IsBlocked(up.dtype()));
  SHORTLIST_CHECK(same_inputs && gate.in_features() == up.in_features() &&
                  gate.out_features() == up.out_features());
  if (num_tokens == 0) return;
  const KernelTable& table = CurrentKernels();
  const auto gated = [&](const InputRows& x, int64_t begin, int64_t end) {
    thread_local Scratch scratch;
    auto* gates = static_cast<float*>(scratch.Get(2 * num_tokens * kStride * sizeof(float)));
    float* ups = gates + num_tokens * kStride;
    for (int64_t first = begin; first < end; first += kBlockPanels) {
      const int64_t last = std::min(first + kBlockPanels, end);
      const int64_t column = first * kPanelRows;
      for (const auto& [weight, block] : {std::pair(&gate, gates), std::pair(&up, ups)}) {
        RunLinear(table, *weight, {.x = x, .y = block, .y_stride = kStride, .y_begin = column},
                  first, last);
      }
      const int64_t count = std::min(last * kPanelRows, gate.out_features()) - column;
      for (int64_t t = 0; t < num_tokens; ++t) {
        table.activate_mul(activation, gates + t * kStride, ups + t * kStride, count,
                           y + t * gate.out_features() + column);
      }
    }
  };
  ForPanels(gate, input, num_tokens, pool, gated);
}

void ActivatedLinearCpu(const PackedLinear& weight, const float* bias, const LinearInput& input,
                        int64_t num_tokens, Activation activation, float* y, ThreadPool& pool) {
  // Number of panels whose outputs are still in the cache when they are activated.
  constexpr int64_t kBlockPanels = 8;
  if (num_tokens == 0) return;
  const KernelTable& table = CurrentKernels();
  ForPanels(weight, input, num_tokens, pool, [&](const InputRows& x, int64_t begin, int64_t end) {
    const LinearJob job = {.x = x, .y = y, .y_stride = weight.out_features()};
    for (int64_t first = begin; first < end; first += kBlockPanels) {
      const int64_t last = std::min(first + kBlockPanels, end);
      RunLinear(table, weight, job, first, last);
      const int64_t column = first * kPanelRows;
      const int64_t count = std::min(last * kPanelRows, weight.out_features()) - column;
      for (int64_t t = 0; t < num_tokens; ++t) {
        float* const outputs = y + t * weight.out_features() + column;
        table.activate(activation, outputs, bias == nullptr ? nullptr : bias + column, count,
                       outputs);
      }
    }
  });
}

}  // namespace shortlist
