#ifndef SHORTLIST_MODEL_CHECKPOINT_GENERATION_CONFIG_H_
#define SHORTLIST_MODEL_CHECKPOINT_GENERATION_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "model/checkpoint/config_fields.h"
#include "request/sampling_table.h"

namespace shortlist {

/// A checkpoint's sampling parameters for requests that set none; nullopt: not specified.
struct SamplingDefaults {
  bool do_sample = false;  // false: greedy, and fields with only_sampled are not read
  SamplingValues values;   // a temperature is above 0
  std::optional<int64_t> max_new_tokens;  // at least 1

  /// Overwrites the fields of `params` that the checkpoint sets, except max_new_tokens.
  void ApplyTo(SamplingParams& params) const;
};

/// Contents of generation_config.json. Its max_length is not kept: every request has a limit in new
/// tokens, which takes precedence.
struct GenerationConfig {
  std::optional<std::vector<int32_t>> eos_token_ids;  // nullopt: use config.json's
  SamplingDefaults sampling;
};

/// Returns the ids of `eos_token_id`, an id or a list of ids, without duplicates; nullopt if it is
/// absent. InvalidArgument for an id outside [0, vocab_size).
absl::StatusOr<std::optional<std::vector<int32_t>>> ReadEosIds(const ConfigFields& fields,
                                                               int64_t vocab_size);

/// InvalidArgument names the field, its value and bound. Unimplemented names an unsupported field
/// that would change the output, such as no_repeat_ngram_size.
absl::StatusOr<GenerationConfig> ParseGenerationConfig(const ConfigFields& fields,
                                                       int64_t vocab_size);

/// Parses generation_config.json. Returns an empty configuration if there is no such file.
absl::StatusOr<GenerationConfig> ReadGenerationConfig(const ModelSource& source,
                                                      int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_GENERATION_CONFIG_H_
