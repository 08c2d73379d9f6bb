#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/grammar_fields.h"
#include "serve/http/api_error.h"
#include "serve/http/unknown_fields.h"
#include "serve/openai/chat.h"
#include "serve/openai/reply_plan.h"
#include "serve/openai/request.h"
#include "serve/openai/response_input.h"
#include "serve/openai/response_writer.h"
#include "serve/openai/routes.h"
#include "serve/openai/tools.h"
#include "serve/openapi.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::json;
using nlohmann::ordered_json;

// OpenAI's limits of "metadata".
constexpr size_t kMaxPairs = 16, kMaxKeyBytes = 64, kMaxValueBytes = 512;

struct Asked {
  OpenAiRequest openai;
  GenerateRequest request;
  ReplyPlan plan;
  bool ignores_effort = false;  // "reasoning.effort" was given and the template does not read it
  ordered_json echoed;          // members of the request that its response repeats
};

/// Checks "metadata", which is kept because the response repeats it at its end.
void CheckMetadata(JsonFields& fields) {
  const json* metadata = fields.Find("metadata");
  if (metadata == nullptr) return;
  const auto fits = [](const auto& pair) {
    return pair.key().size() <= kMaxKeyBytes && pair.value().is_string() &&
           pair.value().template get_ref<const std::string&>().size() <= kMaxValueBytes;
  };
  bool all_fit = metadata->is_object() && metadata->size() <= kMaxPairs;
  if (all_fit) {
    for (const auto& pair : metadata->items()) all_fit &= fits(pair);
  }
  if (all_fit) return;
  fields.Fail("metadata",
              absl::StrCat("not at most ", kMaxPairs, " texts of at most ", kMaxValueBytes,
                           " bytes under names of at most ", kMaxKeyBytes));
}

/// Returns what "text" says the output must follow; null: nothing.
absl::StatusOr<std::shared_ptr<SharedGrammar>> ReadText(JsonFields& fields,
                                                        const ordered_json& ordered) {
  const json* const text = fields.Find("text");
  if (text == nullptr) return nullptr;
  JsonFields nested(*text, "text.");
  nested.Refuse({"verbosity"}, "not supported");
  std::shared_ptr<SharedGrammar> grammar;
  if (nested.Find("format") != nullptr) {
    grammar = ReadFormat(nested, "text.format", ordered["text"]["format"]);
  }
  nested.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(nested.status());
  return grammar;
}

/// Checks the members of "stream_options".
absl::Status CheckNested(JsonFields& fields) {
  if (const json* options = fields.Find("stream_options")) {
    JsonFields nested(*options, "stream_options.");
    nested.Accept({"include_obfuscation"});
    nested.RefuseUnknown();
    SHORTLIST_RETURN_IF_ERROR(nested.status());
  }
  return absl::OkStatus();
}

/// Returns "effort" of "reasoning"; nullopt: the model's default.
absl::StatusOr<std::optional<std::string>> ReadEffort(JsonFields& fields) {
  const json* reasoning = fields.Find("reasoning");
  if (reasoning == nullptr) return std::nullopt;
  JsonFields members(*reasoning, "reasoning.");
  std::optional<std::string> effort = members.OptionalString("effort", kMaxNameBytes);
  members.Refuse({"summary", "generate_summary"}, "not supported: reasoning is not summarised");
  members.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(members.status());
  return effort;
}

/// Accepts fields that have no effect here, and rejects those that would have one.
void AcceptOrRefuseOthers(JsonFields& fields) {
  fields.Accept({"user", "service_tier", "safety_identifier", "prompt_cache_key",
                 "prompt_cache_retention", "parallel_tool_calls"});
  fields.Refuse(
      {"store", "previous_response_id", "conversation", "background", "prompt", "max_tool_calls",
       "context_management"},
      "not supported: this server keeps no responses, and tools are called by its clients");
  fields.Refuse({"include"}, "no value is supported; reasoning is returned as text anyway");
  fields.Refuse({"top_logprobs"}, "not supported");
  fields.RefuseUnless("truncation", "disabled", "only \"disabled\" is supported");
  fields.OptionalString("user", kMaxNameBytes);
  CheckMetadata(fields);
}

/// Converts an error of "messages", which clients of this route do not have, to one of "input".
absl::Status OfInput(const absl::Status& status) {
  const std::string message(status.message());
  if (!ParamOf(status).starts_with("messages")) return status;
  const size_t end = std::min(message.find(": "), message.size());
  return WithParam(absl::Status(status.code(), absl::StrCat("input", message.substr(end))),
                   "input");
}

