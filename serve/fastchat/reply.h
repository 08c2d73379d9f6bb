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

/// The objects that FastChat gets for one request: each contains the complete text so far. The text
/// only grows, by whole code points, because FastChat's API server computes differences. Used by
/// one thread.
class FastchatReply {
 public:
  /// `request` and `tokenizer` must outlive this.
  FastchatReply(const FastchatRequest& request, const Tokenizer& tokenizer);

  /// Adds an event of the request that has no error.
  void Add(const GenerationEvent& event);

  /// True when the first tokens have come, and later when stream_interval tokens have come since
  /// the last Json().
  bool due() const;

  /// Returns the object so far. `is_last`: includes finish_reason, which is null otherwise.
  /// Precondition of `is_last`: the last event was added.
  std::string Json(bool is_last);

 private:
  void AddPrompt(const std::vector<PromptToken>& prompt);
  void AddLogprobs(TokenId id, const TokenInfo& info);

  const FastchatRequest& request_;
  const Tokenizer& tokenizer_;
  std::string text_;
  int64_t num_code_points_ = 0;  // of the tokens in logprobs_
  nlohmann::json logprobs_;      // null unless requested
  int64_t prompt_tokens_ = 0;
  int64_t completion_tokens_ = 0;
  int64_t told_tokens_ = 0;
  FinishReason finish_reason_ = FinishReason::kNone;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_REPLY_H_
