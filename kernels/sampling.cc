#include "kernels/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/noise.h"

// One body, compiled for several vector widths. Every operation is element-wise IEEE arithmetic
// without contraction. So all widths give the same bits, and the choice of width never affects the
// output.
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

/// Returns the largest value, skipping NaN; -infinity for none. Compares integers that are ordered
/// like the floats, because a float maximum does not vectorise.
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

/// Adds terms 0 .. n - 1 to the lanes, term i to lane i % kLanes. The order is the same for every
/// vector width.
constexpr int64_t kLanes = 16;
SHORTLIST_INLINE void AddToLanes(float* terms, int64_t n, double* lanes) {
  for (int64_t i = n; i % kLanes != 0; ++i) terms[i] = 0.0f;
  for (int64_t i = 0; i < n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += terms[i + l];
  }
}

SHORTLIST_INLINE double SumExp(const float* values, int64_t count, float max) {
  double lanes[kLanes] = {};
  float terms[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    for (int64_t i = 0; i < n; ++i) {
      const float value = values[begin + i];
      terms[i] = ExpNonPositive(value <= max ? value - max : -kInfinity);
    }
    AddToLanes(terms, n, lanes);
  }
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

struct Race {
  const float* logits;
  const int32_t* ids;  // or null
  int64_t count;
  float inverse_temperature;
  float max;  // of logits, finite
  uint64_t key;

  int32_t IdAt(int64_t i) const { return ids != nullptr ? ids[i] : static_cast<int32_t>(i); }
};

/// Returns exp((logit - max) / temperature). A NaN fails the comparison and gets weight 0, which
/// means infinite time: it is never chosen. (GCC compiles the select without a branch as long as it
/// holds no product.)
SHORTLIST_INLINE float WeightOf(const Race& race, float logit) {
  const float below = logit <= race.max ? logit - race.max : -kInfinity;
  return ExpNonPositive(below * race.inverse_temperature);
}

/// Writes the noise of racers begin .. begin + n - 1; returns the lowest. This function and those
/// below compare non-negative floats as integers: the order is the same, and integer minima
/// vectorise where float minima may not.
template <bool kHasIds>
SHORTLIST_INLINE float NoiseOfBlock(const Race& race, int64_t begin, int64_t n, float* noise) {
  int32_t lowest = std::bit_cast<int32_t>(1.0f);
  for (int64_t i = 0; i < n; ++i) {
    int32_t id = static_cast<int32_t>(begin + i);
    if constexpr (kHasIds) id = race.ids[begin + i];
    noise[i] = NoiseOf(race.key, id);
    lowest = std::min(lowest, std::bit_cast<int32_t>(noise[i]));
  }
  return std::bit_cast<float>(lowest);
}

/// Turns the noise of racers begin .. begin + n - 1 into their arrival times; returns the earliest.
SHORTLIST_INLINE float ArrivalTimes(const Race& race, int64_t begin, int64_t n, float* noise) {
  int32_t first = std::bit_cast<int32_t>(kInfinity);
  for (int64_t i = 0; i < n; ++i) {
    noise[i] = ExponentialOf(noise[i]) / WeightOf(race, race.logits[begin + i]);
    first = std::min(first, std::bit_cast<int32_t>(noise[i]));
  }
  return std::bit_cast<float>(first);
}

/// Returns the first racer to arrive; ties go to the lower id, -1 if none arrives. If kWantsShare,
/// also returns the share of its rate (one over its time) in the sum of all rates.
template <bool kWantsShare>
SHORTLIST_INLINE RaceWinner RunRace(const Race& race) {
  float best_time = kInfinity;
  int64_t best = -1;
  float times[kBlock];
  double rates[kLanes] = {};
  for (int64_t begin = 0; begin < race.count; begin += kBlock) {
    const int64_t n = std::min(kBlock, race.count - begin);
    const float lowest_noise = race.ids != nullptr ? NoiseOfBlock<true>(race, begin, n, times)
                                                   : NoiseOfBlock<false>(race, begin, n, times);
    if constexpr (!kWantsShare) {
      // No racer arrives before lowest noise / largest weight, as -log(1 - v) is at least v. So
      // most blocks are out of the race before a logarithm is taken. The factor covers rounding.
      const float largest_weight = WeightOf(race, MaxOf(race.logits + begin, n));
      if (lowest_noise > best_time * largest_weight * 1.00001f) continue;
    }
    const float first = ArrivalTimes(race, begin, n, times);
    if (first <= best_time && first < kInfinity) {
      for (int64_t i = 0; i < n; ++i) {
        if (times[i] != first) continue;
        const int64_t index = begin + i;
        if (first < best_time || race.IdAt(index) < race.IdAt(best)) {
          best_time = first;
          best = index;
        }
      }
    }
    if constexpr (kWantsShare) {
      for (int64_t i = 0; i < n; ++i) times[i] = 1.0f / times[i];
      AddToLanes(times, n, rates);
    }
  }
  RaceWinner winner{.index = best};
  if constexpr (kWantsShare) {
    const double total = std::accumulate(rates, rates + kLanes, 0.0);
    if (best >= 0) winner.share = 1.0 / (static_cast<double>(best_time) * total);
  }
  return winner;
}

struct Functions {
  RaceWinner (*race)(const Race&);
  RaceWinner (*race_with_share)(const Race&);
  float (*max)(const float*, int64_t);
  double (*sum_exp)(const float*, int64_t, float);
};

#if defined(__x86_64__)
SHORTLIST_FOR_AVX512 RaceWinner RaceAvx512(const Race& race) { return RunRace<false>(race); }
SHORTLIST_FOR_AVX512 RaceWinner ShareAvx512(const Race& race) { return RunRace<true>(race); }
SHORTLIST_FOR_AVX512 float MaxAvx512(const float* v, int64_t n) { return MaxOf(v, n); }
SHORTLIST_FOR_AVX512 double SumExpAvx512(const float* v, int64_t n, float m) {
  return SumExp(v, n, m);
}
SHORTLIST_FOR_AVX2 RaceWinner RaceAvx2(const Race& race) { return RunRace<false>(race); }
SHORTLIST_FOR_AVX2 RaceWinner ShareAvx2(const Race& race) { return RunRace<true>(race); }
SHORTLIST_FOR_AVX2 float MaxAvx2(const float* v, int64_t n) { return MaxOf(v, n); }
SHORTLIST_FOR_AVX2 double SumExpAvx2(const float* v, int64_t n, float m) { return SumExp(v, n, m); }
#endif
RaceWinner RacePlain(const Race& race) { return RunRace<false>(race); }
RaceWinner SharePlain(const Race& race) { return RunRace<true>(race); }
float MaxPlain(const float* v, int64_t n) { return MaxOf(v, n); }
double SumExpPlain(const float* v, int64_t n, float m) { return SumExp(v, n, m); }

const Functions& Chosen() {
  static const Functions functions = [] {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
      return Functions{RaceAvx512, ShareAvx512, MaxAvx512, SumExpAvx512};
    }
    if (__builtin_cpu_supports("avx2")) return Functions{RaceAvx2, ShareAvx2, MaxAvx2, SumExpAvx2};
#endif
    return Functions{RacePlain, SharePlain, MaxPlain, SumExpPlain};
  }();
  return functions;
}

