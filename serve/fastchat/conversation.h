#ifndef SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_
#define SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_

#include "nlohmann/json_fwd.hpp"
#include "text/chat/conversation.h"

namespace shortlist {

/// Returns `conversation` in the format of /worker_get_conv_template ("conv"). FastChat's API
/// server builds prompts from it.
///
/// Separator styles after LLAMA2 (7) have other numbers in FastChat 0.2.36 than in later versions.
/// So such a template is expressed in styles 1 to 7, which all versions read alike. Prompts equal
/// those of Conversation::Render byte for byte, except for what these styles cannot express:
/// llama-3 and falcon-chat keep the frame of their system part around an empty system message;
/// llama-3 keeps white space around messages; openchat_3.5 puts no separator after a system
/// message; falcon-chat, openchat_3.5 and deepseek-chat put no extra space before the assistant's
/// earlier messages. The tokenizer adds the begin-of-text token, as with Conversation::Render.
nlohmann::json FastchatConversation(const Conversation& conversation);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_
