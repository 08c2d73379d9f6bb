#include "kernels/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/noise.h"

// One body, compiled for several vector widths: every operation is element-wise IEEE arithmetic
// without contraction, so all widths give the same bits and the choice never shows in the output.
#if defined(__x86_64__)
#define SHORTLIST_FOR_AVX512 \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))
#define SHORTLIST_FOR_AVX2 __attribute__((target("avx2")))
#endif

namespace shortlist {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kBlock = 256;

/// exp(x) for x <= 0, relative error below 1e-6; 0 below -87.
SHORTLIST_INLINE float ExpNonPositive(float x) {
  const float scaled = x * 1.44269504f;
  const float rounded = (scaled + 12582912.0f) - 12582912.0f;  // to the nearest integer
  const float r = (x - rounded * 0.693359375f) - rounded * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const float clamped = std::max(rounded, -126.0f);
  const float power = std::bit_cast<float>((static_cast<int32_t>(clamped) + 127) << 23);
  return x < -87.0f ? 0.0f : p * power;
}

struct Race {
  const float* logits;
  const int32_t* ids;  // or null
  int64_t count;
  float max;
  uint64_t key;
};

/// Arrival times of racers begin .. begin + n - 1, as bit patterns: for floats that are not
/// negative they order as the values do, and integer minima vectorise where float ones may not.
template <bool kHasIds>
SHORTLIST_INLINE int32_t ArrivalTimes(const Race& race, int64_t begin, int64_t n, int32_t* times) {
  int32_t first = std::bit_cast<int32_t>(kInfinity);
  for (int64_t i = 0; i < n; ++i) {
    const float logit = race.logits[begin + i];
    int32_t id = static_cast<int32_t>(begin + i);
    if constexpr (kHasIds) id = race.ids[begin + i];
    // A NaN fails the comparison and gets weight 0: infinite time, never chosen.
    const float weight = ExpNonPositive(logit <= race.max ? logit - race.max : -kInfinity);
    times[i] = std::bit_cast<int32_t>(ExponentialOf(NoiseOf(race.key, id)) / weight);
    first = std::min(first, times[i]);
  }
  return first;
}

/// The first to arrive; ties go to the lower id, -1 when nobody arrives.
SHORTLIST_INLINE int64_t RunRace(const Race& race) {
  const int32_t never = std::bit_cast<int32_t>(kInfinity);
  int32_t best_time = never;
  int64_t best = -1;
  int32_t times[kBlock];
  for (int64_t begin = 0; begin < race.count; begin += kBlock) {
    const int64_t n = std::min(kBlock, race.count - begin);
    const int32_t first = race.ids != nullptr ? ArrivalTimes<true>(race, begin, n, times)
                                              : ArrivalTimes<false>(race, begin, n, times);
    if (first > best_time || first == never) continue;
    for (int64_t i = 0; i < n; ++i) {
      if (times[i] != first) continue;
      const int64_t index = begin + i;
      const bool lower = best < 0 || (race.ids != nullptr && race.ids[index] < race.ids[best]);
      if (first < best_time || lower) {
        best_time = first;
        best = index;
      }
    }
  }
  return best;
}

/// Largest value, NaN skipped; -infinity for none. Through integers ordered as the floats are,
/// because a float maximum does not vectorise.
SHORTLIST_INLINE float MaxOf(const float* values, int64_t count) {
  const auto ordered = [](int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); };
  const int32_t lowest = ordered(std::bit_cast<int32_t>(-kInfinity));
  int32_t best = lowest;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t key = ordered(std::bit_cast<int32_t>(values[i]));
    best = std::max(best, values[i] == values[i] ? key : lowest);
  }
  return std::bit_cast<float>(ordered(best));
}

SHORTLIST_INLINE double SumExp(const float* values, int64_t count, float max) {
  // Lane l adds up terms l, l + kLanes, ... of each block, the same whatever the vector width.
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  float terms[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    for (int64_t i = 0; i < n; ++i) {
      const float value = values[begin + i];
      terms[i] = ExpNonPositive(value <= max ? value - max : -kInfinity);
    }
    for (int64_t i = n; i % kLanes != 0; ++i) terms[i] = 0.0f;
    for (int64_t i = 0; i < n; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += terms[i + l];
    }
  }
  double total = 0.0;
  for (double lane : lanes) total += lane;
  return total;
}

struct Functions {
  int64_t (*race)(const Race&);
  float (*max)(const float*, int64_t);
  double (*sum_exp)(const float*, int64_t, float);
};

#if defined(__x86_64__)
SHORTLIST_FOR_AVX512 int64_t RaceAvx512(const Race& race) { return RunRace(race); }
SHORTLIST_FOR_AVX512 float MaxAvx512(const float* v, int64_t n) { return MaxOf(v, n); }
SHORTLIST_FOR_AVX512 double SumExpAvx512(const float* v, int64_t n, float m) {
  return SumExp(v, n, m);
}
SHORTLIST_FOR_AVX2 int64_t RaceAvx2(const Race& race) { return RunRace(race); }
SHORTLIST_FOR_AVX2 float MaxAvx2(const float* v, int64_t n) { return MaxOf(v, n); }
SHORTLIST_FOR_AVX2 double SumExpAvx2(const float* v, int64_t n, float m) { return SumExp(v, n, m); }
#endif
int64_t RacePlain(const Race& race) { return RunRace(race); }
float MaxPlain(const float* v, int64_t n) { return MaxOf(v, n); }
double SumExpPlain(const float* v, int64_t n, float m) { return SumExp(v, n, m); }

const Functions& Chosen() {
  static const Functions functions = [] {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
      return Functions{RaceAvx512, MaxAvx512, SumExpAvx512};
    }
    if (__builtin_cpu_supports("avx2")) return Functions{RaceAvx2, MaxAvx2, SumExpAvx2};
#endif
    return Functions{RacePlain, MaxPlain, SumExpPlain};
  }();
  return functions;
}

}  // namespace

float UniformNoise(uint64_t seed, int64_t position, uint32_t stream, int32_t id) {
  return NoiseOf(NoiseKey(seed, position, stream), id);
}

int64_t SampleRaceCpu(const float* logits, const int32_t* ids, int64_t count, uint64_t seed,
                      int64_t position, uint32_t stream) {
  const float max = Chosen().max(logits, count);
  if (max == -kInfinity) return -1;
  if (max == kInfinity) {  // infinite logits outweigh all others: the lowest id of them
    int64_t best = -1;
    for (int64_t i = 0; i < count; ++i) {
      if (logits[i] == kInfinity && (best < 0 || (ids != nullptr && ids[i] < ids[best]))) best = i;
    }
    return best;
  }
  return Chosen().race({logits, ids, count, max, NoiseKey(seed, position, stream)});
}

float LargestCpu(const float* values, int64_t count) { return Chosen().max(values, count); }

double LogSumExpCpu(const float* values, int64_t count) {
  const float max = Chosen().max(values, count);
  if (std::isinf(max)) return max;
  return max + std::log(Chosen().sum_exp(values, count, max));
}

double LargestProbabilityCpu(const float* values, int64_t count) {
  const float max = Chosen().max(values, count);
  if (std::isinf(max)) return max > 0.0f ? 1.0 : 0.0;
  return 1.0 / Chosen().sum_exp(values, count, max);
}

}  // namespace shortlist
