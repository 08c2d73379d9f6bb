#ifndef SHORTLIST_TEXT_CHAT_CONVERSATION_H_
#define SHORTLIST_TEXT_CHAT_CONVERSATION_H_

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/chat/chat_template.h"

namespace shortlist {

/// How a conversation is joined. Names and numbers are those of FastChat's SeparatorStyle after its
/// release 0.2.36. (Release 0.2.36 has no LLAMA3, so all numbers after LLAMA2 are one less there.)
enum class SeparatorStyle {
  kAddColonSingle = 1,
  kAddColonTwo = 2,
  kNoColonSingle = 4,
  kNoColonTwo = 5,
  kAddNewLineSingle = 6,
  kLlama2 = 7,
  kLlama3 = 8,
  kChatml = 10,
  kDolly = 12,
  kFalconChat = 16,
  kDeepseekChat = 18,
};

/// One of FastChat's named conversation templates (lm-sys/FastChat, fastchat/conversation.py,
/// Apache-2.0), or plain "chatml", for checkpoints without a chat template of their own. Fields are
/// those of FastChat.
struct Conversation {
  struct Message {
    std::string role;
    std::string text;
  };

  std::string name;
  std::string system_template = "{system_message}";
  std::string system_message;
  std::array<std::string, 2> roles;  // user, assistant
  std::vector<Message> examples;     // precede every conversation
  SeparatorStyle sep_style = SeparatorStyle::kAddColonSingle;
  std::string sep;
  std::optional<std::string> sep2;
  std::vector<std::string> stop_str;
  std::vector<int> stop_token_ids;

  /// Returns the prompt for `messages`, an array of {"role": "system" | "user" | "assistant",
  /// "content": a text, or a list of {"type": "text", "text": ...}}. A system message replaces the
  /// template's own. The prompt ends where the assistant continues. Equals FastChat's get_prompt,
  /// without the begin-of-text token of llama-3, gemma and deepseek-chat, which the tokenizer adds.
  /// InvalidArgument names the message and what is wrong with it.
  absl::StatusOr<RenderedChat> Render(const nlohmann::ordered_json& messages) const;
};

/// Returns all conversation templates. Built once; valid for the life of the process.
std::span<const Conversation> Conversations();

/// Finds a conversation template by name. NotFound lists the existing names.
absl::StatusOr<const Conversation*> FindConversation(std::string_view name);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_CONVERSATION_H_
