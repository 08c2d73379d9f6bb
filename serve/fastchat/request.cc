#include "serve/fastchat/request.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http/api_error.h"
#include "serve/http/json_fields.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

constexpr size_t kMaxFastchatStops = 64;
constexpr size_t kMaxFastchatStopBytes = 1024;
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
// FastChat accepts the bounds of its ranges as "practically 0".
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
  if (CodeOf(status) == kContextLengthExceeded) return FastchatError::kContextOverflow;
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
      // The router reports a failed allocation with this message; otherwise a queue is full.
      return status.message() == "out of memory" ? FastchatError::kOutOfMemory
                                                 : FastchatError::kEngineOverloaded;
    default:
      return FastchatError::kInternal;
  }
}

std::string FastchatErrorBody(const absl::Status& status) {
  auto object = nlohmann::ordered_json::parse(OpenAiErrorBody(status));
  object["text"] = std::string(status.message());
  object["error_code"] = static_cast<int>(FastchatErrorOf(status));
  return Dump(object);
}

absl::StatusOr<FastchatRequest> ParseFastchatRequest(const std::string& body,
                                                     const FastchatFrame* frame, int64_t vocab_size,
                                                     uint64_t seed) {
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json object, ParseRequestBody(body));
  JsonFields fields(object);
  FastchatRequest request;
  std::optional<std::string> prompt = fields.OptionalString("prompt", Tokenizer::kMaxTextBytes);
  if (!prompt.has_value()) fields.Fail("prompt", "is missing");
  request.prompt = std::move(prompt).value_or("");
  if (frame != nullptr) request.prompt = frame->Unmark(std::move(request.prompt));
  request.generate.prompt = Share(request.prompt);
  request.generate.sampling = ReadSampling(fields, vocab_size, seed);
  request.generate.max_new_tokens = fields.Integer("max_new_tokens", 256, 1, kMaxInt32);
  request.generate.clamps_max_new_tokens = true;
  request.generate.stop = fields.Strings("stop", kMaxFastchatStops, kMaxFastchatStopBytes);
  std::erase(request.generate.stop, "");
  request.echo = fields.Bool("echo", false);
  request.stream_interval = fields.Integer("stream_interval", 2, 1, kMaxInt32);
  fields.Integer("best_of", 1, 1, 1);
  fields.Refuse({"images", "use_beam_search"}, "is not supported");
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  SamplingParams& sampling = request.generate.sampling;
  if (sampling.num_logprobs < 0) return request;
  int64_t num_tokens = *request.generate.max_new_tokens;
  if (request.echo) {
    sampling.prompt_logprobs_start = 0;
    num_tokens += std::ssize(request.prompt);  // the prompt may have as many tokens as bytes
  }
  SHORTLIST_RETURN_IF_ERROR(
      CheckNumStreamedLogprobs("logprobs", sampling.num_logprobs, num_tokens));
  return request;
}

}  // namespace shortlist
