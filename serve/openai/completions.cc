#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "serve/openai/reply.h"
#include "serve/openai/request.h"
#include "serve/openai/routes.h"
#include "serve/openapi.h"
#include "serve/sampling_fields.h"
#include "text/detokenizer.h"

namespace shortlist {
namespace {

using boost::asio::awaitable;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t kDefaultMaxTokens = 16;

struct Asked {
  OpenAiRequest openai;
  std::vector<GenerateRequest> requests;
  std::vector<std::string> echoes;  // the text before each choice; empty: none
};

absl::StatusOr<Asked> Parse(const Service& service, const HttpRequest& http) {
  SHORTLIST_ASSIGN_OR_RETURN(const json body, ParseRequestBody(http.body));
  const Tokenizer& tokenizer = *service.generator->options().tokenizer;
  JsonFields fields(body);
  Asked asked;
  const bool echo = fields.Bool("echo", false);
  SHORTLIST_ASSIGN_OR_RETURN(asked.openai,
                             ReadOpenAiRequest(service, fields, http.body, kDefaultMaxTokens,
                                               /*least_max_tokens=*/echo ? 0 : 1));
  const std::optional<int64_t> logprobs = fields.OptionalInteger("logprobs", 0, kMaxTopLogprobs);
  SamplingParams& sampling = asked.openai.sampling.sampling;
  sampling.num_logprobs = logprobs.value_or(-1);
  if (echo && logprobs.has_value()) sampling.prompt_logprobs_start = 0;
  if (echo && asked.openai.sampling.truncate_prompt_tokens.has_value()) {
    fields.Fail("truncate_prompt_tokens", "not with echo");
  }
  fields.Refuse({"suffix", "prompt_embeds", "tools"}, "not supported");
  fields.RefuseUnless("tool_choice", "none", "there are no tools to choose from");
  fields.Refuse({"reasoning_effort"}, "not supported: there is no chat template for a text");
  fields.RefuseUnless("add_special_tokens", true, "they are always added");
  if (fields.Find("prompt") == nullptr) fields.Fail("prompt", "missing");
  Prompts prompts = ReadPrompts(fields, "prompt", tokenizer.size());
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  SHORTLIST_RETURN_IF_ERROR(
      CheckNumGenerations(std::ssize(prompts.prompts), asked.openai.n, std::ssize(http.body)));
  if (sampling.prompt_logprobs_start >= 0) {
    SHORTLIST_RETURN_IF_ERROR(
        CheckNumPromptLogprobs("logprobs", *logprobs, asked.openai.n, std::ssize(http.body)));
  }

  for (Prompt& prompt : prompts.prompts) {
    if (echo) {
      const auto* text = std::get_if<std::string>(&prompt);
      asked.echoes.push_back(
          text != nullptr ? *text : tokenizer.Decode(std::get<std::vector<TokenId>>(prompt)));
    }
    asked.requests.push_back(asked.openai.sampling);
    asked.requests.back().prompt = Share(std::move(prompt));
  }
  asked.requests = Repeat(std::move(asked.requests), asked.openai.n);
  if (!asked.openai.stream) {
    SHORTLIST_RETURN_IF_ERROR(CheckNumOutputLogprobs("logprobs", asked.requests,
                                                     service.generator->options().context_length));
  }
  return asked;
}

/// The "logprobs" of a choice, or of a part of it.
class Logprobs {
 public:
  /// `offset` is the position of the next token in the choice's text, in code points. Tokens
  /// advance it.
  Logprobs(const Tokenizer& tokenizer, int64_t& offset) : tokenizer_(tokenizer), offset_(offset) {}

  /// Adds the tokens of the prompt, whose text `echo` begins the choice. Offsets follow the decoded
  /// tokens. A control token counts only if the prompt's text spells it.
  void AddPrompt(const std::vector<PromptToken>& prompt, std::string_view echo) {
    Detokenizer detokenizer(tokenizer_, /*at_start=*/true);
    std::string_view rest = echo;
    for (const PromptToken& token : prompt) {
      std::string piece = detokenizer.Append(token.id);
      const int64_t num_earlier = NumEarlierCodePoints(tokenizer_, token.id, piece);
      offset_ += num_earlier;
      Add(token.id, token.info);
      const std::string_view control = tokenizer_.ControlPiece(token.id);
      if (rest.starts_with(control)) piece += control;
      rest.remove_prefix(std::min(piece.size(), rest.size()));
      offset_ += NumCodePoints(piece) - num_earlier;
    }
    if (!echo.empty()) offset_ = NumCodePoints(echo);
  }

