#include "serve/openai/chat.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http/unknown_fields.h"
#include "serve/openai/chat_message.h"
#include "serve/openai/reply.h"
#include "serve/openai/reply_plan.h"
#include "serve/openai/request.h"
#include "serve/openai/routes.h"
#include "serve/openai/tools.h"
#include "serve/openapi.h"
#include "serve/sampling_fields.h"
#include "serve/shared_grammar.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxMessages = 4096;
constexpr size_t kMaxRoleBytes = 64;

struct Asked {
  OpenAiRequest openai;
  std::vector<GenerateRequest> requests;
  ReplyPlan plan;
  bool ignores_effort = false;  // "reasoning_effort" was given and the template does not read it
};

/// Returns a message's content in a form that the template reads.
absl::StatusOr<ordered_json> ReadContent(const json& content, const std::string& where,
                                         const ContentForm& form) {
  if (content.is_null()) return ordered_json(nullptr);
  if (content.is_string()) return ContentOfText(form, content.get<std::string>());
  if (!content.is_array() || content.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ".content: neither a text nor a list of parts"));
  }
  std::vector<std::string> parts;
  for (const json& part : content) {
    JsonFields fields(part, where + ".content.");
    const std::string type = fields.String("type", "", kMaxNameBytes);
    if (type != "text") fields.Fail("type", "only \"text\" is supported");
    const std::optional<std::string> piece =
        fields.OptionalString("text", Tokenizer::kMaxTextBytes);
    if (!piece.has_value()) fields.Fail("text", "missing");
    fields.Accept({"cache_control", "prompt_cache_breakpoint"});  // there is no manual caching
    fields.RefuseUnknown();
    SHORTLIST_RETURN_IF_ERROR(fields.status());
    parts.push_back(*piece);
  }
  return ContentOfParts(form, parts);
}

/// Returns a message for the template; `ordered` is the same message with its key order.
absl::StatusOr<ordered_json> ReadMessage(const json& message, const ordered_json& ordered,
                                         const std::string& where,
                                         const ChatTemplate* chat_template) {
  JsonFields member(message, where + ".");
  const std::string role = member.String("role", "", kMaxRoleBytes);
  if (role.empty()) member.Fail("role", "missing");
  const bool has_content = member.Find("content") != nullptr;
  if (!has_content && role != "assistant") member.Fail("content", "missing");
  const json* calls = member.Find("tool_calls");
  const bool has_calls = calls != nullptr && *calls != json::array();
  if (has_calls && role != "assistant") member.Fail("tool_calls", "not an assistant's message");
  member.Refuse({"function_call", "tools", "refusal", "audio"}, "not supported");
  // Fields that templates may read, and fields of a reply that clients send back.
  member.Accept({"name", "reasoning_content", "reasoning", "thinking", "tool_call_id",
                 "annotations", "cache_control", "provider_specific_fields"});
  member.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(member.status());
  if (role == "tool") {
    SHORTLIST_RETURN_IF_ERROR(CheckToolRole(where, chat_template));
  }
  ordered_json copy = ordered;
  copy.erase("tool_calls");
  if (has_calls) {
    SHORTLIST_ASSIGN_OR_RETURN(copy["tool_calls"],
                               ReadToolCalls(ordered["tool_calls"], where, chat_template));
  }
  if (!has_content) {
    // As in transformers, where templates may ask whether a message with tool calls has content.
    if (has_calls) {
      copy.erase("content");
    } else {
      copy["content"] = "";
    }
  } else {
    const ContentForm form =
        chat_template != nullptr ? chat_template->content_form(role) : ContentForm{};
    SHORTLIST_ASSIGN_OR_RETURN(copy["content"], ReadContent(message["content"], where, form));
  }
  return copy;
}

/// Reads the template's inputs other than the messages.
void ReadTemplateFields(JsonFields& fields, const ordered_json& ordered, Chat& chat) {
  chat.continue_final_message = fields.Bool("continue_final_message", false);
  chat.add_generation_prompt = fields.Bool("add_generation_prompt", !chat.continue_final_message);
  if (chat.continue_final_message && chat.add_generation_prompt) {
    fields.Fail("continue_final_message", "not together with add_generation_prompt");
  }
  if (chat.continue_final_message && chat.messages.back()["role"] != "assistant") {
    fields.Fail("continue_final_message", "the last message is not the assistant's");
  }
  if (const json* variables = fields.Find("chat_template_kwargs")) {
    if (!variables->is_object()) return fields.Fail("chat_template_kwargs", "no object");
    chat.variables = ordered["chat_template_kwargs"];
  }
  if (const json* documents = fields.Find("documents")) {
    if (!documents->is_array()) fields.Fail("documents", "no list");
    if (chat.variables.contains("documents")) {
      fields.Fail("documents", "also in chat_template_kwargs");
    }
    chat.variables["documents"] = ordered["documents"];
  }
  fields.Refuse({"chat_template", "media_io_kwargs", "input_ids", "echo"}, "not supported");
  fields.RefuseUnless("add_special_tokens", false, "the chat template adds them");
}

}  // namespace

