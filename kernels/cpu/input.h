#ifndef SHORTLIST_KERNELS_CPU_INPUT_H_
#define SHORTLIST_KERNELS_CPU_INPUT_H_

#include "base/thread_pool.h"
#include "kernels/arena.h"
#include "kernels/cpu/kernel_table.h"

namespace shortlist {

/// Memory that grows and is kept: one per thread and use, so that a step allocates nothing once
/// warm.
class Scratch {
 public:
  /// At least `bytes` bytes, aligned to 64; the contents are unspecified.
  void* Get(int64_t bytes) {
    if (bytes > arena_.bytes()) arena_ = Arena(bytes + bytes / 2);
    return arena_.data();
  }

 private:
  Arena arena_;
};

/// Copies x, [num_tokens, width] f32, into `scratch` as the dot kernels of `table` read it against
/// weights of `dtype`: rounded to bf16 where the weights are bf16, padded with zeros.
InputRows PrepareInput(const KernelTable& table, const float* x, int64_t num_tokens, int64_t width,
                       DType dtype, Scratch& scratch);
/// The same, over the threads of `pool`.
InputRows PrepareInput(const KernelTable& table, const float* x, int64_t num_tokens, int64_t width,
                       DType dtype, Scratch& scratch, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_INPUT_H_
