#ifndef SHORTLIST_KERNELS_CUDA_SELECTION_H_
#define SHORTLIST_KERNELS_CUDA_SELECTION_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/noise.h"

namespace shortlist {

// How a head's epilogue handles a score, for the kernels and for the tests on the host: the order
// of candidates, sums of exponentials, and noise.

inline constexpr float kFloatInfinity = __builtin_inff();

/// Maps floats to integers in the same order: NaN as -infinity, -0 as +0. The result is above 0.
SHORTLIST_HOST_DEVICE inline uint32_t OrderedBits(float value) {
  const float number = value == value ? value + 0.0f : -kFloatInfinity;
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

SHORTLIST_HOST_DEVICE inline float OrderedValue(uint32_t ordered) {
  return std::bit_cast<float>(ordered & 0x80000000u ? ordered & 0x7fffffffu : ~ordered);
}

/// Encodes a candidate as one integer: the larger wins. A higher score wins, then the lower id. 0
/// means no candidate and loses to every other. id >= 0.
SHORTLIST_HOST_DEVICE inline uint64_t CandidateKey(float score, int32_t id) {
  return static_cast<uint64_t>(OrderedBits(score)) << 32 | ~static_cast<uint32_t>(id);
}

/// Returns the id of a key; -1 for key 0.
SHORTLIST_HOST_DEVICE inline int32_t CandidateId(uint64_t key) {
  return key == 0 ? -1 : static_cast<int32_t>(~static_cast<uint32_t>(key));
}

/// exp(max) * sum is a sum of exponentials; sum = 0 if there are none.
struct SumExp {
  float max = -kFloatInfinity;
  float sum = 0;
};

/// Returns a + b, exactly a if b is empty. Deterministic for a given order of the arguments.
SHORTLIST_HOST_DEVICE inline SumExp AddSumExp(const SumExp& a, const SumExp& b) {
  if (b.max == -kFloatInfinity) return a;
  if (a.max == -kFloatInfinity) return b;
  const float max = a.max > b.max ? a.max : b.max;
  if (max == kFloatInfinity) return {kFloatInfinity, 1};
  return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

/// Returns the logarithm of the sum; +-infinity if the largest term is +-infinity.
SHORTLIST_HOST_DEVICE inline float LogOf(const SumExp& s) {
  return s.max == kFloatInfinity || s.max == -kFloatInfinity ? s.max : s.max + logf(s.sum);
}

/// Returns logit + Gumbel noise, whose argmax is the race of kernels/sampling.h. The caller leaves
/// out logits of -infinity and NaN. `key` is from NoiseKey.
SHORTLIST_HOST_DEVICE inline float PerturbedScore(float logit, uint64_t key, int32_t id) {
  return logit - logf(ExponentialOf(NoiseOf(key, id)));
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_CUDA_SELECTION_H_
