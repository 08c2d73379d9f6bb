#include "request/sampling_table.h"

#include <algorithm>
#include <limits>

namespace shortlist {
namespace {

using Params = SamplingParams;

constexpr double kMaxCount = std::numeric_limits<int32_t>::max();

}  // namespace

const std::array<SamplingField, kNumSamplingFields> kSamplingFields = {{
    {.name = "temperature",
     .number = &Params::temperature,
     .range = {0.0, 100.0},
     .request_range = {0.0, 2.0},
     .model_may_set = true,
     .only_sampled = true,
     .flag_help = "0 is greedy"},
    {.name = "top_p",
     .number = &Params::top_p,
     .range = {0.0, 1.0, /*above_low=*/true},
     .request_range = {0.0, 1.0, /*above_low=*/true},
     .model_may_set = true,
     .only_sampled = true,
     .flag_help = "Keep the fewest tokens whose probabilities reach this"},
    {.name = "top_k",
     .count = &Params::top_k,
     .range = {0.0, kMaxCount},
     .request_range = {-1.0, kMaxCount + 1.0},
     .model_may_set = true,
     .only_sampled = true,
     .flag_help = "Keep the likeliest tokens; 0 keeps all"},
    {.name = "min_p",
     .number = &Params::min_p,
     .range = {0.0, 1.0},
     .request_range = {0.0, 1.0},
     .model_may_set = true,
     .only_sampled = true,
     .flag_help = "Keep tokens with at least this share of the best probability"},
    {.name = "repetition_penalty",
     .number = &Params::repetition_penalty,
     .range = {0.0, 100.0, /*above_low=*/true},
     .request_range = {0.0, 2.0, /*above_low=*/true},
     .model_may_set = true},
    {.name = "presence_penalty",
     .number = &Params::presence_penalty,
     .range = {-100.0, 100.0},
     .request_range = {-2.0, 2.0}},
    {.name = "frequency_penalty",
     .number = &Params::frequency_penalty,
     .range = {-100.0, 100.0},
     .request_range = {-2.0, 2.0}},
}};

std::string SamplingField::Flag() const {
  std::string flag = std::string("--") + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace shortlist
