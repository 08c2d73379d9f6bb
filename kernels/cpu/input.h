#ifndef SHORTLIST_KERNELS_CPU_INPUT_H_
#define SHORTLIST_KERNELS_CPU_INPUT_H_

#include "base/thread_pool.h"
#include "kernels/arena.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/linear.h"

namespace shortlist {

/// Memory that grows and is kept. There is one per thread and use, so that a step allocates nothing
/// after warm-up.
class Scratch {
 public:
  /// Returns at least `bytes` bytes, aligned to 64; the contents are unspecified.
  void* Get(int64_t bytes) {
    if (bytes > arena_.bytes()) arena_ = Arena(bytes + bytes / 2);
    return arena_.data();
  }

 private:
  Arena arena_;
};

/// Copies the rows of `input`, [num_tokens, width], into `scratch`, in the format in which the dot
/// kernels of `table` read them against weights of `dtype`. Rows are normalised if `input` says so,
/// rounded to bf16 if the weights are bf16, quantised if they are quantised (for weights of
/// `layout`: kernels/quant.h), and padded with zeros.
InputRows PrepareInput(const KernelTable& table, const LinearInput& input, int64_t num_tokens,
                       int64_t width, DType dtype, QuantLayout layout, Scratch& scratch);

/// Inputs with fewer elements are not worth a loop over the threads.
inline constexpr int64_t kFewInputElements = 1 << 14;
/// Same as PrepareInput() without `pool`, but runs on the threads of `pool` unless the elements are
/// few.
InputRows PrepareInput(const KernelTable& table, const LinearInput& input, int64_t num_tokens,
                       int64_t width, DType dtype, QuantLayout layout, Scratch& scratch,
                       ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CPU_INPUT_H_
