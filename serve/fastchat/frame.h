#ifndef SHORTLIST_SERVE_FASTCHAT_FRAME_H_
#define SHORTLIST_SERVE_FASTCHAT_FRAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/chat/chat_template.h"
#include "text/chat/conversation.h"

namespace shortlist {

/// What FastChat's API server makes prompts of chats with, since it knows named templates only.
struct FastchatFrame {
  Conversation conversation;
  std::string origin;  // for people: whence it is

  /// What FastChat cannot say is marked by words of the frame's own, which Unmark takes away.
  /// Empty: nothing of the kind.
  ///
  /// FastChat writes the system part in any case. Where the checkpoint's template writes another
  /// one, or none, for chats without a system message, they get one that is a mark: prompts that
  /// begin with `marked_system` begin with `no_system` instead.
  std::string marked_system, no_system;
  /// FastChat begins all answers alike. Where an answer to come begins otherwise than those that
  /// are there ("<think>"), `marked_answer` at the end stands for `open_answer`, and before for
  /// `answer`.
  std::string marked_answer, answer, open_answer;

  /// The prompt that FastChat's means.
  std::string Unmark(std::string prompt) const;
};

/// The frame that says what `own` does, found by rendering a chat of known words and proved by
/// rendering chats of one to three turns, with and without a system message, in both ways. Not part
/// of the proof: white space round messages, which some templates drop; a system message where the
/// template refuses any; the date, which stays that of this call; a begin-of-text token that the
/// tokenizer puts before texts and the template does not write. nullopt: FastChat cannot say it.
std::optional<FastchatFrame> DeriveFastchatFrame(const ChatTemplate& own);

/// The conversation template named `conv_template` unless that is empty; else what is derived from
/// `own`, the checkpoint's (null: it has none); else what goes with the name of `model`
/// (FindConversationOfModel). NotFound where none of these is known, naming --conv-template, and
/// what FindConversation says of an unknown name.
absl::StatusOr<FastchatFrame> ChooseFastchatFrame(std::string_view conv_template,
                                                  const ChatTemplate* own, std::string_view model);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_FRAME_H_
