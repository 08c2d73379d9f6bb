#include "cli/prompt_encoder.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "text/chat_template.h"
#include "text/conversation.h"
#include "text/conversation_of_model.h"

namespace shortlist {

const Conversation& FallbackConversation(std::string_view model) {
  const Conversation* const of_model = FindConversationOfModel(model);
  return of_model != nullptr ? *of_model : **FindConversation("zero_shot");
}

absl::StatusOr<PromptEncoder> OpenPromptEncoder(const Tokenizer& tokenizer,
                                                const PromptEncoderOptions& options) {
  std::optional<ChatTemplate> chat_template;
  const Conversation* conversation = &FallbackConversation(options.model);
  if (!options.conv_template.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(conversation, FindConversation(options.conv_template));
  } else {
    absl::StatusOr<ChatTemplate> loaded = ChatTemplate::Load(options.model_dir);
    if (!loaded.ok() && !absl::IsNotFound(loaded.status())) return loaded.status();
    if (loaded.ok()) chat_template = *std::move(loaded);
  }
  return PromptEncoder(tokenizer, std::move(chat_template), *conversation, options.num_rows);
}

}  // namespace shortlist
