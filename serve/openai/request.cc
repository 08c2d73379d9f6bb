#include "serve/openai/request.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/grammar_fields.h"
#include "serve/http/api_error.h"
#include "serve/http/target.h"
#include "serve/model_name.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

void ReadStreamOptions(JsonFields& fields, OpenAiRequest& request) {
  const nlohmann::json* options = fields.Find("stream_options");
  if (options == nullptr) return;
  JsonFields members(*options, "stream_options.");
  request.include_usage = members.Bool("include_usage", false);
  request.continuous_usage = members.Bool("continuous_usage_stats", false);
  members.Accept({"include_obfuscation"});  // padding that hides the length of a chunk
  members.RefuseUnknown();
  fields.Take(members.status());
}

/// Reads the number of prompt tokens to keep, in vLLM's field.
std::optional<int64_t> ReadTruncation(JsonFields& fields, int64_t context_length) {
  const auto length = fields.OptionalInteger("truncate_prompt_tokens", -1, context_length);
  if (length == 0) fields.Fail("truncate_prompt_tokens", "0 tokens are no prompt");
  return length;
}

/// Accepts fields that have no effect here, and rejects those that would have one.
void AcceptOrRefuseOthers(JsonFields& fields) {
  // OpenAI uses these for storage, billing and caching; gateways for routing, logs and counts.
  fields.Accept({"user", "metadata", "store", "service_tier", "safety_identifier",
                 "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "session_id",
                 "custom_labels"});
  // Options of tool calls, and of reasoning found by a parser: this server has neither. SGLang's
  // router always sends the last two.
  fields.Accept(
      {"parallel_tool_calls", "include_reasoning", "separate_reasoning", "stream_reasoning"});
  RefuseUnsupported(fields);
  fields.Refuse({"functions", "audio", "prediction", "moderation", "web_search_options",
                 "context_management", "verbosity"},
                "not supported");
  for (const char* name : {"reasoning", "thinking"}) {
    fields.RefuseUnless(name, nlohmann::json::object(),
                        "not supported; what a chat template reads goes into chat_template_kwargs");
  }
  fields.RefuseUnless("function_call", "none", "there are no functions to choose from");
  fields.RefuseUnless("modalities", nlohmann::json::array({"text"}),
                      "only [\"text\"] is supported");
}

/// Same as CheckModelName(), but the error for the name of an encoder says what that model does.
absl::Status CheckGenerates(const Service& service, const std::string& asked) {
  const absl::Status known = CheckModelName(service.model_name, asked);
  if (known.ok()) return known;
  for (const ServedEncoder& encoder : service.generator->options().encoders) {
    if (!CheckModelName(encoder.name, asked).ok()) continue;
    const bool makes_vectors = encoder.makes == ServedEncoder::Makes::kVectors;
    return WithParam(absl::InvalidArgumentError(absl::StrCat(
                         "`", asked, "` makes ", makes_vectors ? "embeddings" : "scores",
                         "; what generates text is `", service.model_name, "`")),
                     "model");
  }
  return known;
}

}  // namespace

absl::StatusOr<OpenAiRequest> ReadOpenAiRequest(const Service& service, JsonFields& fields,
                                                const std::string& body,
                                                std::optional<int64_t> default_max_tokens,
                                                int64_t least_max_tokens) {
  const std::string model = fields.String("model", "", kMaxNameBytes);
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  SHORTLIST_RETURN_IF_ERROR(CheckGenerates(service, model));
  OpenAiRequest request;
  GenerateRequest& sampling = request.sampling;
  sampling.max_new_tokens = fields.OptionalInteger("max_tokens", least_max_tokens, kMaxCount);
  if (const auto newer =
          fields.OptionalInteger("max_completion_tokens", least_max_tokens, kMaxCount)) {
    if (sampling.max_new_tokens.value_or(*newer) != *newer) {
      fields.Fail("max_completion_tokens", "max_tokens has another value");
    }
    sampling.max_new_tokens = newer;
  }
  if (!sampling.max_new_tokens.has_value() && default_max_tokens.has_value()) {
    sampling.max_new_tokens = default_max_tokens;
  } else if (!sampling.max_new_tokens.has_value()) {
    sampling.max_new_tokens = service.max_new_tokens;
    sampling.clamps_max_new_tokens = true;
  }
  sampling.truncate_prompt_tokens =
      ReadTruncation(fields, service.generator->options().context_length);
  sampling.sampling.temperature = ReadTemperature(fields, service.sampling.temperature, 2.0);
  const bool is_bounded = !sampling.clamps_max_new_tokens;
  sampling.sampling.min_new_tokens = fields.Integer(
      "min_tokens", 0, 0, is_bounded ? sampling.max_new_tokens.value_or(kMaxCount) : kMaxCount);
  sampling.stop_after = sampling.sampling.min_new_tokens;
  if (sampling.max_new_tokens.has_value()) {
    sampling.max_new_tokens = std::max(*sampling.max_new_tokens, sampling.sampling.min_new_tokens);
  }
  ReadCommonSampling(fields, service.sampling, service.generator->options().tokenizer->size(),
                     sampling);
  ReadScheduling(fields, sampling);
  request.n = fields.Integer("n", 1, 1, kMaxChoices);
  const std::string request_id = fields.String("request_id", "", kMaxNameBytes);  // vLLM's name
  request.rid = fields.String("rid", request_id, kMaxNameBytes);
  if (!request_id.empty() && request.rid != request_id) {
    fields.Fail("request_id", "rid has another value");
  }
  if (request.rid.empty()) request.rid = NewRequestId();
  request.stream = fields.Bool("stream", false);
  ReadStreamOptions(fields, request);
  sampling.grammar = ReadGrammar(fields, [&] { return ParseOrderedJson(body); });
  if (const std::optional<int64_t> best_of = fields.OptionalInteger("best_of", 1, kMaxChoices)) {
    if (*best_of != request.n) fields.Fail("best_of", "only as many as n are generated");
  }
  AcceptOrRefuseOthers(fields);
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  return request;
}

nlohmann::ordered_json OpenAiFinishReason(const GenerationEvent& last) {
  if (!last.finished) return nullptr;
  return last.finish_reason == FinishReason::kLength ? "length" : "stop";
}

nlohmann::ordered_json OpenAiMetrics(const GenerationEvent& last, int64_t num_draft_tokens) {
  const SequenceStats& stats = last.stats;
  if (num_draft_tokens == 0 || stats.num_verify_steps == 0) return nullptr;
  std::vector<int64_t> histogram = last.accepted_counts;
  histogram.resize(std::max<size_t>(histogram.size(), num_draft_tokens + 1));
  const auto num_steps = static_cast<double>(stats.num_verify_steps);
  const nlohmann::ordered_json speculation = {
      {"mean_acceptance_length", 1.0 + static_cast<double>(stats.num_accepted) / num_steps},
      {"draft_acceptance_rate", stats.acceptance_rate()},
      {"acceptance_histogram", std::move(histogram)},
      {"num_spec_steps", stats.num_verify_steps},
      {"num_accepted_draft_tokens", stats.num_accepted},
      {"num_draft_tokens", stats.num_drafted},
      {"num_spec_tokens", num_draft_tokens}};
  nlohmann::ordered_json metrics;
  metrics["speculative_decoding"] = speculation;
  return metrics;
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
