#ifndef SHORTLIST_KERNELS_SAMPLING_H_
#define SHORTLIST_KERNELS_SAMPLING_H_

#include <cstdint>

namespace shortlist {

/// Counter-based noise: a pure function of its arguments, uniform in the open interval (0, 1),
/// independent for distinct (seed, position, stream, id). No state, so target and draft, and any
/// two schedules, see the same noise at the same place.
float UniformNoise(uint64_t seed, int64_t position, uint32_t stream, int32_t id);

/// Who runs in a race: logits [count], and their token ids [count], or null for ids 0 .. count - 1.
/// inverse_temperature above 0, finite.
struct RaceRow {
  const float* logits = nullptr;
  const int32_t* ids = nullptr;
  int64_t count = 0;
  float inverse_temperature = 1.0f;
};

/// The inverse of a temperature in (0, 1e30], finite also where it is none of the floats.
float InverseTemperature(double temperature);

/// Whose noise decides it.
struct RaceNoise {
  uint64_t seed = 0;
  int64_t position = 0;
  uint32_t stream = 0;
};

/// One draw from the categorical distribution with weights
/// w[i] = exp((logits[i] - max) * inverse_temperature), as the exponential race
///   argmin over i of t[i] = -log(1 - UniformNoise(seed, position, stream, ids[i])) / w[i],
/// which is the Gumbel-max choice argmax of logits[i] * inverse_temperature + Gumbel(i). Two
/// distributions that call this with the same noise tend to choose the same id: this couples draft
/// and target (Daliri, Musco, Suresh 2024).
///
/// Logits of -infinity and NaN are never chosen; +infinity wins over every finite one. Returns the
/// index i, or -1 when there is none to choose. Deterministic: ties go to the lower id.
int64_t SampleRaceCpu(const RaceRow& row, const RaceNoise& noise);

/// A race's winner, and (1 / t[winner]) / (sum over i of 1 / t[i]): the chance that it wins against
/// the same noise once more when every log-weight is off by a standard Gumbel error of its own. So
/// a draft's share tells how likely the target's race has the same winner.
struct RaceWinner {
  int64_t index = -1;
  double share = 0.0;  // 0 where index is -1, 1 for a logit of +infinity
};

/// The same choice, and its share. Dearer: every racer must arrive.
RaceWinner SampleRaceWithShareCpu(const RaceRow& row, const RaceNoise& noise);

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
