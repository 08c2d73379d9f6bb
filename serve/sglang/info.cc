#include <chrono>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/health_probe.h"
#include "serve/http/json_fields.h"
#include "serve/openai/chat.h"
#include "serve/openapi.h"
#include "serve/output.h"
#include "serve/sampling_fields.h"
#include "serve/sglang/routes.h"
#include "serve/tokenizer_info.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxTexts = 128;

awaitable<absl::Status> SendJson(HttpResponse& response, ordered_json value) {
  std::string body = Dump(value);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

/// Returns {name: value}.
ordered_json Single(const char* name, ordered_json value) {
  ordered_json object = ordered_json::object();
  object[name] = std::move(value);
  return object;
}

awaitable<absl::Status> Health(const Service& service, const HttpRequest&, HttpResponse& response) {
  if (service.generator->draining()) co_return ShuttingDown();
  absl::Status status = co_await SendJson(response, Single("status", "ok"));
  co_return status;
}

awaitable<absl::Status> Version(const Service& service, const HttpRequest&,
                                HttpResponse& response) {
  absl::Status status = co_await SendJson(response, Single("version", service.version));
  co_return status;
}

awaitable<absl::Status> ModelInfo(const Service& service, const HttpRequest&,
                                  HttpResponse& response) {
  ordered_json info = {{"model_path", service.source.path()},
                       {"tokenizer_path", service.source.path()},
                       {"is_generation", service.generator->options().generates},
                       {"preferred_sampling_params", nullptr},
                       {"weight_version", "default"},
                       {"has_image_understanding", false},
                       {"has_audio_understanding", false},
                       {"model_type", service.model_type},
                       {"architectures", service.architectures}};
  absl::Status status = co_await SendJson(response, std::move(info));
  co_return status;
}

/// Adds speculation statistics over all requests that have ended.
void AddSpeculation(const SequenceStats& stats, ordered_json& state) {
  state["avg_spec_accept_length"] = stats.accept_length();
  state["spec_accept_rate"] = stats.acceptance_rate();
  state["coverage"] = stats.coverage();
}

/// Returns the models served for vectors or scores, by the names that clients use.
ordered_json Encoders(const Service& service) {
  ordered_json encoders = ordered_json::array();
  for (const ServedEncoder& encoder : service.generator->options().encoders) {
    if (encoder.makes == ServedEncoder::Makes::kStates) continue;
    const bool makes_vectors = encoder.makes == ServedEncoder::Makes::kVectors;
    encoders.push_back({{"name", encoder.name}, {"makes", makes_vectors ? "vectors" : "scores"}});
  }
  return encoders;
}

awaitable<absl::Status> ServerInfo(const Service& service, const HttpRequest&,
                                   HttpResponse& response) {
  const EngineLoad load = service.Load();
  ordered_json info = service.arguments;
  info["model_path"] = service.source.path();
  info["served_model_name"] = service.model_name;
  info["version"] = service.version;
  info["dp_size"] = 1;
  info["tp_size"] = 1;
  info["context_length"] = service.generator->options().context_length;
  info["max_total_num_tokens"] = load.max_total_tokens;
  info["max_running_requests"] = service.max_running_requests;
  info["speculative_num_draft_tokens"] = service.num_draft_tokens;
  info["encoders"] = Encoders(service);
  ordered_json state = {{"last_gen_throughput", service.generator->Throughput()},
                        {"num_running_reqs", load.num_running},
                        {"num_waiting_reqs", load.num_queued}};
  if (service.num_draft_tokens > 0) AddSpeculation(service.metrics->Speculation(), state);
  info["internal_states"] = ordered_json::array({std::move(state)});
  absl::Status status = co_await SendJson(response, std::move(info));
  co_return status;
}

std::string UtcNow() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

awaitable<absl::Status> Loads(const Service& service, const HttpRequest&, HttpResponse& response) {
  const EngineLoad load = service.Load();
  ordered_json entry = {{"dp_rank", 0},
                        {"num_running_reqs", load.num_running},
                        {"num_waiting_reqs", load.num_queued},
                        {"num_waiting_tokens", load.num_waiting_tokens},
                        {"num_waiting_uncached_tokens", load.num_waiting_uncached_tokens},
                        {"num_total_reqs", load.num_running + load.num_queued},
                        {"num_used_tokens", load.num_used_tokens},
                        {"num_cached_tokens", load.num_cached_tokens},
                        {"max_total_num_tokens", load.max_total_tokens},
                        {"token_usage", Share(load.num_used_tokens, load.max_total_tokens)},
                        {"gen_throughput", service.generator->Throughput()},
                        {"cache_hit_rate", load.scheduling.hit_rate()},
                        {"utilization", Share(load.num_running, service.max_running_requests)},
                        {"max_running_requests", service.max_running_requests}};
  ordered_json loads = {{"timestamp", UtcNow()}, {"dp_rank_count", 1}};
  loads["loads"] = ordered_json::array({std::move(entry)});
  absl::Status status = co_await SendJson(response, std::move(loads));
  co_return status;
}

awaitable<absl::Status> GetLoad(const Service& service, const HttpRequest&,
                                HttpResponse& response) {
  const EngineLoad load = service.Load();
  ordered_json entry = {{"dp_rank", 0},
                        {"num_reqs", load.num_running + load.num_queued},
                        {"num_waiting_reqs", load.num_queued},
                        {"num_tokens", load.num_used_tokens + load.num_waiting_tokens},
                        {"num_pending_tokens", load.num_waiting_uncached_tokens}};
  ordered_json entries = ordered_json::array({std::move(entry)});
  absl::Status status = co_await SendJson(response, std::move(entries));
  co_return status;
}

awaitable<absl::Status> FlushCache(const Service& service, const HttpRequest&,
                                   HttpResponse& response) {
  absl::Status status = service.generator->FlushCache();
  if (!status.ok()) co_return status;
  status = co_await SendJson(response, Single("message", "the radix cache is empty"));
  co_return status;
}

awaitable<absl::Status> AbortOne(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  const auto parse = [&] { return ParseRequestBody(http.body); };
  absl::StatusOr<json> body =
      co_await service.workers->RunIfLarge(http.client, std::ssize(http.body), parse);
  if (!body.ok()) co_return body.status();
  JsonFields fields(*body);
  const std::string rid = fields.String("rid", "", kMaxNameBytes);
  if (fields.Bool("abort_all", false)) {
    fields.Fail("abort_all", "POST /abort_all_requests does that, with the admin key");
  }
  if (rid.empty()) fields.Fail("rid", "missing or empty");
  fields.RefuseUnknown();
  if (!fields.status().ok()) co_return fields.status();
  const bool found = service.generator->Abort(http.client, rid);
  absl::Status status = co_await SendJson(response, Single("aborted", found));
  co_return status;
}

awaitable<absl::Status> AbortAll(const Service& service, const HttpRequest&,
                                 HttpResponse& response) {
  const int64_t num_live = service.generator->num_live() + service.metrics->num_waiting();
  service.generator->AbortAll();
  absl::Status status = co_await SendJson(response, Single("aborted", num_live));
  co_return status;
}

/// Returns "[1,2,3]"; a JSON value would take many times the memory.
std::string ListOf(const std::vector<TokenId>& ids) {
  std::string list = "[";
  for (const TokenId id : ids) absl::StrAppend(&list, list.size() > 1 ? "," : "", Raw(id));
  return list += ']';
}

std::string Joined(const std::vector<std::string>& parts, bool is_list) {
  return is_list ? absl::StrCat("[", absl::StrJoin(parts, ","), "]") : parts.front();
}

std::string TokenizeReply(const Service& service, const std::string& tokens,
                          const std::string& count) {
  return absl::StrCat("{\"tokens\":", tokens, ",\"count\":", count,
                      ",\"max_model_len\":", service.generator->options().context_length, "}");
}

/// Tokenizes a conversation, as vLLM does: renders and encodes it as the chat route does.
absl::StatusOr<std::string> TokenizeChat(const Service& service, JsonFields& fields,
                                         const ordered_json& ordered) {
  const Generator::Options& options = service.generator->options();
  SHORTLIST_ASSIGN_OR_RETURN(
      Chat chat,
      ReadChat(fields, ordered, service.generator->options().prompt_encoder->chat_template()));
  fields.Accept({"model", "add_special_tokens"});
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  const auto ids = options.prompt_encoder->Encode(Prompt(std::move(chat)),
                                                  {.max_tokens = options.context_length});
  if (absl::IsOutOfRange(ids.status())) {
    return ContextLengthExceeded(options.context_length, "messages", std::nullopt, 0);
  }
  SHORTLIST_RETURN_IF_ERROR(ids.status());
  return TokenizeReply(service, ListOf(*ids), absl::StrCat(ids->size()));
}

/// Returns the reply to /tokenize. Runs on a worker thread.
absl::StatusOr<std::string> TokenizeBody(const Service& service, const std::string& request) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(request));
  JsonFields fields(body);
  if (fields.Find("messages") != nullptr) {
    if (fields.Find("prompt") != nullptr) {
      fields.Fail("prompt", "exactly one of prompt and messages is wanted");
      return fields.status();
    }
    return TokenizeChat(service, fields, ParseOrderedJson(request));
  }
  const bool is_list = fields.Find("prompt") != nullptr && fields.Find("prompt")->is_array();
  const std::vector<std::string> texts =
      fields.Strings("prompt", kMaxTexts, Tokenizer::kMaxTextBytes);
  // Encoders read control tokens in texts as text.
  const PromptEncoder::Options options{
      .add_special_tokens = fields.Bool("add_special_tokens", true),
      .parse_special = service.generator->options().generates};
  if (texts.empty()) fields.Fail("prompt", "missing or empty");
  fields.Accept({"model"});
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  SHORTLIST_RETURN_IF_ERROR(
      CheckNumCountedBytes("prompt", texts, service.generator->options().context_length));

  std::vector<std::string> lists, counts;
  for (const std::string& text : texts) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                               service.generator->options().prompt_encoder->Encode(text, options));
    lists.push_back(ListOf(ids));
    counts.push_back(absl::StrCat(ids.size()));
  }
  return TokenizeReply(service, Joined(lists, is_list), Joined(counts, is_list));
}

