#ifndef SHORTLIST_KERNELS_SAMPLING_H_
#define SHORTLIST_KERNELS_SAMPLING_H_

#include <cstdint>

namespace shortlist {

/// Returns counter-based noise: a pure function of its arguments, uniform in the open interval (0,
/// 1), independent for distinct (seed, position, stream, id). It has no state, so target and draft,
/// and any two schedules, see the same noise at the same place.
float UniformNoise(uint64_t seed, int64_t position, uint32_t stream, int32_t id);

/// Entrants of a race: logits [count], and their token ids [count], or null for ids 0 .. count - 1.
/// inverse_temperature is above 0 and finite.
struct RaceRow {
  const float* logits = nullptr;
  const int32_t* ids = nullptr;
  int64_t count = 0;
  float inverse_temperature = 1.0f;
};

/// Returns the inverse of a temperature in (0, 1e30]. The result is at most the largest float, even
/// if 1 / temperature exceeds it.
float InverseTemperature(double temperature);

/// Selects the noise of a race.
struct RaceNoise {
  uint64_t seed = 0;
  int64_t position = 0;
  uint32_t stream = 0;
};

/// Draws once from the categorical distribution with weights w[i] = exp((logits[i] - max) *
/// inverse_temperature), as the exponential race
///   argmin over i of t[i] = -log(1 - UniformNoise(seed, position, stream, ids[i])) / w[i],
/// which is the Gumbel-max choice argmax of logits[i] * inverse_temperature + Gumbel(i). Two
/// distributions sampled with the same noise tend to choose the same id: this couples draft and
/// target (Daliri, Musco, Suresh 2024).
///
/// Logits of -infinity and NaN are never chosen; +infinity wins over every finite logit. Returns
/// the index i, or -1 if there is none to choose. Deterministic: ties go to the lower id.
int64_t SampleRaceCpu(const RaceRow& row, const RaceNoise& noise);

/// The winner of a race and its share, (1 / t[winner]) / (sum over i of 1 / t[i]). The share is the
/// probability that the winner wins again with the same noise if every log-weight has an
/// independent standard Gumbel error. So a draft's share estimates how likely the target's race has
/// the same winner.
struct RaceWinner {
  int64_t index = -1;
  double share = 0.0;  // 0 if index is -1, 1 for a logit of +infinity
};

/// Same choice as SampleRaceCpu(), with the winner's share. Slower: it needs every t[i].
RaceWinner SampleRaceWithShareCpu(const RaceRow& row, const RaceNoise& noise);

/// Returns the largest value, skipping NaN; -infinity if there is none.
float LargestCpu(const float* values, int64_t count);

/// Returns log(sum over i of exp(values[i])), with NaN as -infinity. Returns +infinity if a value
/// is +infinity, and -infinity if none is above -infinity or count is 0. Summed in double, in one
/// order.
double LogSumExpCpu(const float* values, int64_t count);

/// Returns the largest element of softmax(values), with NaN as -infinity: 0 if no value is above
/// -infinity, 1 if one is +infinity. Summed in the same way as LogSumExpCpu().
double LargestProbabilityCpu(const float* values, int64_t count);

}  // namespace shortlist

#endif  // SHORTLIST_KERNELS_SAMPLING_H_
