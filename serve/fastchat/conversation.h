#ifndef SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_
#define SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_

#include "nlohmann/json_fwd.hpp"
#include "text/chat/conversation.h"

namespace shortlist {

/// `conversation` as /worker_get_conv_template gives it ("conv"), for FastChat's API server to
/// build prompts from.
///
/// Separator styles after LLAMA2 (7) have other numbers in FastChat 0.2.36 than after it, so such a
/// template is said in the styles 1 to 7, which both read alike. Prompts are the same bytes as
/// Conversation::Render's, but for what those styles cannot say: llama-3 and falcon-chat keep the
/// frame of their system part around an empty system message, llama-3 keeps white space around
/// messages, openchat_3.5 puts no separator behind a system message, and falcon-chat, openchat_3.5
/// and deepseek-chat put no space of their own before what the assistant said earlier. The
/// begin-of-text token is left to the tokenizer, as there.
nlohmann::json FastchatConversation(const Conversation& conversation);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_
