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

/// Encodes a text or a pair through the model's chat template, as sentence-transformers 6 does
/// (base/modality.py, base/modules/transformer.py): renders messages without adding special tokens.
/// Control tokens in a text stay text. Immutable; thread-safe.
class MessagePrompt {
 public:
  /// `tokenizer` must outlive this object.
  MessagePrompt(MessageConfig config, ChatTemplate chat_template, const Tokenizer& tokenizer);

  /// True if single texts also go through the template.
  bool takes_texts() const { return !config_.pairs_alone; }
  /// Unimplemented if the template does not render a pair, or drops one of its texts.
  const absl::Status& pair_status() const { return pair_status_; }

  /// Returns at most `max_tokens` ids of `text`, or of the pair of query `text` and document
  /// `second`. `instruction`, unless empty, is the system message. `cut` empty: OutOfRange for
  /// longer prompts. Otherwise the rendered text is cut at that side, and its last remaining tokens
  /// are replaced by what the template puts at the end. Returns InvalidArgument for text that is
  /// not valid UTF-8 and for what the template rejects; pair_status() for a pair.
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