absl::StatusOr<Chat> ReadChat(JsonFields& fields, const ordered_json& ordered,
                              const ChatTemplate* chat_template) {
  const json* messages = fields.Find("messages");
  if (messages == nullptr) fields.Fail("messages", "missing");
  if (messages != nullptr &&
      (!messages->is_array() || messages->empty() || messages->size() > kMaxMessages)) {
    fields.Fail("messages", absl::StrCat("no list of 1 to ", kMaxMessages, " messages"));
  }
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  Chat chat;
  chat.messages = ordered_json::array();
  const ordered_json& ordered_messages = ordered["messages"];  // look the member up once
  for (size_t i = 0; i < messages->size(); ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(ordered_json message,
                               ReadMessage((*messages)[i], ordered_messages[i],
                                           absl::StrCat("messages[", i, "]"), chat_template));
    chat.messages.push_back(std::move(message));
  }
  chat.tools = ReadTools(fields, ordered, chat_template);
  ReadTemplateFields(fields, ordered, chat);
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  return chat;
}

void AddChatStops(const PromptEncoder& encoder, GenerateRequest& request) {
  // A structural tag may have free text, which nothing else may end.
  const bool ends_by_grammar = request.grammar != nullptr &&
                               request.grammar->spec().kind != GrammarSpec::Kind::kStructuralTag;
  if (!ends_by_grammar) {
    const std::vector<std::string> stops = encoder.ChatStops();
    request.stop.insert(request.stop.end(), stops.begin(), stops.end());
  }
  const std::vector<TokenId> ids = encoder.ChatStopTokenIds();
  auto& stop_token_ids = request.sampling.stop_token_ids;
  stop_token_ids.insert(stop_token_ids.end(), ids.begin(), ids.end());
}

bool SetReasoningEffort(const std::string& effort, const ChatTemplate* chat_template, Chat& chat) {
  if (!TemplateMentions(chat_template, "reasoning_effort")) return false;
  chat.variables["reasoning_effort"] = effort;
  return true;
}

namespace {

absl::StatusOr<Asked> Parse(const Service& service, const HttpRequest& http) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(http.body));
  JsonFields fields(body);
  Asked asked;
  SHORTLIST_ASSIGN_OR_RETURN(asked.openai, ReadOpenAiRequest(service, fields, http.body,
                                                             std::nullopt, /*least_max_tokens=*/1));
  const bool logprobs = fields.Bool("logprobs", false);
  const std::optional<int64_t> top = fields.OptionalInteger("top_logprobs", 0, kMaxTopLogprobs);
  if (top.value_or(0) > 0 && !logprobs) fields.Fail("top_logprobs", "wants \"logprobs\": true");
  const PromptEncoder& encoder = *service.generator->options().prompt_encoder;
  SHORTLIST_ASSIGN_OR_RETURN(
      Chat chat, ReadChat(fields, ParseOrderedJson(http.body), encoder.chat_template()));
  const ToolChoice choice = ReadToolChoice(fields, chat.tools);
  if (const auto effort = fields.OptionalString("reasoning_effort", kMaxNameBytes)) {
    const json* kwargs = fields.Find("chat_template_kwargs");
    if (kwargs != nullptr && kwargs->contains("reasoning_effort")) {
      fields.Fail("reasoning_effort", "also in chat_template_kwargs");
    }
    asked.ignores_effort = !SetReasoningEffort(*effort, encoder.chat_template(), chat);
  }
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  SHORTLIST_RETURN_IF_ERROR(
      CheckNumGenerations(/*num_prompts=*/1, asked.openai.n, std::ssize(http.body)));
  GenerateRequest request = asked.openai.sampling;
  if (logprobs) request.sampling.num_logprobs = top.value_or(0);
  AddChatStops(encoder, request);
  asked.plan = PlanReply(service, chat, choice, fields, request);
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  request.prompt = Share(std::move(chat));
  request.prompt_field = "messages";
  asked.openai.sampling = request;
  asked.requests.push_back(std::move(request));
  asked.requests = Repeat(std::move(asked.requests), asked.openai.n);
  if (!asked.openai.stream) {
    SHORTLIST_RETURN_IF_ERROR(CheckNumOutputLogprobs("top_logprobs", asked.requests,
                                                     service.generator->options().context_length));
  }
  return asked;
}

