#ifndef SHORTLIST_SERVE_SHARED_PROMPT_H_
#define SHORTLIST_SERVE_SHARED_PROMPT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/chat/prompt_encoder.h"

namespace shortlist {

/// A prompt that several generations share: stored once, encoded once. Any thread.
class SharedPrompt {
 public:
  explicit SharedPrompt(Prompt prompt)
      : is_text_(std::holds_alternative<std::string>(prompt)), prompt_(std::move(prompt)) {}

  /// True if the prompt is a text, neither ids nor a conversation.
  bool is_text() const { return is_text_; }

  /// Same as PromptEncoder::Encode. The first call encodes and releases the prompt; `encoder` and
  /// `max_tokens` must be the same in all calls.
  const absl::StatusOr<std::vector<TokenId>>& Encode(const PromptEncoder& encoder,
                                                     int64_t max_tokens);

  /// The prompt before encoding. Precondition: Encode() was not called yet.
  const Prompt& prompt() const { return *prompt_; }

 private:
  const bool is_text_;
  std::mutex mutex_;
  std::optional<Prompt> prompt_;
  std::optional<absl::StatusOr<std::vector<TokenId>>> ids_;  // constant once set
};

inline std::shared_ptr<SharedPrompt> Share(Prompt prompt) {
  return std::make_shared<SharedPrompt>(std::move(prompt));
}

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SHARED_PROMPT_H_
