#ifndef SHORTLIST_KERNELS_NOISE_H_
#define SHORTLIST_KERNELS_NOISE_H_

#include <bit>
#include <cstdint>

#include "kernels/host_device.h"

#define SHORTLIST_INLINE inline __attribute__((always_inline))

namespace shortlist {

/// The counter-based noise of kernels/sampling.h, split into parts for vector loops and for CUDA.
/// Every operation is IEEE arithmetic without contraction, so vector loops and CUDA give the same
/// bits.

SHORTLIST_HOST_DEVICE inline uint64_t SplitMix64(uint64_t x) {  // Steele, Lea, Flood 2014
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

SHORTLIST_HOST_DEVICE inline uint64_t NoiseKey(uint64_t seed, int64_t position, uint32_t stream) {
  return SplitMix64(SplitMix64(SplitMix64(seed) + static_cast<uint64_t>(position)) + stream);
}

SHORTLIST_HOST_DEVICE SHORTLIST_INLINE uint32_t Mix32(uint32_t x) {  // MurmurHash3's finaliser
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}

/// Uniform in (0, 1) with full relative precision near 0, where the winners of a race lie.
SHORTLIST_HOST_DEVICE SHORTLIST_INLINE float NoiseOf(uint64_t key, int32_t id) {
  const uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  const uint32_t bits = Mix32(Mix32(static_cast<uint32_t>(id) + low) ^ high);
  const float noise = (static_cast<float>(bits) + 0.5f) * 0x1p-32f;
  return noise < 1.0f - 0x1p-24f ? noise : 1.0f - 0x1p-24f;
}

/// Returns -log(1 - v) for v in (0, 1), a standard exponential. Relative error below 1e-6, also for
/// tiny v.
SHORTLIST_HOST_DEVICE SHORTLIST_INLINE float ExponentialOf(float v) {
  const float u = 1.0f - v;
  const int32_t bits = std::bit_cast<int32_t>(u) - 0x3f3504f3;  // relative to sqrt(1/2)
  const float exponent = static_cast<float>(bits >> 23);
  const float mantissa = std::bit_cast<float>((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  float p = 7.0376836292e-2f;
  p = p * mantissa + -1.1514610310e-1f;
  p = p * mantissa + 1.1676998740e-1f;
  p = p * mantissa + -1.2420140846e-1f;
  p = p * mantissa + 1.4249322787e-1f;
  p = p * mantissa + -1.6668057665e-1f;
  p = p * mantissa + 2.0000714765e-1f;
  p = p * mantissa + -2.4999993993e-1f;
  p = p * mantissa + 3.3333331174e-1f;
  const float square = mantissa * mantissa;
  const float log_u = (p * mantissa - 0.5f) * square + mantissa + exponent * 0.693147181f;
  // 1 - v rounds; log(u) * v / (1 - u) undoes the rounding (Kahan's log1p).
  const float rounded_v = 1.0f - u;
  return rounded_v == 0.0f ? v : -log_u * (v / rounded_v);
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_NOISE_H_
