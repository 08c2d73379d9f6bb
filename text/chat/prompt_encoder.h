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

/// The input to be continued: text, token ids, or a conversation.
using Prompt = std::variant<std::string, std::vector<TokenId>, Chat>;

/// Converts prompts to token ids. All HTTP dialects use it, so the same prompt gets the same answer
/// through each of them. Immutable; any thread may call any method.
///
/// Text: spellings of control tokens become these tokens, since a rendered prompt contains them on
/// purpose, unless the caller says otherwise. BOS goes first if the checkpoint wants it, but never
/// twice. Conversation: the template's own control tokens are read as such; control tokens typed
/// into a message stay text. If no message contains any, the ids are those of transformers'
/// apply_chat_template. The role "developer" becomes "system" if the template does not know it.
class PromptEncoder {
 public:
  struct Options {
    bool add_special_tokens = true;                            // for text
    bool parse_special = true;                                 // for text
    int64_t max_tokens = std::numeric_limits<int64_t>::max();  // more are rejected
  };

  /// The properties of a model that prompts depend on.
  struct Model {
    std::string name;           // as the user names it
    ModelSource source;         // holds its chat template
    std::string conv_template;  // empty: the checkpoint's own, else by the model's name
    int64_t num_rows = std::numeric_limits<int64_t>::max();  // of its embedding
  };

  /// Conversations are rendered by the conversation template that `model` names. If it names none,
  /// the chat template in the model's directory is used, or else FallbackConversation. NotFound
  /// lists the names; InvalidArgument names the file of a damaged template. `tokenizer` must
  /// outlive the result.
  static absl::StatusOr<PromptEncoder> Open(const Tokenizer& tokenizer, const Model& model);

  /// `chat_template` is the checkpoint's; without it, `fallback` renders conversations. Tokenizer
  /// and fallback must outlive this object. `num_rows`: rows of the model's embedding.
  PromptEncoder(const Tokenizer& tokenizer, std::optional<ChatTemplate> chat_template,
                const Conversation& fallback,
                int64_t num_rows = std::numeric_limits<int64_t>::max());

  /// For texts and ids only: conversations are rejected.
  explicit PromptEncoder(const Tokenizer& tokenizer,
                         int64_t num_rows = std::numeric_limits<int64_t>::max());

  /// InvalidArgument for text that is not valid UTF-8, a conversation that the template rejects,
  /// ids outside the vocabulary or without an embedding row, and a prompt without tokens.
  /// OutOfRange for more than max_tokens. A text far beyond max_tokens is rejected before it is
  /// encoded, by its size and the longest token, even if adjacent unknown characters would have
  /// become one token.
  absl::StatusOr<std::vector<TokenId>> Encode(const Prompt& prompt, const Options& options) const;

  /// Returns the checkpoint's template; null if the fallback renders conversations.
  const ChatTemplate* chat_template() const {
    return chat_template_.has_value() ? &*chat_template_ : nullptr;
  }

  /// Returns the text of a conversation, as Encode() encodes it. InvalidArgument if the template
  /// rejects the conversation.
  absl::StatusOr<RenderedChat> Render(const Chat& chat) const;

  /// Returns what renders conversations: "checkpoint", the name of the fallback, or "none".
  std::string_view template_name() const {
    if (chat_template_.has_value()) return "checkpoint";
    return fallback_ != nullptr ? std::string_view(fallback_->name) : "none";
  }

  /// Returns the texts that end the assistant's turn in the fallback template. Empty with the
  /// checkpoint's own template, whose turns end with its end-of-text tokens.
  std::vector<std::string> ChatStops() const;
  /// Returns the tokens that end the assistant's turn in the fallback template, without those that
  /// the tokenizer lacks. Empty with the checkpoint's own template.
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
  int64_t longest_ = 1;  // size of the longest token, in bytes
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_PROMPT_ENCODER_H_
