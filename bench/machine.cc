#include "bench/machine.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "kernels/cpu/amx_tiles.inc"
#include "kernels/isa.h"

namespace shortlist {
namespace {

constexpr int64_t kPeakSteps = 20000;
constexpr int kPeakSums = 16;
constexpr int kPeakSumsAvx2 = 12;  // of 16 registers
constexpr int kPeakTiles = 4;

std::atomic<int64_t> sink;  // keeps results alive

__attribute__((target("avx512f"))) int64_t ReadAvx512(const char* data, int64_t bytes) {
  __m512i sums[4] = {};
  for (int64_t i = 0; i + 256 <= bytes; i += 256) {
    for (int v = 0; v < 4; ++v) {
      sums[v] = _mm512_xor_si512(sums[v], _mm512_loadu_si512(data + i + 64 * v));
    }
  }
  const __m512i sum =
      _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3]));
  return _mm512_reduce_add_epi64(sum);
}

int64_t ReadPlain(const char* data, int64_t bytes) {
  int64_t sum = 0;
  for (int64_t i = 0; i + 8 <= bytes; i += 8) {
    int64_t word;
    std::memcpy(&word, data + i, sizeof(word));
    sum ^= word;
  }
  return sum;
}

__attribute__((target("avx512f,avx512bf16"))) float DotPeakBf16() {
  // Sums must differ, or the compiler would keep one for all.
  __m512 sums[kPeakSums];
  for (int i = 0; i < kPeakSums; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(sink + i));
  const __m512bh a = (__m512bh)_mm512_set1_epi32(0x3f803f80);
  for (int64_t step = 0; step < kPeakSteps; ++step) {
#pragma GCC unroll 16
    for (int i = 0; i < kPeakSums; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], a, a);
  }
  __m512 total = _mm512_setzero_ps();
  for (const __m512& sum : sums) total = _mm512_add_ps(total, sum);
  return _mm512_reduce_add_ps(total);
}

__attribute__((target("avx512f,avx512vnni"))) float DotPeakBytes() {
  __m512i sums[kPeakSums];
  for (int i = 0; i < kPeakSums; ++i) sums[i] = _mm512_set1_epi32(static_cast<int>(sink + i));
  const __m512i a = _mm512_set1_epi32(static_cast<int>(sink | 0x01010101));
  for (int64_t step = 0; step < kPeakSteps; ++step) {
#pragma GCC unroll 16
    for (int i = 0; i < kPeakSums; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], a, a);
  }
  __m512i total = _mm512_setzero_si512();
  for (const __m512i& sum : sums) total = _mm512_add_epi32(total, sum);
  return static_cast<float>(_mm512_reduce_add_epi32(total));
}

__attribute__((target("avx512f"))) float DotPeakFma512() {
  __m512 sums[kPeakSums];
  for (int i = 0; i < kPeakSums; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(sink + i));
  const __m512 a = _mm512_set1_ps(1.0f);
  for (int64_t step = 0; step < kPeakSteps; ++step) {
#pragma GCC unroll 16
    for (int i = 0; i < kPeakSums; ++i) sums[i] = _mm512_fmadd_ps(a, a, sums[i]);
  }
  __m512 total = _mm512_setzero_ps();
  for (const __m512& sum : sums) total = _mm512_add_ps(total, sum);
  return _mm512_reduce_add_ps(total);
}

__attribute__((target("avx2,fma"))) float DotPeakFma() {
  __m256 sums[kPeakSumsAvx2];
  for (int i = 0; i < kPeakSumsAvx2; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(sink + i));
  const __m256 a = _mm256_set1_ps(1.0f);
  for (int64_t step = 0; step < kPeakSteps; ++step) {
#pragma GCC unroll 16
    for (int i = 0; i < kPeakSumsAvx2; ++i) sums[i] = _mm256_fmadd_ps(a, a, sums[i]);
  }
  float total = 0.0f;
  for (const __m256& sum : sums) total += sum[0];
  return total;
}

/// Products of whole tiles, each with its own sums, as many as the unit holds.
template <bool kBytes>
float TilePeak() {
  AmxTiles tiles{TileShapes{}};
  for (int64_t step = 0; step < kPeakSteps; ++step) {
    if constexpr (kBytes) {
      tiles.MulAddBytes<0, 4, 6>();
      tiles.MulAddBytes<1, 4, 7>();
      tiles.MulAddBytes<2, 5, 6>();
      tiles.MulAddBytes<3, 5, 7>();
    } else {
      tiles.MulAddBf16<0, 4, 6>();
      tiles.MulAddBf16<1, 4, 7>();
      tiles.MulAddBf16<2, 5, 6>();
      tiles.MulAddBf16<3, 5, 7>();
    }
  }
  return 0.0f;
}

}  // namespace

bool ChooseIsaOfEnvironment() {
  const char* const name = std::getenv("SHORTLIST_ISA");
  if (name == nullptr) return true;
  const std::optional<Isa> isa = ParseIsa(name);
  if (isa && SetIsa(*isa)) return true;
  std::fprintf(stderr, "SHORTLIST_ISA: '%s' is no instruction set of this machine\n", name);
  return false;
}

PlainRead::PlainRead(ThreadPool& pool, int64_t buffer_bytes) : pool_(pool), buffer_(buffer_bytes) {
  std::memset(buffer_.data(), 1, static_cast<size_t>(buffer_bytes));
}

double PlainRead::Seconds(int64_t bytes) {
  const bool wide = DetectIsa() >= Isa::kAvx512;
  const double begin = SteadySeconds();
  for (int64_t left = bytes; left > 0;) {
    const int64_t part = std::min(left, buffer_.bytes() - position_);
    const char* data = static_cast<const char*>(buffer_.data()) + position_;
    pool_.ParallelFor(part, /*grain=*/4096, [&](int64_t from, int64_t to) {
      sink += wide ? ReadAvx512(data + from, to - from) : ReadPlain(data + from, to - from);
    });
    left -= part;
    position_ = (position_ + part) % buffer_.bytes();
  }
  return SteadySeconds() - begin;
}

double PeakDotSeconds(double flops, DType dtype, ThreadPool& pool) {
  // Multiply-adds per step and register, number of registers, and the loop that runs them.
  struct Peak {
    int products;
    int registers;
    float (*run)();
  };
  const bool has_tiles = CurrentIsa() == Isa::kAmx;
  const bool has_dots = DetectIsa() >= Isa::kAvx512Bf16;
  const Peak peak = has_tiles && IsQuantized(dtype)      ? Peak{16384, kPeakTiles, TilePeak<true>}
                    : has_tiles && dtype == DType::kBf16 ? Peak{8192, kPeakTiles, TilePeak<false>}
                    : has_dots && IsQuantized(dtype)     ? Peak{64, kPeakSums, DotPeakBytes}
                    : has_dots && dtype == DType::kBf16  ? Peak{32, kPeakSums, DotPeakBf16}
                    : DetectIsa() >= Isa::kAvx512        ? Peak{16, kPeakSums, DotPeakFma512}
                                                         : Peak{8, kPeakSumsAvx2, DotPeakFma};
  const double flops_of_loop =
      2.0 * peak.products * peak.registers * kPeakSteps * pool.num_threads();
  const double begin = SteadySeconds();
  pool.ParallelFor(pool.num_threads(), /*grain=*/1,
                   [&](int64_t, int64_t) { sink += static_cast<int64_t>(peak.run()); });
  return (SteadySeconds() - begin) * flops / flops_of_loop;
}

}  // namespace shortlist
