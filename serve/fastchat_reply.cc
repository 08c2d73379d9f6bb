#include "serve/fastchat_reply.h"

#include <span>

#include "base/check.h"
#include "serve/json_fields.h"
#include "serve/output.h"

namespace shortlist {

FastchatReply::FastchatReply(const FastchatRequest& request, const Tokenizer& tokenizer)
    : request_(request), tokenizer_(tokenizer), text_(request.echo ? request.prompt : "") {
  if (request.generate.sampling.num_logprobs < 0) return;
  num_code_points_ = NumCodePoints(text_);
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
  for (const OutputToken& token : event.tokens) AddLogprobs(token);
}

void FastchatReply::AddLogprobs(const OutputToken& token) {
  logprobs_["text_offset"].push_back(num_code_points_);
  logprobs_["tokens"].push_back(token.text);
  logprobs_["token_logprobs"].push_back(token.info.logprob);
  auto top = nlohmann::json::object();
  for (const auto& [id, logprob] : token.info.top) {
    top.emplace(tokenizer_.Decode(std::span(&id, 1)), logprob);  // of equal texts the likeliest
  }
  logprobs_["top_logprobs"].push_back(std::move(top));
  num_code_points_ += NumCodePoints(token.text);
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
