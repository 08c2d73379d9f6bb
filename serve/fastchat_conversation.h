#ifndef SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_
#define SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_

#include <string_view>

#include "nlohmann/json_fwd.hpp"
#include "text/chat_template.h"
#include "text/conversation.h"

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

/// The first of Conversations() that makes the prompts which `chat_template` makes of a few
/// conversations, with a system message where that one takes any; `bos`, the spelling of the
/// begin-of-text token, may go before them. Null: none does.
const Conversation* FindConversationLike(const ChatTemplate& chat_template, std::string_view bos);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_FASTCHAT_CONVERSATION_H_
