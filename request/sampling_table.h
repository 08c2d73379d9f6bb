#ifndef SHORTLIST_REQUEST_SAMPLING_TABLE_H_
#define SHORTLIST_REQUEST_SAMPLING_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "request/sampling_params.h"

namespace shortlist {

struct NumberRange {
  double low, high;
  bool above_low = false;  // `low` itself is not allowed
};

/// A number of SamplingParams, as flags, generation_config.json, requests and /openapi.json name,
/// bound and describe it. Its default is that of a default SamplingParams.
struct SamplingField {
  const char* name;  // in every dialect; the flag has hyphens
  // Exactly one of the two is set.
  double SamplingParams::*number;
  int64_t SamplingParams::*count;
  NumberRange range;           // of the engine, flags and generation_config.json
  NumberRange request_range;   // of a request, as in OpenAI's and SGLang's dialects
  bool model_may_set = false;  // generation_config.json holds a default for it
  bool only_sampled = false;   // that default does not count where the model is greedy
  const char* flag_help;       // null: no flag

  double Get(const SamplingParams& params) const {
    return number != nullptr ? params.*number : static_cast<double>(params.*count);
  }
  void Set(SamplingParams& params, double value) const {
    if (number != nullptr) {
      params.*number = value;
    } else {
      params.*count = static_cast<int64_t>(value);
    }
  }
  std::string Flag() const;  // "--min-p"
};

inline constexpr size_t kNumSamplingFields = 7;
extern const std::array<SamplingField, kNumSamplingFields> kSamplingFields;

/// A value for some of kSamplingFields, in their order.
using SamplingValues = std::array<std::optional<double>, kNumSamplingFields>;

}  // namespace shortlist

#endif  // SHORTLIST_REQUEST_SAMPLING_TABLE_H_
