#ifndef SHORTLIST_KERNELS_LINEAR_H_
#define SHORTLIST_KERNELS_LINEAR_H_

#include <cstdint>
#include <memory>
#include <span>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/activation.h"
#include "kernels/arena.h"

namespace shortlist {

/// A row-major weight block [num_rows, in_features], as a checkpoint stores it. Never of a
/// quantised type.
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
  /// and at least one row in total. The packed weight lies in a block of `memory`, or in an arena
  /// of its own if `memory` is null.
  static PackedLinear Pack(std::span<const MatrixView> blocks, int64_t in_features, DType dtype,
                           ThreadPool& pool, ArenaBlocks* memory = nullptr);

  DType dtype() const { return dtype_; }
  int64_t in_features() const { return in_features_; }
  int64_t out_features() const { return out_features_; }
  /// The packed weight; its layout is described in kernels/cpu/linear.cc.
  const void* panels() const { return panels_.get(); }

 private:
  DType dtype_ = DType::kF32;
  int64_t in_features_ = 0;
  int64_t out_features_ = 0;
  std::shared_ptr<const void> panels_;
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
/// the two weights, bit for bit. The weights have the same shape and dtype. Otherwise the same as
/// LinearCpu().
void GatedLinearCpu(const PackedLinear& gate, const PackedLinear& up, const LinearInput& input,
                    int64_t num_tokens, Activation activation, float* y, ThreadPool& pool);

/// y[m, n] = activation(x[m, n] + bias[n]), where x is the output of LinearCpu, bit for bit.
/// Otherwise the same as LinearCpu(). bias: [out_features]; null: no bias.
void ActivatedLinearCpu(const PackedLinear& weight, const float* bias, const LinearInput& input,
                        int64_t num_tokens, Activation activation, float* y, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_LINEAR_H_
