#include "cli/prompt_encoder.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "text/chat_template.h"
#include "text/conversation.h"

namespace shortlist {

absl::StatusOr<PromptEncoder> OpenPromptEncoder(const Tokenizer& tokenizer,
                                                const std::string& model_dir,
                                                const std::string& conv_template, int64_t num_rows) {
  std::optional<ChatTemplate> chat_template;
  if (conv_template.empty()) {
    absl::StatusOr<ChatTemplate> loaded = ChatTemplate::Load(model_dir);
    if (loaded.ok()) {
      chat_template = *std::move(loaded);
    } else if (!absl::IsNotFound(loaded.status())) {
      return loaded.status();
    }
  }
  const std::string& name = conv_template.empty() ? "zero_shot" : conv_template;
  SHORTLIST_ASSIGN_OR_RETURN(const Conversation* conversation, FindConversation(name));
  return PromptEncoder(tokenizer, std::move(chat_template), *conversation, num_rows);
}

}  // namespace shortlist
