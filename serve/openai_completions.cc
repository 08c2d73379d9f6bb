#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/openai.h"
#include "serve/openai_reply.h"
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

class CompletionsReply final : public OpenAiReply {
 public:
  CompletionsReply(const Service& service, const Asked& asked)
      : OpenAiReply(service, asked.openai, {"cmpl-", "text_completion", "text_completion"}),
        asked_(asked),
        offsets_(asked.requests.size()) {}

 private:
  // Tokens whose text is held back come with the text.
  ordered_json Choice(const Output& output, bool is_first) override {
    const size_t index = output.last.index;
    std::string text = output.text;
    if (!asked_.echoes.empty() && is_first) text = asked_.echoes[index / openai().n] + text;
    ordered_json choice = {{"index", index}, {"text", std::move(text)}, {"logprobs", nullptr}};
    if (openai().sampling.sampling.num_logprobs >= 0) {
      choice["logprobs"] = Logprobs(output.tokens, offsets_[index]);
    }
    return choice;
  }

  ordered_json Logprobs(const std::vector<OutputToken>& tokens, int64_t& offset) const {
    ordered_json texts = ordered_json::array(), chosen = ordered_json::array();
    ordered_json tops = ordered_json::array(), offsets = ordered_json::array();
    for (const OutputToken& token : tokens) {
      texts.push_back(TokenText(tokenizer(), token.id));
      chosen.push_back(JsonLogprob(token.info.logprob));
      ordered_json top = ordered_json::object();
      for (const auto& [id, logprob] : token.info.top) {
        top[TokenText(tokenizer(), id)] = JsonLogprob(logprob);
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

  const Asked& asked_;
  std::vector<int64_t> offsets_;  // code points told so far, by choice
};

awaitable<absl::Status> Complete(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  absl::StatusOr<Asked> asked = Parse(service, http);
  if (!asked.ok()) co_return asked.status();
  CompletionsReply reply(service, *asked);
  absl::Status status = co_await reply.Run(asked->requests, response);
  co_return status;
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
                     .openapi = openapi::Completions()});
}

}  // namespace shortlist
