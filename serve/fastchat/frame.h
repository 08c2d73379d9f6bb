#ifndef SHORTLIST_SERVE_FASTCHAT_FRAME_H_
#define SHORTLIST_SERVE_FASTCHAT_FRAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/chat/chat_template.h"
#include "text/chat/conversation.h"

namespace shortlist {

/// A conversation template from which FastChat's API server builds prompts, since it supports only
/// named templates.
struct FastchatFrame {
  Conversation conversation;
  std::string origin;  // where the template is from, for people

  /// FastChat cannot express some templates exactly. Marks in its prompts stand for the
  /// differences, and Unmark() replaces them. A mark that is empty is not used.
  ///
  /// FastChat always writes the system part. The checkpoint's template may write another system
  /// part, or none, for chats without a system message. Their system message is then a mark:
  /// Unmark() replaces `marked_system` at the beginning of a prompt by `no_system`.
  std::string marked_system, no_system;
  /// FastChat begins all answers alike. The template may begin the open answer, which is to be
  /// generated, differently from earlier ones ("<think>"). `marked_answer` then stands for
  /// `open_answer` at the end of the prompt, and for `answer` before.
  std::string marked_answer, answer, open_answer;

  /// Returns FastChat's prompt with its marks replaced.
  std::string Unmark(std::string prompt) const;
};

/// Returns a frame whose prompts equal those of `own`; nullopt if FastChat cannot express it. The
/// frame is found by rendering a chat of known words. It is verified by rendering chats of one to
/// three user turns, with and without a system message, in both ways. Not verified: white space
/// around messages, which some templates drop; a system message if the template rejects it; the
/// date, which stays that of this call; a begin-of-text token that the tokenizer adds and the
/// template does not write.
std::optional<FastchatFrame> DeriveFastchatFrame(const ChatTemplate& own);

/// Returns the conversation template named `conv_template`, unless that is empty. Else the frame
/// derived from `own`, the checkpoint's template (null: it has none). Else the template for the
/// name of `model` (FindConversationOfModel). NotFound, naming --conv-template, if there is none;
/// FindConversation's error for an unknown name.
absl::StatusOr<FastchatFrame> ChooseFastchatFrame(std::string_view conv_template,
                                                  const ChatTemplate* own, std::string_view model);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_FRAME_H_
