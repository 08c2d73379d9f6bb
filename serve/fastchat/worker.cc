#include "serve/fastchat/worker.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/fastchat/conversation.h"
#include "serve/fastchat/reply.h"
#include "serve/http/api_error.h"
#include "serve/http/json_fields.h"
#include "serve/model_name.h"
#include "serve/sampling_fields.h"

namespace shortlist {

namespace asio = boost::asio;
using nlohmann::json;

namespace {

constexpr std::string_view kStreamType = "application/octet-stream";

constexpr char kGenerateOpenApi[] = R"({
  "summary": "Generation as FastChat asks for it",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "required": ["prompt"], "properties": {
      "model": {"type": "string"},
      "prompt": {"type": "string"},
      "temperature": {"type": ["number", "null"], "minimum": 0, "maximum": 2, "default": 0.7},
      "top_p": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "default": 1},
      "top_k": {"type": ["integer", "null"], "minimum": -1, "default": -1},
      "repetition_penalty": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 2},
      "presence_penalty": {"type": ["number", "null"], "minimum": -2, "maximum": 2},
      "frequency_penalty": {"type": ["number", "null"], "minimum": -2, "maximum": 2},
      "max_new_tokens": {"type": ["integer", "null"], "minimum": 1, "default": 256},
      "stop": {"type": ["string", "array", "null"], "items": {"type": "string"}},
      "stop_token_ids": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0}},
      "logprobs": {"type": ["integer", "null"], "minimum": 0, "maximum": 20},
      "echo": {"type": ["boolean", "null"], "default": false},
      "stream_interval": {"type": ["integer", "null"], "minimum": 1, "default": 2}}}}}},
  "responses": {"200": {"description": "Objects with text, error_code, usage, finish_reason"},
                "default": {"description": "text and error_code"}}})";

constexpr char kCountOpenApi[] = R"({
  "summary": "Tokens of a prompt",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "required": ["prompt"], "properties": {"prompt": {"type": "string"}}}}}},
  "responses": {"200": {"description": "count and error_code"},
                "default": {"description": "text and error_code"}}})";

absl::Status FailureOf(const GenerationEvent& event) {
  if (event.finish_reason != FinishReason::kError) return event.status;
  return absl::InternalError("the target gave no usable logit");
}

/// Returns FastChat's form of an error, which is sent with status 200.
std::string ErrorReply(const absl::Status& status, RequestRecord& record) {
  record.error_code = CodeOf(status);
  return FastchatErrorBody(status);
}

/// Counts a request that is not a generation yet, here and in `metrics` unless that is null.
class Waiting {
 public:
  Waiting(int64_t& count, Metrics* metrics) : count_(count), metrics_(metrics) { Count(1); }
  ~Waiting() { Count(-1); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void Count(int64_t change) {
    count_ += change;
    if (metrics_ != nullptr) metrics_->OnWaiting(change);
  }

  int64_t& count_;
  Metrics* const metrics_;
};

FastchatWorker::Options WithDefaults(FastchatWorker::Options options, const Service& service) {
  if (options.model_names.empty()) options.model_names = ServedNames(service.model_name);
  if (options.limit_worker_concurrency == 0) {
    options.limit_worker_concurrency = std::max<int64_t>(1, service.max_running_requests);
  }
  return options;
}

/// Writes an object of a stream, which ends with a zero byte. FastChat skips an empty object.
asio::awaitable<void> WriteObject(HttpResponse& stream, std::string_view object) {
  std::string bytes(object);
  bytes.push_back('\0');
  co_await stream.Write(std::move(bytes));
}

}  // namespace

FastchatWorker::FastchatWorker(asio::any_io_executor executor, const Service& service,
                               Options options)
    : service_(service),
      options_(WithDefaults(std::move(options), service)),
      limit_(std::move(executor), options_.limit_worker_concurrency) {}

absl::Status FastchatWorker::AddRoutes(RouteTable& table) {
  const auto constant = [](std::string body) {
    return [body = std::move(body)](const HttpRequest&,
                                    HttpResponse& response) -> asio::awaitable<absl::Status> {
      std::string copy = body;
      co_await response.Send(200, kJsonType, std::move(copy));
      co_return absl::OkStatus();
    };
  };
  const auto status = [this](const HttpRequest&,
                             HttpResponse& response) -> asio::awaitable<absl::Status> {
    std::string body = StatusJson();
    co_await response.Send(200, kJsonType, std::move(body));
    co_return absl::OkStatus();
  };
  const auto conversation = [this](const HttpRequest&,
                                   HttpResponse& response) -> asio::awaitable<absl::Status> {
    if (frame() == nullptr) {
      co_return absl::NotFoundError(
          "no conversation template is known for this model: name one with --conv-template");
    }
    std::string body = Dump(json{{"conv", FastchatConversation(frame()->conversation)}});
    co_await response.Send(200, kJsonType, std::move(body));
    co_return absl::OkStatus();
  };
  const auto method = [this](auto member) {
    return [this, member](const HttpRequest& http, HttpResponse& response) {
      return (this->*member)(http, response);
    };
  };
  const int64_t context_length = service_.generator->options().context_length;
  const json details = {{"context_length", context_length}};
  for (Route route : {
           Route{.path = "/worker_generate_stream",
          .takes_json = true,
          .handler = method(&FastchatWorker::GenerateStream),
          .openapi = kGenerateOpenApi},
           Route{.path = "/worker_generate",
           .takes_json = true,
           .handler = method(&FastchatWorker::Generate),
           .openapi = kGenerateOpenApi},
           Route{.path = "/count_token",
           .takes_json = true,
           .handler = method(&FastchatWorker::CountToken),
           .openapi = kCountOpenApi},
           Route{.path = "/worker_get_status", .handler = status},
           Route{.path = "/worker_get_conv_template", .handler = conversation},
           Route{.path = "/model_details", .handler = constant(Dump(details))},
       }) {
    route.method = "POST";
    route.error_body = FastchatErrorBody;
    if (absl::Status added = table.Add(std::move(route)); !added.ok()) return added;
  }
  return absl::OkStatus();
}

