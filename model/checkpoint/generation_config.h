#ifndef SHORTLIST_MODEL_CHECKPOINT_GENERATION_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_GENERATION_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {

/// How a checkpoint wants to be sampled where the user says nothing; nullopt: it does not say.
struct SamplingDefaults {
  bool do_sample = false;                    // false: greedily, and the four below are not read
  std::optional<double> temperature;         // in (0, 100]
  std::optional<int64_t> top_k;              // 0: off
  std::optional<double> top_p;               // in (0, 1]
  std::optional<double> min_p;               // in [0, 1]
  std::optional<double> repetition_penalty;  // in (0, 100]
  std::optional<int64_t> max_new_tokens;     // at least 1
};

/// generation_config.json. Its max_length is not kept: a length in new tokens, which every request
/// has, outranks it.
struct GenerationConfig {
  std::optional<std::vector<int32_t>> eos_token_ids;  // nullopt: config.json's count
  SamplingDefaults sampling;
};

/// The ids of `eos_token_id`, an id or a list of ids, without repetitions; nullopt when it is
/// absent. InvalidArgument for an id outside [0, vocab_size).
absl::StatusOr<std::optional<std::vector<int32_t>>> ReadEosIds(const ConfigFields& fields,
                                                               int64_t vocab_size);

/// InvalidArgument names the field, its value and bound; Unimplemented one that would change the
/// output, such as no_repeat_ngram_size, and is not obeyed.
absl::StatusOr<GenerationConfig> ParseGenerationConfig(const ConfigFields& fields,
                                                       int64_t vocab_size);

/// Parses generation_config.json; nothing is set where there is none.
absl::StatusOr<GenerationConfig> ReadGenerationConfig(const ModelSource& source,
                                                      int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_GENERATION_CONFIG_H_
