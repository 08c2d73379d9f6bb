#ifndef SHORTLIST_KERNELS_LINEAR_H_
#define SHORTLIST_KERNELS_LINEAR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/activation.h"
#include "kernels/arena.h"

namespace shortlist {

/// A row-major part of a weight, [num_rows, in_features], as a checkpoint stores it: of an
/// unquantised type, or rows of blocks (base/weight_block.h).
struct MatrixView {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t num_rows = 0;
};

/// The weight of a linear layer, repacked once at load for the kernels below.
///
/// Several blocks stack along the output dimension (query, key and value; gate and up), so that one
/// pass over the input computes all of them. Immutable after Pack; any number of threads may read
/// it.
class PackedLinear {
 public:
  PackedLinear() = default;

  /// Copies `blocks`, each [num_rows, in_features], stacked in order, converted to `dtype` (round
  /// to nearest even) or quantised (kernels/quant.h; the weights must be finite). in_features >= 1,
  /// and at least one row in total. Neither `dtype` nor a type of `blocks` is one of blocks. The
  /// packed weight lies in a block of `memory`, or in an arena of its own if `memory` is null.
  static PackedLinear Pack(std::span<const MatrixView> blocks, int64_t in_features, DType dtype,
                           ThreadPool& pool, ArenaBlocks* memory = nullptr);

  /// Lays out `blocks`, all rows of blocks, anew, each in its own type. CanPackBlocks(blocks).
  static PackedLinear PackBlocks(std::span<const MatrixView> blocks, int64_t in_features,
                                 ThreadPool& pool, ArenaBlocks* memory = nullptr);
  /// True if `blocks` are rows of blocks, and no panel of 32 rows would have rows of two types.
  static bool CanPackBlocks(std::span<const MatrixView> blocks);

  /// Panels of one type. A weight has several parts only if it is in blocks.
  struct Part {
    DType dtype;
    int64_t first_panel;
    int64_t num_panels;
    const void* panels;  // the layout is described in kernels/cpu/linear.cc
  };

  /// The type for which inputs are prepared: that of the first part. All types of blocks have the
  /// same inputs.
  DType dtype() const { return parts_.front().dtype; }
  int64_t in_features() const { return in_features_; }
  int64_t out_features() const { return out_features_; }
  std::span<const Part> parts() const { return parts_; }

 private:
  int64_t in_features_ = 0;
  int64_t out_features_ = 0;
  std::vector<Part> parts_;
  std::shared_ptr<const void> memory_;
};

/// The input rows of a linear layer, [num_tokens, in_features] f32, dense. With a norm weight, the
/// layer first RMS-normalises them like RmsNormCpu.
struct LinearInput {
  const float* x = nullptr;
  const float* norm_weight = nullptr;  // [in_features]; null: not normalised
  float norm_epsilon = 0;
};

/// y[m, n] = sum over k of round(x[m, k]) * w[n, k]    (or y[m, n] += that, with `accumulate`)
///
/// y: [num_tokens, out_features] f32, dense, not overlapping the input. With bf16 weights the input
/// is rounded to bf16; with quantised weights it is quantised, the same way for every num_tokens.
/// With f16 and f32 weights it is used unchanged. Sums are f32, each in one fixed order for any
/// num_tokens, tile and thread: row m of y has the same bits in any batch. num_tokens = 0 does
/// nothing.
void LinearCpu(const PackedLinear& weight, const LinearInput& input, int64_t num_tokens, float* y,
               bool accumulate, ThreadPool& pool);

/// y[m, n] = activation(gate[m, n]) * up[m, n], where gate and up are the outputs of LinearCpu for
/// the two weights, bit for bit. The weights have the same shape, and the same type or blocks.
/// Otherwise the same as LinearCpu().
void GatedLinearCpu(const PackedLinear& gate, const PackedLinear& up, const LinearInput& input,
                    int64_t num_tokens, Activation activation, float* y, ThreadPool& pool);

/// y[m, n] = activation(x[m, n] + bias[n]), where x is the output of LinearCpu, bit for bit.
/// Otherwise the same as LinearCpu(). bias: [out_features]; null: no bias.
void ActivatedLinearCpu(const PackedLinear& weight, const float* bias, const LinearInput& input,
                        int64_t num_tokens, Activation activation, float* y, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_LINEAR_H_
