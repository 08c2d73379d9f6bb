#include "model/checkpoint/generation_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {

using nlohmann::json;

namespace {

/// Fields that change the output of transformers' generate(), and the one value (JSON text) that
/// does not. Absent, null and an empty list or object are neutral for every field.
struct NeutralField {
  const char* name;
  const char* neutral;
};
constexpr std::array kNeutralFields = {
    NeutralField{"no_repeat_ngram_size", "0"},
    NeutralField{"encoder_no_repeat_ngram_size", "0"},
    NeutralField{"suppress_tokens", "null"},
    NeutralField{"begin_suppress_tokens", "null"},
    NeutralField{"bad_words_ids", "null"},
    NeutralField{"force_words_ids", "null"},
    NeutralField{"constraints", "null"},
    NeutralField{"sequence_bias", "null"},
    NeutralField{"stop_strings", "null"},
    NeutralField{"forced_bos_token_id", "null"},
    NeutralField{"forced_eos_token_id", "null"},
    NeutralField{"forced_decoder_ids", "null"},
    NeutralField{"min_length", "0"},
    NeutralField{"min_new_tokens", "0"},
    NeutralField{"max_time", "null"},
    NeutralField{"num_beams", "1"},
    NeutralField{"num_beam_groups", "1"},
    NeutralField{"num_return_sequences", "1"},
    NeutralField{"penalty_alpha", "0"},
    NeutralField{"dola_layers", "null"},
    NeutralField{"encoder_repetition_penalty", "1"},
    NeutralField{"exponential_decay_length_penalty", "null"},
    NeutralField{"guidance_scale", "1"},
    NeutralField{"watermarking_config", "null"},
    NeutralField{"token_healing", "false"},
};
/// Sampling filters, which a greedy model does not use.
constexpr std::array kNeutralFilters = {
    NeutralField{"typical_p", "1"},
    NeutralField{"epsilon_cutoff", "0"},
    NeutralField{"eta_cutoff", "0"},
    NeutralField{"top_h", "null"},
};

absl::Status CheckNeutral(const ConfigFields& fields, std::span<const NeutralField> neutral) {
  for (const NeutralField& field : neutral) {
    const json* value = fields.Find(field.name);
    const bool is_neutral = value == nullptr || (value->is_structured() && value->empty()) ||
                            *value == json::parse(field.neutral);
    if (is_neutral) continue;
    return fields.Unsupported(
        field.name, *value,
        absl::StrCat("only ", field.neutral, " is: remove the field to generate without it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> ReadDefault(const ConfigFields& fields, const SamplingField& field) {
  const auto& [low, high, above_low] = field.range;
  if (field.count != nullptr) {
    return fields.Int(field.name, static_cast<int64_t>(low), static_cast<int64_t>(high));
  }
  // Real() excludes its lower bound. So does transformers for a temperature.
  const bool is_temperature = field.number == &SamplingParams::temperature;
  const double below = std::nextafter(low, -std::numeric_limits<double>::infinity());
  return fields.Real(field.name, above_low || is_temperature ? low : below, high);
}

}  // namespace

void SamplingDefaults::ApplyTo(SamplingParams& params) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) kSamplingFields[i].Set(params, *values[i]);
  }
}

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

absl::StatusOr<GenerationConfig> ParseGenerationConfig(const ConfigFields& fields,
                                                       int64_t vocab_size) {
  GenerationConfig config;
  SamplingDefaults& sampling = config.sampling;
  SHORTLIST_RETURN_IF_ERROR(CheckNeutral(fields, kNeutralFields));
  SHORTLIST_ASSIGN_OR_RETURN(config.eos_token_ids, ReadEosIds(fields, vocab_size));
  if (fields.Find("max_new_tokens") != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(
        sampling.max_new_tokens,
        fields.Int("max_new_tokens", 1, std::numeric_limits<int32_t>::max()));
  }
  SHORTLIST_ASSIGN_OR_RETURN(sampling.do_sample, fields.Bool("do_sample", false));
  if (sampling.do_sample) SHORTLIST_RETURN_IF_ERROR(CheckNeutral(fields, kNeutralFilters));
  for (size_t i = 0; i < kSamplingFields.size(); ++i) {
    const SamplingField& field = kSamplingFields[i];
    const bool is_read = field.model_may_set && (sampling.do_sample || !field.only_sampled);
    if (!is_read || fields.Find(field.name) == nullptr) continue;
    SHORTLIST_ASSIGN_OR_RETURN(sampling.values[i], ReadDefault(fields, field));
  }
  return config;
}

absl::StatusOr<GenerationConfig> ReadGenerationConfig(const ModelSource& source,
                                                      int64_t vocab_size) {
  constexpr char kName[] = "generation_config.json";
  SHORTLIST_ASSIGN_OR_RETURN(const auto object, source.ReadObject(kName));
  if (!object) return GenerationConfig();
  return ParseGenerationConfig(ConfigFields(source.PathOf(kName), *object), vocab_size);
}

}  // namespace shortlist