  void Add(const OutputToken& token) {
    const int64_t num_earlier = NumEarlierCodePoints(tokenizer_, token.id, token.text);
    offset_ += num_earlier;
    Add(token.id, token.info);
    offset_ += NumCodePoints(token.text) - num_earlier;
  }

  ordered_json Json() && {
    return {{"tokens", std::move(tokens_)},
            {"token_logprobs", std::move(chosen_)},
            {"top_logprobs", std::move(tops_)},
            {"text_offset", std::move(offsets_)}};
  }

 private:
  /// The first token of a prompt has no log-probability: null.
  void Add(TokenId id, const TokenInfo& info) {
    tokens_.push_back(Spelling(id));
    offsets_.push_back(offset_);
    if (std::isnan(info.logprob)) {
      chosen_.push_back(nullptr);
      tops_.push_back(nullptr);
      return;
    }
    chosen_.push_back(JsonLogprob(info.logprob));
    ordered_json top = ordered_json::object();
    for (const auto& [top_id, logprob] : TopWithChosen(id, info)) {
      // Of equal texts the most likely.
      top.emplace(Spelling(top_id), JsonLogprob(logprob));
    }
    tops_.push_back(std::move(top));
  }

  /// Returns the text of a token; of bytes that are no UTF-8, OpenAI's "bytes:\xf0\x9f", since
  /// several such tokens would have the same text.
  std::string Spelling(TokenId id) const {
    const std::string_view bytes = tokenizer_.TokenBytes(id);
    if (!tokenizer_.ControlPiece(id).empty() || !FindInvalidUtf8(bytes)) {
      return TokenText(tokenizer_, id);
    }
    std::string text = "bytes:";
    for (const char byte : bytes) {
      absl::StrAppend(&text, "\\x", absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
    }
    return text;
  }

  const Tokenizer& tokenizer_;
  int64_t& offset_;
  ordered_json tokens_ = ordered_json::array(), chosen_ = ordered_json::array();
  ordered_json tops_ = ordered_json::array(), offsets_ = ordered_json::array();
};

class CompletionsReply final : public OpenAiReply {
 public:
  CompletionsReply(const Service& service, const Asked& asked)
      : OpenAiReply(service, asked.openai, {"cmpl-", "text_completion", "text_completion"}),
        asked_(asked),
        offsets_(asked.requests.size()) {}

 private:
  // A token's log-probability is sent with its event, even if its text is still withheld.
  std::vector<ordered_json> Choices(const Output& output, bool is_first) override {
    const size_t index = output.last.index;
    const std::string echo =
        is_first && !asked_.echoes.empty() ? asked_.echoes[index / openai().n] : "";
    ordered_json choice = {{"index", index}, {"text", echo + output.text}, {"logprobs", nullptr}};
    if (openai().sampling.sampling.num_logprobs >= 0) {
      Logprobs logprobs(tokenizer(), offsets_[index]);
      logprobs.AddPrompt(output.prompt, echo);
      for (const OutputToken& token : output.tokens) logprobs.Add(token);
      choice["logprobs"] = std::move(logprobs).Json();
    }
    choice["finish_reason"] = OpenAiFinishReason(output.last);
    return {std::move(choice)};
  }

  const Asked& asked_;
  std::vector<int64_t> offsets_;  // code points sent so far, by choice
};

awaitable<absl::Status> Complete(const Service& service, const HttpRequest& http,
                                 HttpResponse& response) {
  const auto parse = [&] { return Parse(service, http); };
  absl::StatusOr<Asked> asked =
      co_await service.workers->RunIfLarge(http.client, std::ssize(http.body), parse);
  if (!asked.ok()) co_return asked.status();
  http.DropBody();
  CompletionsReply reply(service, *asked);
  absl::Status status = co_await reply.Run(std::move(asked->requests), http.client, response);
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
