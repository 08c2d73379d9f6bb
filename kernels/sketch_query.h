#ifndef SHORTLIST_KERNELS_SKETCH_QUERY_H_
#define SHORTLIST_KERNELS_SKETCH_QUERY_H_

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/host_device.h"
#include "kernels/noise.h"
#include "kernels/sketch.h"

namespace shortlist {

/// One token's query and race, prepared. The kernels of all processors use this form, so that they
/// make the same choice. A row's key is scale * dot * factor, plus its noise, where `dot`, an
/// integer, is codes . query.
struct SketchQuery {
  float factor;
  int32_t offset;  // -8 times the sum of the codes: dot = offset + stored codes . query
  bool races;
  uint64_t noise_key;
  alignas(64) int8_t codes[kMaxSketchRank];

  /// Overwrites all previous contents, except `codes` past `rank`.
  SHORTLIST_HOST_DEVICE void Set(const float* query, int64_t rank, const SketchRace& race) {
    factor = 0.0f;
    offset = 0;
    races = false;
    for (int64_t k = 0; k < rank; ++k) codes[k] = 0;
    float largest = 0.0f;
    for (int64_t k = 0; k < rank; ++k) {
      const float magnitude = fabsf(query[k]);
      if (!(magnitude < __builtin_inff())) return;
      if (magnitude > largest) largest = magnitude;
    }
    const float inverse = largest > 1e-30f ? 127.0f / largest : 0.0f;
    int32_t sum = 0;
    for (int64_t k = 0; k < rank; ++k) {
      codes[k] = static_cast<int8_t>(rintf(query[k] * inverse));
      sum += codes[k];
    }
    offset = -8 * sum;
    // Noise is measured in powers of two. Noise too small to affect the scores is left out.
    constexpr float kLog2E = 1.44269504f, kMostFactor = 1e6f;
    const float noisy = largest / 127.0f * race.inverse_temperature * kLog2E;
    races = race.inverse_temperature > 0.0f && noisy < kMostFactor;
    factor = races ? noisy : 1.0f;
    noise_key = NoiseKey(race.seed, race.position, /*stream=*/0);
  }
};

/// Returns -log2 of the uniform number that NoiseOf makes from the same bits, up to a constant. The
/// exponent and mantissa of a float, read as one number, approximate its logarithm.
SHORTLIST_HOST_DEVICE SHORTLIST_INLINE float SketchNoise(uint64_t key, int32_t id) {
  const uint32_t low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  const uint32_t bits = Mix32(Mix32(static_cast<uint32_t>(id) + low) ^ high) >> 1;
  const float uniform = static_cast<float>(static_cast<int32_t>(bits)) + 0.5f;
  return static_cast<float>(std::bit_cast<int32_t>(uniform)) * -0x1p-23f;
}

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SKETCH_QUERY_H_