/// Returns the reply to /detokenize. Runs on a worker thread.
absl::StatusOr<std::string> DetokenizeBody(const Service& service, const std::string& request) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(request));
  const Tokenizer& tokenizer = *service.generator->options().tokenizer;
  JsonFields fields(body);
  const bool skips = fields.Bool("skip_special_tokens", true);
  const json* tokens = fields.Find("tokens");
  const bool is_empty = tokens != nullptr && tokens->is_array() && tokens->empty();
  Prompts lists;
  if (tokens == nullptr) fields.Fail("tokens", "missing");
  fields.Accept({"model"});
  fields.RefuseUnknown();
  if (!is_empty) lists = ReadPrompts(fields, "tokens", tokenizer.size());
  ordered_json texts = ordered_json::array();
  for (const Prompt& list : lists.prompts) {
    if (const auto* ids = std::get_if<std::vector<TokenId>>(&list)) {
      texts.push_back(tokenizer.Decode(*ids, /*shows_controls=*/!skips));
    } else {
      fields.Fail("tokens", "a text stands where token ids are wanted");
    }
  }
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  ordered_json reply;
  reply["text"] = is_empty ? ordered_json("") : lists.is_batch ? texts : texts.front();
  reply["prompt"] = reply["text"];  // vLLM's name
  return Dump(reply);
}

