#include "serve/openai_request.h"

#include <chrono>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http_target.h"
#include "serve/model_name.h"
#include "serve/sampling_fields.h"

namespace shortlist {

absl::StatusOr<OpenAiRequest> ReadOpenAiRequest(const Service& service, JsonFields& fields,
                                                std::optional<int64_t> default_max_tokens,
                                                int64_t least_max_tokens) {
  const std::string model = fields.String("model", "", kMaxNameBytes);
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  SHORTLIST_RETURN_IF_ERROR(CheckModelName(service.model_name, model));
  OpenAiRequest request;
  GenerateRequest& sampling = request.sampling;
  sampling.max_new_tokens = fields.OptionalInteger("max_tokens", least_max_tokens, kMaxCount);
  if (const auto newer =
          fields.OptionalInteger("max_completion_tokens", least_max_tokens, kMaxCount)) {
    sampling.max_new_tokens = newer;
  }
  if (!sampling.max_new_tokens.has_value()) sampling.max_new_tokens = default_max_tokens;
  sampling.sampling.temperature = ReadTemperature(fields, 1.0, 2.0);
  sampling.sampling.min_new_tokens = fields.Integer("min_tokens", 0, 0, kMaxCount);
  sampling.sampling.seed = ReadSeed(fields, "seed");
  ReadCommonSampling(fields, service.generator->options().tokenizer->size(), sampling);
  ReadScheduling(fields, sampling);
  request.n = fields.Integer("n", 1, 1, kMaxChoices);
  request.rid = fields.String("rid", "", kMaxNameBytes);
  if (request.rid.empty()) request.rid = NewRequestId();
  request.stream = fields.Bool("stream", false);
  if (const nlohmann::json* options = fields.Find("stream_options")) {
    JsonFields stream_options(*options, "stream_options.");
    request.include_usage = stream_options.Bool("include_usage", false);
    SHORTLIST_RETURN_IF_ERROR(stream_options.status());
  }
  if (const nlohmann::json* format = fields.Find("response_format")) {
    JsonFields response_format(*format, "response_format.");
    const std::string type = response_format.String("type", "", kMaxNameBytes);
    SHORTLIST_RETURN_IF_ERROR(response_format.status());
    if (type != "text") {
      fields.Fail("response_format", "only {\"type\": \"text\"} is supported");
    }
  }
  fields.Refuse({"tools", "functions", "audio", "modalities", "prediction", "regex", "ebnf",
                 "json_schema", "guided_json", "guided_regex", "guided_choice", "guided_grammar",
                 "lora_path", "custom_logit_processor"},
                "not supported");
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  return request;
}

nlohmann::ordered_json OpenAiFinishReason(const GenerationEvent& last) {
  if (!last.finished) return nullptr;
  return last.finish_reason == FinishReason::kLength ? "length" : "stop";
}

void OpenAiUsage::Add(const GenerationEvent& last) {
  completion_tokens_ += last.completion_tokens;
  if (static_cast<int64_t>(last.index) % n_ != 0) return;
  prompt_tokens_ += last.prompt_tokens;
  cached_tokens_ += last.cached_tokens;
}

nlohmann::ordered_json OpenAiUsage::Json() const {
  return {{"prompt_tokens", prompt_tokens_},
          {"completion_tokens", completion_tokens_},
          {"total_tokens", prompt_tokens_ + completion_tokens_},
          {"prompt_tokens_details", {{"cached_tokens", cached_tokens_}}}};
}

int64_t UnixNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace shortlist
