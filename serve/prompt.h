#ifndef SHORTLIST_SERVE_PROMPT_H_
#define SHORTLIST_SERVE_PROMPT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "text/chat_template.h"
#include "text/conversation.h"
#include "text/tokenizer.h"

namespace shortlist {

/// What is to be continued: text, token ids, or a conversation.
using Prompt = std::variant<std::string, std::vector<TokenId>, Chat>;

/// Turns prompts into token ids, alike for every dialect, so that the same prompt gets the same
/// answer through each of them. Immutable; any thread.
///
/// Text: spellings of control tokens in it are these tokens (whoever sends a rendered prompt means
/// them) unless the caller says otherwise; BOS goes first where the checkpoint wants it, but never
/// twice. A conversation: the template's own control tokens are read as such, those that someone
/// typed into a message stay text; the ids are those of transformers' apply_chat_template where
/// nobody typed any. A "developer" is "system" to a template that does not know that role.
class PromptEncoder {
 public:
  struct Options {
    bool add_special_tokens = true;                            // of text
    bool parse_special = true;                                 // likewise
    int64_t max_tokens = std::numeric_limits<int64_t>::max();  // more are refused
  };

  /// `chat_template` is the checkpoint's; without one conversations are rendered by `fallback`.
  /// Tokenizer and fallback must outlive this. `num_rows`: of the model's embedding.
  PromptEncoder(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat_template,
                const Conversation& fallback,
                int64_t num_rows = std::numeric_limits<int64_t>::max());

  /// InvalidArgument for text that is no UTF-8, a conversation that the template refuses, ids
  /// outside the vocabulary or without a row, and a prompt without tokens. OutOfRange for more than
  /// max_tokens: what is far beyond them is refused before it is encoded, going by the longest
  /// token (and refused too where neighbouring unknown characters would have become one token).
  absl::StatusOr<std::vector<TokenId>> Encode(const Prompt& prompt, const Options& options) const;

  /// The checkpoint's; null where conversations are rendered by the fallback.
  const ChatTemplate* chat_template() const {
    return chat_template_.has_value() ? &*chat_template_ : nullptr;
  }

  /// The text that a conversation comes to, as Encode encodes it; InvalidArgument for one that the
  /// template refuses.
  absl::StatusOr<RenderedChat> Render(const Chat& chat) const;

  /// What conversations are rendered by: "checkpoint", or the name of the fallback.
  std::string_view template_name() const {
    return chat_template_.has_value() ? "checkpoint" : std::string_view(fallback_.name);
  }

  /// Texts that end the assistant's turn where the template of the fallback says so; empty with the
  /// checkpoint's own, whose turns end with its end-of-text tokens.
  std::vector<std::string> ChatStops() const;
  /// Tokens that do, likewise; those that the tokenizer does not have are left out.
  std::vector<TokenId> ChatStopTokenIds() const;

 private:
  absl::Status CheckBytes(std::string_view text, int64_t max_tokens) const;
  absl::StatusOr<std::vector<TokenId>> EncodeText(const std::string& text, const Options& options,
                                                  std::span<const ByteRange> content) const;
  absl::StatusOr<std::vector<TokenId>> EncodeChat(const Chat& chat, Options options) const;

  const Tokenizer& tokenizer_;
  const std::optional<ChatTemplate> chat_template_;
  const Conversation& fallback_;
  const int64_t num_rows_;
  int64_t longest_ = 1;  // token, in bytes
};

/// A prompt that several generations share: kept once, and encoded once. Any thread.
class SharedPrompt {
 public:
  explicit SharedPrompt(Prompt prompt)
      : is_text_(std::holds_alternative<std::string>(prompt)), prompt_(std::move(prompt)) {}

  /// Neither ids nor a conversation.
  bool is_text() const { return is_text_; }

  /// As PromptEncoder::Encode, whose prompt goes with the first call; `encoder` and `max_tokens`
  /// are the same in all.
  const absl::StatusOr<std::vector<TokenId>>& Encode(const PromptEncoder& encoder,
                                                     int64_t max_tokens);

  /// What is to be encoded. Before the first Encode.
  const Prompt& prompt() const { return *prompt_; }

 private:
  const bool is_text_;
  std::mutex mutex_;
  std::optional<Prompt> prompt_;
  std::optional<absl::StatusOr<std::vector<TokenId>>> ids_;  // never changes once it is there
};

inline std::shared_ptr<SharedPrompt> Share(Prompt prompt) {
  return std::make_shared<SharedPrompt>(std::move(prompt));
}

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_PROMPT_H_
