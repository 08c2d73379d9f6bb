#ifndef SHORTLIST_BENCH_MACHINE_H_
#define SHORTLIST_BENCH_MACHINE_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/arena.h"

namespace shortlist {

/// Selects the instruction set named by SHORTLIST_ISA, if set. Returns false, with a line on
/// stderr, if this machine does not support that name.
bool ChooseIsaOfEnvironment();

/// A buffer that all threads read sequentially and repeatedly: the plain parallel read that kernels
/// are compared with. By default it is larger than any cache. Used by one thread at a time.
class PlainRead {
 public:
  explicit PlainRead(ThreadPool& pool, int64_t buffer_bytes = int64_t{512} << 20);
  /// Reads the next `bytes`, split into contiguous ranges per thread. Returns the seconds it took.
  double Seconds(int64_t bytes);

 private:
  ThreadPool& pool_;
  Arena buffer_;
  int64_t position_ = 0;
};

/// Returns the seconds that `flops` multiplications and additions against weights of `dtype` take
/// at the peak of the pool's threads, register to register. Uses products of bf16 or byte tiles
/// with AMX, else bf16 dot products (AVX-512 BF16), and byte dot products (AVX-512 VNNI) for
/// quantised weights. For f32 and f16, and without such instructions, uses f32 multiply-adds.
/// Measured anew in each call.
double PeakDotSeconds(double flops, DType dtype, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_MACHINE_H_
