#include "serve/fastchat/reply.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "serve/http/json_fields.h"
#include "serve/output.h"
#include "text/detokenizer.h"

namespace shortlist {

FastchatReply::FastchatReply(const FastchatRequest& request, const Tokenizer& tokenizer)
    : request_(request), tokenizer_(tokenizer), text_(request.echo ? request.prompt : "") {
  if (request.generate.sampling.num_logprobs < 0) return;
  const auto none = nlohmann::json::array();
  logprobs_ = {
      {"text_offset", none}, {"tokens", none}, {"token_logprobs", none}, {"top_logprobs", none}};
}

void FastchatReply::Add(const GenerationEvent& event) {
  text_ += event.text;
  prompt_tokens_ = event.prompt_tokens;
  completion_tokens_ = event.completion_tokens;
  if (event.finished) finish_reason_ = event.finish_reason;
  if (logprobs_.is_null()) return;
  AddPrompt(event.prompt);
  for (const OutputToken& token : event.tokens) {
    const int64_t num_earlier = NumEarlierCodePoints(tokenizer_, token.id, token.text);
    num_code_points_ += num_earlier;
    AddLogprobs(token.id, token.info);
    num_code_points_ += NumCodePoints(token.text) - num_earlier;
  }
}

/// Offsets follow the decoded tokens. A control token counts only if the prompt's text spells it.
void FastchatReply::AddPrompt(const std::vector<PromptToken>& prompt) {
  if (prompt.empty()) return;
  Detokenizer detokenizer(tokenizer_, /*at_start=*/true);
  std::string_view rest = request_.prompt;
  for (const PromptToken& token : prompt) {
    std::string piece = detokenizer.Append(token.id);
    const int64_t num_earlier = NumEarlierCodePoints(tokenizer_, token.id, piece);
    num_code_points_ += num_earlier;
    AddLogprobs(token.id, token.info);
    const std::string_view control = tokenizer_.ControlPiece(token.id);
    if (rest.starts_with(control)) piece += control;
    rest.remove_prefix(std::min(piece.size(), rest.size()));
    num_code_points_ += NumCodePoints(piece) - num_earlier;
  }
  num_code_points_ = NumCodePoints(request_.prompt);
}

/// The first token of a prompt has no log-probability: null.
void FastchatReply::AddLogprobs(TokenId id, const TokenInfo& info) {
  logprobs_["text_offset"].push_back(num_code_points_);
  logprobs_["tokens"].push_back(TokenText(tokenizer_, id));
  if (std::isnan(info.logprob)) {
    logprobs_["token_logprobs"].push_back(nullptr);
    logprobs_["top_logprobs"].push_back(nullptr);
    return;
  }
  logprobs_["token_logprobs"].push_back(JsonLogprob(info.logprob));
  auto top = nlohmann::json::object();
  for (const auto& [top_id, logprob] : TopWithChosen(id, info)) {
    // Of equal texts the most likely.
    top.emplace(TokenText(tokenizer_, top_id), JsonLogprob(logprob));
  }
  logprobs_["top_logprobs"].push_back(std::move(top));
}

bool FastchatReply::due() const {
  const int64_t num_new = completion_tokens_ - told_tokens_;
  return num_new > 0 && (told_tokens_ == 0 || num_new >= request_.stream_interval);
}

std::string FastchatReply::Json(bool is_last) {
  SHORTLIST_CHECK(!is_last || finish_reason_ != FinishReason::kNone);
  told_tokens_ = completion_tokens_;
  nlohmann::json object = {{"text", text_},
                           {"error_code", 0},
                           {"usage",
                            {{"prompt_tokens", prompt_tokens_},
                             {"completion_tokens", completion_tokens_},
                             {"total_tokens", prompt_tokens_ + completion_tokens_}}},
                           {"finish_reason", nullptr},
                           {"logprobs", logprobs_}};
  if (is_last) {
    object["finish_reason"] = finish_reason_ == FinishReason::kLength ? "length" : "stop";
  }
  return Dump(object);
}

}  // namespace shortlist