class ChatReply final : public OpenAiReply {
 public:
  ChatReply(const Service& service, const Asked& asked)
      : OpenAiReply(service, asked.openai,
                    {"chatcmpl-", "chat.completion", "chat.completion.chunk"}),
        plan_(asked.plan) {
    for (int64_t i = 0; i < asked.openai.n; ++i) readers_.emplace_back(plan_);
  }

 private:
  std::vector<ordered_json> Choices(const Output& output, bool is_first) override {
    ReplyAssembly& reader = readers_[output.last.index];
    const size_t num_calls_before = reader.calls().size();
    const std::vector<ReplyPart> parts = reader.Read(output);
    std::vector<ordered_json> messages;
    if (openai().stream) {
      messages = ChatDeltas(parts, num_calls_before);
    } else {
      messages.push_back(ChatMessage(reader));
    }
    const bool tells_logprobs = openai().sampling.sampling.num_logprobs >= 0;
    // An event at least for the role, the end, and log-probabilities.
    const bool is_owed =
        is_first || output.last.finished || (tells_logprobs && !output.tokens.empty());
    if (messages.empty() && is_owed) messages.push_back(ordered_json::object());
    if (openai().stream && is_first) messages.front() = WithRole(messages.front());
    std::vector<ordered_json> choices;
    for (size_t i = 0; i < messages.size(); ++i) {
      ordered_json choice = {{"index", output.last.index}};
      choice[openai().stream ? "delta" : "message"] = std::move(messages[i]);
      choice["logprobs"] = i == 0 && tells_logprobs ? AllLogprobs(output) : ordered_json();
      const bool is_last = i + 1 == messages.size();
      choice["finish_reason"] = is_last ? FinishReason(output.last, reader) : ordered_json();
      choices.push_back(std::move(choice));
    }
    return choices;
  }

  std::optional<int64_t> NumReasoningTokens() const override {
    if (!plan_.counts_reasoning()) return std::nullopt;
    int64_t count = 0;
    for (const ReplyAssembly& reader : readers_) count += reader.num_reasoning_tokens();
    return count;
  }

  static ordered_json WithRole(const ordered_json& delta) {
    ordered_json first = {{"role", "assistant"}, {"content", ""}};
    first.update(delta);
    return first;
  }

  ordered_json FinishReason(const GenerationEvent& last, const ReplyAssembly& reader) const {
    ordered_json reason = OpenAiFinishReason(last);
    // As in OpenAI's API, a call that the request named ends with "stop".
    const bool ends_with_calls =
        reason == "stop" && !reader.calls().empty() && !reader.ends_within_call();
    if (ends_with_calls && !plan_.is_named) return "tool_calls";
    return reason;
  }

  ordered_json AllLogprobs(const Output& output) const {
    ordered_json content = ordered_json::array();
    for (const OutputToken& token : output.tokens) content.push_back(Logprobs(token));
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  ordered_json Logprob(TokenId id, float logprob) const {
    const std::string_view control = tokenizer().ControlPiece(id);
    const std::string_view raw = control.empty() ? tokenizer().TokenBytes(id) : control;
    ordered_json bytes = ordered_json::array();
    for (const char c : raw) bytes.push_back(static_cast<unsigned char>(c));
    return {{"token", TokenText(tokenizer(), id)},
            {"logprob", JsonLogprob(logprob)},
            {"bytes", std::move(bytes)}};
  }

  ordered_json Logprobs(const OutputToken& token) const {
    ordered_json entry = Logprob(token.id, token.info.logprob);
    entry["top_logprobs"] = ordered_json::array();
    if (openai().sampling.sampling.num_logprobs == 0) return entry;
    for (const auto& [id, logprob] : TopWithChosen(token.id, token.info)) {
      entry["top_logprobs"].push_back(Logprob(id, logprob));
    }
    return entry;
  }

  const ReplyPlan& plan_;
  std::vector<ReplyAssembly> readers_;  // by choice
};

awaitable<absl::Status> Complete(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  const auto parse = [&] { return Parse(service, http); };
  absl::StatusOr<Asked> asked =
      co_await service.workers->RunIfLarge(http.client, std::ssize(http.body), parse);
  if (!asked.ok()) co_return asked.status();
  http.DropBody();
  if (asked->ignores_effort) NoteIgnored("reasoning_effort", response);
  asked->plan.NoteIgnoredFields(response);
  ChatReply reply(service, *asked);
  absl::Status status = co_await reply.Run(std::move(asked->requests), http.client, response);
  co_return status;
}

}  // namespace

absl::Status AddOpenAiChatRoute(const Service& service, RouteTable& routes) {
  return routes.Add({.method = "POST",
                     .path = "/v1/chat/completions",
                     .takes_json = true,
                     .handler =
                         [&service](const HttpRequest& request, HttpResponse& response) {
                           return Complete(service, request, response);
                         },
                     .openapi = openapi::Chat()});
}

}  // namespace shortlist