/// Parses the request into one for the chat route, whose rules it follows.
absl::StatusOr<Asked> Parse(const Service& service, const HttpRequest& http) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(http.body));
  JsonFields fields(body);
  AcceptOrRefuseOthers(fields);
  const ordered_json ordered = ParseOrderedJson(http.body);
  ordered_json tools = ReadResponseTools(fields, ordered);
  const ToolChoice choice = ReadToolChoice(fields, tools);
  SHORTLIST_RETURN_IF_ERROR(CheckNested(fields));
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<SharedGrammar> grammar, ReadText(fields, ordered));
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<std::string> effort, ReadEffort(fields));
  const auto max_tokens = fields.OptionalInteger("max_output_tokens", 1, kMaxCount);
  SHORTLIST_ASSIGN_OR_RETURN(json messages, ReadResponseMessages(fields));
  json chat = {{"messages", std::move(messages)}};
  for (const char* name : {"model", "temperature", "top_p", "stream", "seed", "user"}) {
    if (const json* member = fields.Find(name)) chat[name] = *member;
  }
  if (max_tokens.has_value()) chat["max_completion_tokens"] = *max_tokens;
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  Asked asked;
  ordered_json ordered_chat(chat);
  if (!tools.is_null()) {
    chat["tools"] = tools;
    ordered_chat["tools"] = std::move(tools);
    asked.echoed["tools"] = ordered["tools"];
  }
  JsonFields chat_fields(chat);
  SHORTLIST_ASSIGN_OR_RETURN(asked.openai,
                             ReadOpenAiRequest(service, chat_fields, http.body, std::nullopt,
                                               /*least_max_tokens=*/1));
  const PromptEncoder& encoder = *service.generator->options().prompt_encoder;
  absl::StatusOr<Chat> read = ReadChat(chat_fields, ordered_chat, encoder.chat_template());
  if (!read.ok()) return OfInput(read.status());
  Chat conversation = *std::move(read);
  asked.ignores_effort =
      effort.has_value() && !SetReasoningEffort(*effort, encoder.chat_template(), conversation);
  asked.request = asked.openai.sampling;
  asked.request.grammar = std::move(grammar);
  AddChatStops(encoder, asked.request);
  asked.plan = PlanReply(service, conversation, choice, fields, asked.request);
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  asked.request.prompt = Share(std::move(conversation));
  asked.request.prompt_field = "input";
  if (ordered.contains("text") && ordered["text"].is_object()) {
    asked.echoed["text"] = ordered["text"];
  }
  if (const json* given = fields.Find("tool_choice")) asked.echoed["tool_choice"] = *given;
  for (const char* name : {"instructions", "max_output_tokens", "metadata", "user"}) {
    const json* member = fields.Find(name);
    asked.echoed[name] = member == nullptr ? ordered_json() : ordered_json(*member);
  }
  asked.echoed["temperature"] = asked.request.sampling.temperature;
  asked.echoed["top_p"] = asked.request.sampling.top_p;
  return asked;
}

awaitable<absl::Status> Respond(const Service& service, const HttpRequest& http,
                                HttpResponse& response) {
  const auto parse = [&] { return Parse(service, http); };
  absl::StatusOr<Asked> asked =
      co_await service.workers->RunIfLarge(http.client, std::ssize(http.body), parse);
  if (!asked.ok()) co_return asked.status();
  http.DropBody();
  if (asked->ignores_effort) NoteIgnored("reasoning.effort", response);
  asked->plan.NoteIgnoredFields(response);
  std::vector<GenerateRequest> requests;
  requests.push_back(std::move(asked->request));
  absl::StatusOr<std::unique_ptr<Generation>> generation =
      service.generator->Start(std::move(requests), http.client, asked->openai.rid);
  if (!generation.ok()) co_return generation.status();
  ResponseWriter writer(
      asked->plan,
      {.rid = asked->openai.rid, .model = service.model_name, .echoed = std::move(asked->echoed)});
  if (asked->openai.stream) {
    StreamFormat format;
    format.format = [&writer](GenerationEvent event) { return writer.Events(std::move(event)); };
    format.tail = "";
    absl::Status status = co_await StreamEvents(**generation, response, format);
    co_return status;
  }
  absl::StatusOr<std::vector<Output>> outputs = co_await CollectOutputs(**generation, 1);
  if (!outputs.ok()) co_return outputs.status();
  Record(outputs->front().last, response.record());
  std::string body = writer.Whole(outputs->front());
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

}  // namespace

absl::Status AddOpenAiResponsesRoute(const Service& service, RouteTable& routes) {
  return routes.Add({.method = "POST",
                     .path = "/v1/responses",
                     .takes_json = true,
                     .handler =
                         [&service](const HttpRequest& request, HttpResponse& response) {
                           return Respond(service, request, response);
                         },
                     .openapi = openapi::Responses()});
}

}  // namespace shortlist