RaceWinner Run(RaceWinner (*run)(const Race&), const RaceRow& row, const RaceNoise& noise) {
  const float max = Chosen().max(row.logits, row.count);
  if (max == -kInfinity) return {};
  if (max == kInfinity) {  // infinite logits beat all others; among them the lowest id wins
    int64_t best = -1;
    for (int64_t i = 0; i < row.count; ++i) {
      if (row.logits[i] != kInfinity) continue;
      if (best < 0 || (row.ids != nullptr && row.ids[i] < row.ids[best])) best = i;
    }
    return {best, 1.0};
  }
  return run({row.logits, row.ids, row.count, row.inverse_temperature, max,
              NoiseKey(noise.seed, noise.position, noise.stream)});
}

}  // namespace

float UniformNoise(uint64_t seed, int64_t position, uint32_t stream, int32_t id) {
  return NoiseOf(NoiseKey(seed, position, stream), id);
}

float InverseTemperature(double temperature) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::min(1.0 / temperature, kLargest));
}

int64_t SampleRaceCpu(const RaceRow& row, const RaceNoise& noise) {
  return Run(Chosen().race, row, noise).index;
}

RaceWinner SampleRaceWithShareCpu(const RaceRow& row, const RaceNoise& noise) {
  return Run(Chosen().race_with_share, row, noise);
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
