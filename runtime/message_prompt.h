#ifndef SHORTLIST_RUNTIME_MESSAGE_PROMPT_H_
#define SHORTLIST_RUNTIME_MESSAGE_PROMPT_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "embed/message_config.h"
#include "text/chat/chat_template.h"
#include "text/tokenizer.h"

namespace shortlist {

/// What a model reads of a text or a pair that goes through its chat template, as
/// sentence-transformers 6 has it (base/modality.py, base/modules/transformer.py): messages of it,
/// rendered, without special tokens round them. Control tokens in a text stay text. Immutable; any
/// thread.
class MessagePrompt {
 public:
  /// `tokenizer` must outlive this.
  MessagePrompt(MessageConfig config, ChatTemplate chat_template, const Tokenizer& tokenizer);

  /// Whether a single text is one of its messages too.
  bool takes_texts() const { return !config_.pairs_alone; }
  /// Unimplemented where the template does not render a pair, or loses one of its texts.
  const absl::Status& pair_status() const { return pair_status_; }

  /// At most `max_tokens` ids of `text`, or of it as the query and `second` as the document, with
  /// `instruction`, where there is one, as the system's message. `cut` empty: OutOfRange for more;
  /// else the rendered text loses tokens at that side, and what the template puts at its end
  /// replaces the last ones that are left. InvalidArgument for text that is not valid UTF-8 and
  /// what the template refuses; pair_status() for a pair.
  absl::StatusOr<std::vector<TokenId>> Encode(std::string_view instruction, std::string_view text,
                                              std::optional<std::string_view> second,
                                              int64_t max_tokens,
                                              std::optional<Truncation::Side> cut) const;

 private:
  Chat ChatOf(std::string_view instruction, std::string_view text,
              std::optional<std::string_view> second) const;
  absl::StatusOr<std::vector<TokenId>> EncodeChat(const Chat& chat, int64_t max_tokens,
                                                  std::optional<Truncation::Side> cut) const;
  std::vector<TokenId> End(std::string_view instruction, bool is_pair) const;
  absl::Status CheckPairs() const;

  MessageConfig config_;  // format is kFlat or kStructured
  ChatTemplate template_;
  const Tokenizer* tokenizer_;
  absl::Status pair_status_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_MESSAGE_PROMPT_H_
