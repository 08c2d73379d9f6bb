#ifndef SHORTLIST_TEXT_CHAT_CONVERSATION_OF_MODEL_H_
#define SHORTLIST_TEXT_CHAT_CONVERSATION_OF_MODEL_H_

#include <string_view>

#include "text/chat/conversation.h"

namespace shortlist {

/// Returns the conversation template that FastChat's model adapters choose for a model's name
/// (fastchat/model/model_adapter.py), if it is one of Conversations(). Example: "vicuna" in
/// "lmsys/vicuna-7b-v1.5" gives vicuna_v1.1. `model`: a directory, or org/name[@revision]; its last
/// component is matched first, then all of it. Null if no template matches.
const Conversation* FindConversationOfModel(std::string_view model);
/// Returns the conversation template for a model without a chat template: the one that its name
/// implies, or else zero_shot.
/// zero_shot.
const Conversation& FallbackConversation(std::string_view model);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_CONVERSATION_OF_MODEL_H_