std::string FastchatWorker::StatusJson() const {
  return Dump(
      json{{"model_names", options_.model_names}, {"speed", 1}, {"queue_length", queue_length()}});
}

asio::awaitable<absl::StatusOr<std::string>> FastchatWorker::Run(const HttpRequest& http,
                                                                 RequestRecord& record,
                                                                 HttpResponse* stream) {
  const uint64_t seed = uint64_t{seeds_()} << 32 | seeds_();
  const auto parse = [&] {
    return ParseFastchatRequest(http.body, frame(), tokenizer().size(), seed);
  };
  const absl::StatusOr<FastchatRequest> request =
      co_await service_.workers->RunIfLarge(http.client, std::ssize(http.body), parse);
  if (!request.ok()) co_return request.status();
  http.DropBody();
  ConcurrencyLimit::Ticket ticket(limit_, http.client.name);
  std::optional<Waiting> waiting(std::in_place, num_waiting_, service_.metrics);
  const int64_t num_abort_alls = service_.generator->num_abort_alls();
  while (!co_await ticket.WaitWithin(options_.keep_alive)) {
    if (stream != nullptr) co_await WriteObject(*stream, "");
  }
  if (service_.generator->num_abort_alls() > num_abort_alls) {
    co_return service_.generator->draining() ? ShuttingDown() : absl::CancelledError("aborted");
  }
  auto generation = service_.generator->Start({request->generate}, http.client, /*rid=*/"");
  waiting.reset();
  if (!generation.ok()) co_return generation.status();

  FastchatReply reply(*request, tokenizer());
  while (!(*generation)->finished()) {
    const std::optional<GenerationEvent> event =
        co_await (*generation)->NextWithin(options_.keep_alive);
    if (!event.has_value()) {
      if (stream != nullptr) co_await WriteObject(*stream, "");
      continue;
    }
    record.prompt_tokens = event->prompt_tokens;
    record.completion_tokens = event->completion_tokens;
    if (event->finished) {
      if (absl::Status failure = FailureOf(*event); !failure.ok()) co_return failure;
    }
    reply.Add(*event);
    if (stream != nullptr && !event->finished && reply.due()) {
      const std::string object = reply.Json(/*is_last=*/false);
      co_await WriteObject(*stream, object);
    }
  }
  if (stream != nullptr) {
    // The API server reads the finish reason from an object without new text.
    const std::string whole = reply.Json(/*is_last=*/false);
    co_await WriteObject(*stream, whole);
  }
  co_return reply.Json(/*is_last=*/true);
}

asio::awaitable<absl::Status> FastchatWorker::GenerateStream(const HttpRequest& http,
                                                             HttpResponse& response) {
  co_await response.StartStream(kStreamType);
  const absl::StatusOr<std::string> last = co_await Run(http, response.record(), &response);
  const std::string object = last.ok() ? *last : ErrorReply(last.status(), response.record());
  co_await WriteObject(response, object);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> FastchatWorker::Generate(const HttpRequest& http,
                                                       HttpResponse& response) {
  const absl::StatusOr<std::string> last =
      co_await Run(http, response.record(), /*stream=*/nullptr);
  std::string body = last.ok() ? *last : ErrorReply(last.status(), response.record());
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

/// Returns the number of tokens of the prompt in `body`. Runs on a worker thread.
absl::StatusOr<int64_t> FastchatWorker::NumTokens(const std::string& body) const {
  SHORTLIST_ASSIGN_OR_RETURN(json object, ParseRequestBody(body));
  JsonFields fields(object);
  std::optional<std::string> prompt = fields.OptionalString("prompt", Tokenizer::kMaxTextBytes);
  if (!prompt.has_value()) fields.Fail("prompt", "is missing");
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  if (prompt->empty()) return 0;
  SHORTLIST_RETURN_IF_ERROR(
      CheckNumCountedBytes("prompt", {&*prompt, 1}, service_.generator->options().context_length));
  if (frame() != nullptr) prompt = frame()->Unmark(*std::move(prompt));
  const PromptEncoder& encoder = *service_.generator->options().prompt_encoder;
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TokenId> ids, encoder.Encode(*prompt, {}));
  return std::ssize(ids);
}

asio::awaitable<absl::Status> FastchatWorker::CountToken(const HttpRequest& http,
                                                         HttpResponse& response) {
  const auto count = [&] { return NumTokens(http.body); };
  const absl::StatusOr<int64_t> num_tokens =
      co_await service_.workers->Run(http.client, std::ssize(http.body), count);
  json reply = {{"count", num_tokens.value_or(0)}, {"error_code", 0}};
  if (!num_tokens.ok()) {
    // FastChat always reads "count".
    reply.update(json::parse(ErrorReply(num_tokens.status(), response.record())));
  }
  std::string text = Dump(reply);
  co_await response.Send(200, kJsonType, std::move(text));
  co_return absl::OkStatus();
}

}  // namespace shortlist
