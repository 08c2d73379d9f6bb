#ifndef SHORTLIST_MODEL_GENERATION_CONFIG_H_
#define SHORTLIST_MODEL_GENERATION_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/config_fields.h"

namespace shortlist {

/// How a checkpoint wants to be sampled where the user says nothing. Without "do_sample": true in
/// generation_config.json that is greedily; a filter that the file does not name is off.
struct SamplingDefaults {
  double temperature = 0.0;               // 0: greedy; in [0, 100]
  int64_t top_k = 0;                      // 0: off
  double top_p = 1.0;                     // in (0, 1]
  double min_p = 0.0;                     // in [0, 1]
  double repetition_penalty = 1.0;        // in (0, 100]
  std::optional<int64_t> max_new_tokens;  // at least 1; nullopt: it does not say
};

struct GenerationConfig {
  std::optional<std::vector<int32_t>> eos_token_ids;  // nullopt: config.json's count
  SamplingDefaults sampling;
};

/// The ids of `eos_token_id`, an id or a list of ids, without repetitions; nullopt when it is
/// absent. InvalidArgument for an id outside [0, vocab_size).
absl::StatusOr<std::optional<std::vector<int32_t>>> ReadEosIds(const ConfigFields& fields,
                                                               int64_t vocab_size);

/// The contents of generation_config.json. InvalidArgument names the field, its value and bound;
/// Unimplemented one that would change the output, such as no_repeat_ngram_size, and is not obeyed.
absl::StatusOr<GenerationConfig> ReadGenerationConfig(const ConfigFields& fields,
                                                      int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_GENERATION_CONFIG_H_
