#ifndef SHORTLIST_TEXT_CHAT_PROMPT_ENCODER_H_
#define SHORTLIST_TEXT_CHAT_PROMPT_ENCODER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "io/model_source.h"
#include "text/chat/chat_template.h"
#include "text/chat/conversation.h"
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

  /// A model, as far as its prompts go.
  struct Model {
    std::string name;           // as the user names it
    ModelSource source;         // holds its chat template
    std::string conv_template;  // empty: the checkpoint's own, else by the model's name
    int64_t num_rows = std::numeric_limits<int64_t>::max();  // of its embedding
  };

  /// Conversations are rendered by the named conversation template, or where there is no name by
  /// the model's chat template, or else by FallbackConversation. NotFound lists
  /// the names; InvalidArgument names the file of a damaged template. `tokenizer` must outlive
  /// this.
  static absl::StatusOr<PromptEncoder> Open(const Tokenizer& tokenizer, const Model& model);

  /// `chat_template` is the checkpoint's; without one conversations are rendered by `fallback`.
  /// Tokenizer and fallback must outlive this. `num_rows`: of the model's embedding.
  PromptEncoder(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat_template,
                const Conversation& fallback,
                int64_t num_rows = std::numeric_limits<int64_t>::max());

  /// For texts and ids alone: conversations are refused.
  explicit PromptEncoder(const Tokenizer& tokenizer,
                         int64_t num_rows = std::numeric_limits<int64_t>::max());

  /// InvalidArgument for text that is not valid UTF-8, a conversation that the template refuses,
  /// ids outside the vocabulary or without a row, and a prompt without tokens. OutOfRange for more
  /// than max_tokens: what is far beyond them is refused before it is encoded, going by the longest
  /// token (and refused too where neighbouring unknown characters would have become one token).
  absl::StatusOr<std::vector<TokenId>> Encode(const Prompt& prompt, const Options& options) const;

  /// The checkpoint's; null where conversations are rendered by the fallback.
  const ChatTemplate* chat_template() const {
    return chat_template_.has_value() ? &*chat_template_ : nullptr;
  }

  /// The text that a conversation comes to, as Encode encodes it; InvalidArgument for one that the
  /// template refuses.
  absl::StatusOr<RenderedChat> Render(const Chat& chat) const;

  /// What conversations are rendered by: "checkpoint", the name of the fallback, or "none".
  std::string_view template_name() const {
    if (chat_template_.has_value()) return "checkpoint";
    return fallback_ != nullptr ? std::string_view(fallback_->name) : "none";
  }

  /// Texts that end the assistant's turn where the template of the fallback says so; empty with the
  /// checkpoint's own, whose turns end with its end-of-text tokens.
  std::vector<std::string> ChatStops() const;
  /// Tokens that do, likewise; those that the tokenizer does not have are left out.
  std::vector<TokenId> ChatStopTokenIds() const;

 private:
  PromptEncoder(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat_template,
                const Conversation* fallback, int64_t num_rows);

  absl::Status CheckBytes(std::string_view text, int64_t max_tokens) const;
  absl::StatusOr<std::vector<TokenId>> EncodeText(const std::string& text, const Options& options,
                                                  std::span<const ByteRange> content) const;
  absl::StatusOr<std::vector<TokenId>> EncodeChat(const Chat& chat, Options options) const;

  const Tokenizer& tokenizer_;
  const std::optional<ChatTemplate> chat_template_;
  const Conversation* const fallback_;  // null: none
  const int64_t num_rows_;
  int64_t longest_ = 1;  // token, in bytes
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_PROMPT_ENCODER_H_
