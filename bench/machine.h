#ifndef SHORTLIST_BENCH_MACHINE_H_
#define SHORTLIST_BENCH_MACHINE_H_

#include <cstdint>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernels/arena.h"

namespace shortlist {

/// Takes the instruction set that SHORTLIST_ISA names, where it names one; false, with a line on
/// stderr, where this machine has none of that name.
bool ChooseIsaOfEnvironment();

/// A buffer, larger than any cache unless told otherwise, read front to back, over and over, by all
/// threads at once: the plain parallel read that kernels are judged against. One thread at a time.
class PlainRead {
 public:
  explicit PlainRead(ThreadPool& pool, int64_t buffer_bytes = int64_t{512} << 20);
  /// Reads the next `bytes` (cut between the threads in contiguous ranges) and returns the seconds
  /// it took.
  double Seconds(int64_t bytes);

 private:
  ThreadPool& pool_;
  Arena buffer_;
  int64_t position_ = 0;
};

/// Seconds that `flops` multiplications and additions against weights of `dtype` take at the peak
/// of the pool's threads, register to register, for CurrentIsa(): products of bf16 or byte tiles
/// (AMX); bf16 dot products (AVX-512 BF16), byte dot products (AVX-512 VNNI) for quantised weights;
/// f32 multiply-adds for f32 and f16, and on machines without. Measured anew in each call.
double PeakDotSeconds(double flops, DType dtype, ThreadPool& pool);

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_MACHINE_H_
