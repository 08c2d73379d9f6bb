#ifndef SHORTLIST_KERNELS_SAMPLING_H_
#define SHORTLIST_KERNELS_SAMPLING_H_

#include <cstdint>

namespace shortlist {

/// Counter-based noise: a pure function of its arguments, uniform in the open interval (0, 1),
/// independent for distinct (seed, position, stream, id). No state, so target and draft, and any
/// two schedules, see the same noise at the same place.
float UniformNoise(uint64_t seed, int64_t position, uint32_t stream, int32_t id);

/// One draw from the categorical distribution with weights exp(logits[i] - max), as the exponential
/// race
///   argmin over i of -log(UniformNoise(seed, position, stream, ids[i])) / weight[i],
/// which is the Gumbel-max choice argmax of logits[i] + Gumbel(i). Two distributions that call this
/// with the same noise tend to choose the same id: this couples draft and target (Daliri, Musco,
/// Suresh 2024).
///
/// logits: [count]; ids: [count] token ids, or null for ids 0 .. count - 1. Logits of -infinity and
/// NaN are never chosen; +infinity wins over every finite one. Returns the index i, or -1 when
/// there is none to choose. Deterministic: ties go to the lower id.
int64_t SampleRaceCpu(const float* logits, const int32_t* ids, int64_t count, uint64_t seed,
                      int64_t position, uint32_t stream);

/// The largest of the values, NaN skipped; -infinity for none.
float LargestCpu(const float* values, int64_t count);

/// log(sum over i of exp(values[i])), with NaN as -infinity; -infinity when no value is finite or
/// count is 0. Summed in double, in one order.
double LogSumExpCpu(const float* values, int64_t count);

/// The largest of softmax(values), with NaN as -infinity: 0 when no value is above -infinity, 1
/// when one is +infinity. Summed as LogSumExpCpu sums.
double LargestProbabilityCpu(const float* values, int64_t count);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SAMPLING_H_