/// A route whose reply a worker thread makes from the body.
template <absl::StatusOr<std::string> (*kReplyOf)(const Service&, const std::string&)>
awaitable<absl::Status> OnWorker(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  const auto make = [&] { return kReplyOf(service, http.body); };
  absl::StatusOr<std::string> body =
      co_await service.workers->Run(http.client, std::ssize(http.body), make);
  if (!body.ok()) co_return body.status();
  http.DropBody();
  co_await response.Send(200, kJsonType, *std::move(body));
  co_return absl::OkStatus();
}

awaitable<absl::Status> MetricsText(const Service& service, const HttpRequest&,
                                    HttpResponse& response) {
  std::string text = service.metrics->Text(service.Load(), service.generator->Throughput());
  co_await response.Send(200, kMetricsType, std::move(text));
  co_return absl::OkStatus();
}

using Function = awaitable<absl::Status> (*)(const Service&, const HttpRequest&, HttpResponse&);

struct Entry {
  const char* method;
  const char* path;
  Access access;
  Function function;
  std::string (*openapi)() = nullptr;
};

const Entry kEntries[] = {
    {"GET", "/health", Access::kPublic, Health},
    {"GET", "/ping", Access::kPublic, Health},
    {"POST", "/ping", Access::kPublic, Health},
    {"GET", "/version", Access::kPublic, Version},
    {"GET", "/model_info", Access::kKey, ModelInfo},
    {"GET", "/get_model_info", Access::kKey, ModelInfo},
    {"GET", "/server_info", Access::kKey, ServerInfo},
    {"GET", "/get_server_info", Access::kKey, ServerInfo},
    {"GET", "/v1/loads", Access::kKey, Loads},
    {"GET", "/get_load", Access::kKey, GetLoad},
    {"GET", "/metrics", Access::kPublic, MetricsText},
    {"GET", "/flush_cache", Access::kAdmin, FlushCache},
    {"POST", "/flush_cache", Access::kAdmin, FlushCache},
    {"POST", "/abort_request", Access::kKey, AbortOne, openapi::AbortRequest},
    {"POST", "/abort_all_requests", Access::kAdmin, AbortAll},
    {"POST", "/tokenize", Access::kKey, OnWorker<TokenizeBody>, openapi::Tokenize},
    {"POST", "/v1/tokenize", Access::kKey, OnWorker<TokenizeBody>, openapi::Tokenize},
    {"POST", "/detokenize", Access::kKey, OnWorker<DetokenizeBody>, openapi::Detokenize},
    {"POST", "/v1/detokenize", Access::kKey, OnWorker<DetokenizeBody>, openapi::Detokenize},
};

}  // namespace

