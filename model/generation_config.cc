#include "model/generation_config.h"

#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {

using nlohmann::json;

absl::StatusOr<std::optional<std::vector<int32_t>>> ReadEosIds(const ConfigFields& fields,
                                                               int64_t vocab_size) {
  const json* value = fields.Find("eos_token_id");
  if (value == nullptr) return std::nullopt;
  const json list = value->is_array() ? *value : json::array({*value});
  std::vector<int32_t> ids;
  for (const json& id : list) {
    const json holder = {{"eos_token_id", id}};
    SHORTLIST_ASSIGN_OR_RETURN(
        const int64_t number,
        ConfigFields(fields.where(), holder).Int("eos_token_id", 0, vocab_size - 1));
    if (std::find(ids.begin(), ids.end(), number) == ids.end())
      ids.push_back(static_cast<int32_t>(number));
  }
  return ids;
}

absl::StatusOr<GenerationConfig> ReadGenerationConfig(const ConfigFields& fields,
                                                      int64_t vocab_size) {
  GenerationConfig config;
  SamplingDefaults& sampling = config.sampling;
  SHORTLIST_ASSIGN_OR_RETURN(config.eos_token_ids, ReadEosIds(fields, vocab_size));
  SHORTLIST_ASSIGN_OR_RETURN(sampling.repetition_penalty,
                             fields.Real("repetition_penalty", 0.0, 100.0, /*otherwise=*/1.0));
  SHORTLIST_ASSIGN_OR_RETURN(const bool do_sample, fields.Bool("do_sample", false));
  if (!do_sample) return config;
  SHORTLIST_ASSIGN_OR_RETURN(sampling.temperature,
                             fields.Real("temperature", 0.0, 100.0, /*otherwise=*/1.0));
  SHORTLIST_ASSIGN_OR_RETURN(
      sampling.top_k, fields.Int("top_k", 0, std::numeric_limits<int32_t>::max(), /*otherwise=*/0));
  SHORTLIST_ASSIGN_OR_RETURN(sampling.top_p, fields.Real("top_p", 0.0, 1.0, /*otherwise=*/1.0));
  constexpr double kBelowZero = -std::numeric_limits<double>::denorm_min();
  SHORTLIST_ASSIGN_OR_RETURN(sampling.min_p,
                             fields.Real("min_p", kBelowZero, 1.0, /*otherwise=*/0.0));
  return config;
}

}  // namespace shortlist
