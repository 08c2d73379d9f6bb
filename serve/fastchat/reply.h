#ifndef SHORTLIST_SERVE_FASTCHAT_REPLY_H_
#define SHORTLIST_SERVE_FASTCHAT_REPLY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "serve/fastchat/request.h"
#include "serve/generator.h"
#include "text/tokenizer.h"

namespace shortlist {

/// What FastChat is told of one request: the text so far, over and over. It only ever grows, by
/// whole code points, as FastChat's API server takes its differences. Used by one thread.
class FastchatReply {
 public:
  /// Both must outlive this.
  FastchatReply(const FastchatRequest& request, const Tokenizer& tokenizer);

  /// Takes in an event of the request that did not fail.
  void Add(const GenerationEvent& event);

  /// True when the first tokens have come, and from then on when stream_interval further ones have,
  /// since the last Json.
  bool due() const;

  /// The object so far. `is_last`: with the reason why it ended, which is null in any other; the
  /// last event must have been added.
  std::string Json(bool is_last);

 private:
  void AddPrompt(const std::vector<PromptToken>& prompt);
  void AddLogprobs(TokenId id, const TokenInfo& info);

  const FastchatRequest& request_;
  const Tokenizer& tokenizer_;
  std::string text_;
  int64_t num_code_points_ = 0;  // of the tokens in logprobs_
  nlohmann::json logprobs_;      // null unless asked for
  int64_t prompt_tokens_ = 0;
  int64_t completion_tokens_ = 0;
  int64_t told_tokens_ = 0;
  FinishReason finish_reason_ = FinishReason::kNone;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_REPLY_H_
