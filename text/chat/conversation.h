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

/// How a conversation is joined, with the names and numbers of FastChat's SeparatorStyle (after its
/// release 0.2.36, which has no LLAMA3: there, all behind LLAMA2 are one less).
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
/// Apache-2.0), or plain "chatml", for checkpoints that have no chat template of their own. Fields
/// as there.
struct Conversation {
  struct Message {
    std::string role;
    std::string text;
  };

  std::string name;
  std::string system_template = "{system_message}";
  std::string system_message;
  std::array<std::string, 2> roles;  // user, assistant
  std::vector<Message> examples;     // stand before every conversation
  SeparatorStyle sep_style = SeparatorStyle::kAddColonSingle;
  std::string sep;
  std::optional<std::string> sep2;
  std::vector<std::string> stop_str;
  std::vector<int> stop_token_ids;

  /// The prompt for `messages`, an array of {"role": "system" | "user" | "assistant", "content": a
  /// text, or a list of {"type": "text", "text": ...}}: a system message takes the place of the
  /// template's own, and the prompt ends where the assistant is to go on. As FastChat's get_prompt,
  /// but without the begin-of-text token of llama-3, gemma and deepseek-chat, which the tokenizer
  /// puts first. InvalidArgument names the message and what is wrong with it.
  absl::StatusOr<RenderedChat> Render(const nlohmann::ordered_json& messages) const;
};

/// All of them. Built once; valid for the life of the process.
std::span<const Conversation> Conversations();

/// NotFound lists the names that there are.
absl::StatusOr<const Conversation*> FindConversation(std::string_view name);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_CONVERSATION_H_
