#include "cli/prompt_encoder.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "text/chat_template.h"
#include "text/conversation.h"
#include "text/conversation_of_model.h"

namespace shortlist {

/// Where neither the checkpoint nor its name says how chats become prompts.
constexpr char kDefaultConversation[] = "zero_shot";

absl::StatusOr<PromptEncoder> OpenPromptEncoder(const Tokenizer& tokenizer,
                                                const PromptEncoderOptions& options) {
  std::optional<ChatTemplate> chat_template;
  const Conversation* conversation = nullptr;
  std::string name = options.conv_template;
  if (name.empty()) {
    absl::StatusOr<ChatTemplate> loaded = ChatTemplate::Load(options.model_dir);
    if (loaded.ok()) {
      chat_template = *std::move(loaded);
    } else if (!absl::IsNotFound(loaded.status())) {
      return loaded.status();
    }
    conversation = FindConversationOfModel(options.model);
    name = kDefaultConversation;
  }
  if (conversation == nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(conversation, FindConversation(name));
  }
  return PromptEncoder(tokenizer, std::move(chat_template), *conversation, options.num_rows);
}

}  // namespace shortlist
