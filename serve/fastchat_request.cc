#include "serve/fastchat_request.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/api_error.h"
#include "serve/json_fields.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

constexpr size_t kMaxFastchatStops = 64;
constexpr size_t kMaxFastchatStopBytes = 1024;
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
// FastChat takes both bounds of its ranges for "as good as 0".
constexpr double kTiny = 1e-5;

SamplingParams ReadSampling(JsonFields& fields, int64_t vocab_size, uint64_t seed) {
  SamplingParams sampling;
  sampling.seed = seed;
  sampling.temperature = fields.Number("temperature", 0.7, {.low = 0, .high = 2});
  if (sampling.temperature < kTiny) sampling.temperature = 0;
  sampling.top_p = std::max(kTiny, fields.Number("top_p", 1, {.low = 0, .high = 1}));
  sampling.top_k = std::max<int64_t>(0, fields.Integer("top_k", -1, -1, kMaxInt32));
  sampling.repetition_penalty =
      fields.Number("repetition_penalty", 1, {.low = 0, .high = 2, .above_low = true});
  sampling.presence_penalty = fields.Number("presence_penalty", 0, {.low = -2, .high = 2});
  sampling.frequency_penalty = fields.Number("frequency_penalty", 0, {.low = -2, .high = 2});
  for (const int64_t id : fields.Integers("stop_token_ids", kMaxFastchatStops, 0, kMaxInt32)) {
    if (id < vocab_size) sampling.stop_token_ids.push_back(TokenId{static_cast<int32_t>(id)});
  }
  sampling.num_logprobs = fields.OptionalInteger("logprobs", 0, 20).value_or(-1);
  return sampling;
}

}  // namespace

FastchatError FastchatErrorOf(const absl::Status& status) {
  if (CodeOf(status) == "context_length_exceeded") return FastchatError::kContextOverflow;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return ParamOf(status).empty() ? FastchatError::kValidationType
                                     : FastchatError::kParamOutOfRange;
    case absl::StatusCode::kUnauthenticated:
      return FastchatError::kInvalidAuthKey;
    case absl::StatusCode::kPermissionDenied:
      return FastchatError::kNoPermission;
    case absl::StatusCode::kUnavailable:
      return FastchatError::kEngineOverloaded;
    case absl::StatusCode::kResourceExhausted:
      // What the router says when an allocation failed; else a queue is full.
      return status.message() == "out of memory" ? FastchatError::kOutOfMemory
                                                 : FastchatError::kEngineOverloaded;
    default:
      return FastchatError::kInternal;
  }
}

std::string FastchatErrorBody(const absl::Status& status) {
  return Dump(nlohmann::json{{"text", std::string(status.message())},
                             {"error_code", static_cast<int>(FastchatErrorOf(status))}});
}

absl::StatusOr<FastchatRequest> ParseFastchatRequest(const std::string& body, int64_t vocab_size,
                                                     uint64_t seed) {
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json object, ParseRequestBody(body));
  JsonFields fields(object);
  FastchatRequest request;
  std::optional<std::string> prompt = fields.OptionalString("prompt", Tokenizer::kMaxTextBytes);
  if (!prompt.has_value()) fields.Fail("prompt", "is missing");
  request.prompt = std::move(prompt).value_or("");
  request.generate.prompt = Share(request.prompt);
  request.generate.sampling = ReadSampling(fields, vocab_size, seed);
  request.generate.max_new_tokens = fields.Integer("max_new_tokens", 256, 1, kMaxInt32);
  request.generate.stop = fields.Strings("stop", kMaxFastchatStops, kMaxFastchatStopBytes);
  std::erase(request.generate.stop, "");
  request.echo = fields.Bool("echo", false);
  request.stream_interval = fields.Integer("stream_interval", 2, 1, kMaxInt32);
  fields.Integer("best_of", 1, 1, 1);
  fields.Refuse({"images", "use_beam_search"}, "is not supported");
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  if (const int64_t num_top = request.generate.sampling.num_logprobs; num_top >= 0) {
    SHORTLIST_RETURN_IF_ERROR(
        CheckNumStreamedLogprobs("logprobs", num_top, *request.generate.max_new_tokens));
  }
  return request;
}

}  // namespace shortlist
