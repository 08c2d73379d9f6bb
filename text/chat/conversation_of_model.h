#ifndef SHORTLIST_TEXT_CHAT_CONVERSATION_OF_MODEL_H_
#define SHORTLIST_TEXT_CHAT_CONVERSATION_OF_MODEL_H_

#include <string_view>

#include "text/chat/conversation.h"

namespace shortlist {

/// The conversation template that goes with a model's name, as FastChat's model adapters choose
/// (fastchat/model/model_adapter.py), as far as its template is one of Conversations(): "vicuna" in
/// "lmsys/vicuna-7b-v1.5" means vicuna_v1.1. `model`: a directory, or org/name[@revision]; its last
/// component counts first, then all of it. Null: the name says nothing.
const Conversation* FindConversationOfModel(std::string_view model);

/// What conversations of a model without a chat template are rendered by: what its name says, else
/// zero_shot.
const Conversation& FallbackConversation(std::string_view model);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_CONVERSATION_OF_MODEL_H_