absl::Status AddSglangInfoRoutes(const Service& service, RouteTable& routes) {
  SHORTLIST_ASSIGN_OR_RETURN(std::string info,
                             TokenizerInfo(service.source, service.generator->options()));
  SHORTLIST_RETURN_IF_ERROR(routes.Add(
      {.method = "GET",
       .path = "/tokenizer_info",
       .handler = [info = std::move(info)](const HttpRequest&,
                                           HttpResponse& response) -> awaitable<absl::Status> {
         std::string copy = info;
         co_await response.Send(200, kJsonType, std::move(copy));
         co_return absl::OkStatus();
       }}));
  const auto probe = std::make_shared<HealthProbe>(*service.generator, HealthProbe::Options());
  SHORTLIST_RETURN_IF_ERROR(routes.Add(
      {.method = "GET",
       .path = "/health_generate",
       .access = Access::kPublic,
       .handler = [probe](const HttpRequest&, HttpResponse& response) -> awaitable<absl::Status> {
         absl::Status status = co_await probe->Ask();
         if (!status.ok()) co_return status;
         absl::Status sent = co_await SendJson(response, Single("status", "ok"));
         co_return sent;
       }}));
  for (const Entry& entry : kEntries) {
    Route route{
        .method = entry.method,
        .path = entry.path,
        .access = entry.access,
        .takes_json = entry.openapi != nullptr,
        .handler = [&service, function = entry.function](
                       const HttpRequest& request,
                       HttpResponse& response) { return function(service, request, response); },
        .openapi = entry.openapi == nullptr ? "" : entry.openapi()};
    SHORTLIST_RETURN_IF_ERROR(routes.Add(std::move(route)));
  }
  return absl::OkStatus();
}

}  // namespace shortlist
