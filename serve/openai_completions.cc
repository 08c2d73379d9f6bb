#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/openai.h"
#include "serve/openai_request.h"
#include "serve/openapi.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t kDefaultMaxTokens = 16;

struct Asked {
  OpenAiRequest openai;
  std::vector<GenerateRequest> requests;
  std::vector<std::string> echoes;  // what stands before each choice; empty: nothing does
};

absl::StatusOr<Asked> Parse(const Service& service, const HttpRequest& http) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(http.body));
  const Tokenizer& tokenizer = *service.generator->options().tokenizer;
  JsonFields fields(body);
  Asked asked;
  SHORTLIST_ASSIGN_OR_RETURN(asked.openai, ReadOpenAiRequest(service, fields, kDefaultMaxTokens));
  const std::optional<int64_t> logprobs = fields.OptionalInteger("logprobs", 0, kMaxTopLogprobs);
  asked.openai.sampling.sampling.num_logprobs = logprobs.value_or(-1);
  const bool echo = fields.Bool("echo", false);
  if (echo && logprobs.has_value()) {
    fields.Fail("echo", "log-probabilities of the prompt are not supported");
  }
  if (const std::optional<int64_t> best_of = fields.OptionalInteger("best_of", 1, kMaxChoices)) {
    if (*best_of != asked.openai.n) fields.Fail("best_of", "only as many as n are generated");
  }
  fields.Refuse({"suffix"}, "not supported");
  if (fields.Find("prompt") == nullptr) fields.Fail("prompt", "missing");
  Prompts prompts = ReadPrompts(fields, "prompt", tokenizer.size());
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  SHORTLIST_RETURN_IF_ERROR(
      CheckNumGenerations(std::ssize(prompts.prompts), asked.openai.n, std::ssize(http.body)));

  for (Prompt& prompt : prompts.prompts) {
    if (echo) {
      const auto* text = std::get_if<std::string>(&prompt);
      asked.echoes.push_back(
          text != nullptr ? *text : tokenizer.Decode(std::get<std::vector<TokenId>>(prompt)));
    }
    asked.requests.push_back(asked.openai.sampling);
    asked.requests.back().prompt = std::move(prompt);
  }
  asked.requests = Repeat(std::move(asked.requests), asked.openai.n);
  return asked;
}

int64_t NumCodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

/// Makes the objects of one reply or stream.
class Writer {
 public:
  Writer(const Service& service, const Asked& asked)
      : service_(service),
        tokenizer_(*service.generator->options().tokenizer),
        asked_(asked),
        created_(UnixNow()),
        usage_(asked.openai.n),
        offsets_(asked.requests.size()),
        begun_(asked.requests.size()) {}

  ordered_json Object(ordered_json choices) const {
    return {{"id", absl::StrCat("cmpl-", asked_.openai.rid)},
            {"object", "text_completion"},
            {"created", created_},
            {"model", service_.model_name},
            {"choices", std::move(choices)}};
  }

  /// What `output` adds to its choice.
  ordered_json Choice(const Output& output) {
    const size_t index = output.last.index;
    std::string text = output.text;
    if (!asked_.echoes.empty() && !begun_[index]) text = Echo(index) + text;
    begun_[index] = true;
    ordered_json choice = {{"index", index}, {"text", std::move(text)}, {"logprobs", nullptr}};
    if (asked_.openai.sampling.sampling.num_logprobs >= 0) {
      choice["logprobs"] = Logprobs(output.tokens, offsets_[index]);
    }
    choice["finish_reason"] = OpenAiFinishReason(output.last);
    if (output.last.finished) usage_.Add(output.last);
    return choice;
  }

  ordered_json Usage() const { return usage_.Json(); }

  std::string Event(GenerationEvent event) {
    if (!event.status.ok()) return ServerSentEvent(OpenAiErrorBody(event.status));
    Output output;
    Append(std::move(event), output);
    const bool finished = output.last.finished;
    // Tokens whose text is held back come with the text.
    ordered_json choices = ordered_json::array({Choice(output)});
    ordered_json object = Object(std::move(choices));
    if (asked_.openai.include_usage) object["usage"] = nullptr;
    std::string bytes = ServerSentEvent(Dump(object));
    if (finished && ++num_finished_ == asked_.requests.size() && asked_.openai.include_usage) {
      ordered_json last = Object(ordered_json::array());
      last["usage"] = Usage();
      bytes += ServerSentEvent(Dump(last));
    }
    return bytes;
  }

 private:
  const std::string& Echo(size_t index) const { return asked_.echoes[index / asked_.openai.n]; }

  ordered_json Logprobs(const std::vector<OutputToken>& tokens, int64_t& offset) const {
    ordered_json texts = ordered_json::array(), chosen = ordered_json::array();
    ordered_json tops = ordered_json::array(), offsets = ordered_json::array();
    for (const OutputToken& token : tokens) {
      texts.push_back(TokenText(tokenizer_, token.id));
      chosen.push_back(JsonLogprob(token.info.logprob));
      ordered_json top = ordered_json::object();
      for (const auto& [id, logprob] : token.info.top) {
        top[TokenText(tokenizer_, id)] = JsonLogprob(logprob);
      }
      tops.push_back(std::move(top));
      offsets.push_back(offset);
      offset += NumCodePoints(token.text);
    }
    return {{"tokens", std::move(texts)},
            {"token_logprobs", std::move(chosen)},
            {"top_logprobs", std::move(tops)},
            {"text_offset", std::move(offsets)}};
  }

  const Service& service_;
  const Tokenizer& tokenizer_;
  const Asked& asked_;
  const int64_t created_;
  OpenAiUsage usage_;
  std::vector<int64_t> offsets_;  // code points told so far, by choice
  std::vector<bool> begun_;
  size_t num_finished_ = 0;
};

awaitable<absl::Status> Complete(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  absl::StatusOr<Asked> asked = Parse(service, http);
  if (!asked.ok()) co_return asked.status();
  absl::StatusOr<std::unique_ptr<Generation>> generation =
      service.generator->Start(asked->requests, asked->openai.rid);
  if (!generation.ok()) co_return generation.status();
  Writer writer(service, *asked);
  if (asked->openai.stream) {
    StreamFormat format;
    format.format = [&writer](GenerationEvent event) { return writer.Event(std::move(event)); };
    absl::Status status = co_await StreamEvents(**generation, response, format);
    co_return status;
  }
  absl::StatusOr<std::vector<Output>> outputs =
      co_await CollectOutputs(**generation, asked->requests.size());
  if (!outputs.ok()) co_return outputs.status();
  ordered_json choices = ordered_json::array();
  for (const Output& output : *outputs) {
    Record(output.last, response.record());
    choices.push_back(writer.Choice(output));
  }
  ordered_json object = writer.Object(std::move(choices));
  object["usage"] = writer.Usage();
  std::string body = Dump(object);
  co_await response.Send(200, kJsonType, std::move(body));
  co_return absl::OkStatus();
}

}  // namespace

absl::Status AddOpenAiCompletionsRoute(const Service& service, RouteTable& routes) {
  return routes.Add({.method = "POST",
                     .path = "/v1/completions",
                     .takes_json = true,
                     .handler =
                         [&service](const HttpRequest& request, HttpResponse& response) {
                           return Complete(service, request, response);
                         },
                     .openapi = openapi::kCompletions});
}

}  // namespace shortlist
