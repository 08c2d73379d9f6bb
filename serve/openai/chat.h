#ifndef SHORTLIST_SERVE_OPENAI_CHAT_H_
#define SHORTLIST_SERVE_OPENAI_CHAT_H_

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "serve/generator.h"
#include "serve/http/json_fields.h"
#include "text/chat/chat_template.h"

namespace shortlist {

/// The conversation of a request: "messages", "tools", "add_generation_prompt" and
/// "chat_template_kwargs". `ordered`: the same body; what templates print keeps the order of its
/// keys. `chat_template`: the checkpoint's, which says what of tools is taken; null: it has none.
/// Errors name the field.
absl::StatusOr<Chat> ReadChat(JsonFields& fields, const nlohmann::ordered_json& ordered,
                              const ChatTemplate* chat_template);

/// `effort`, of a request's "reasoning_effort", becomes the template's variable of this name, where
/// the template reads it. Returns whether it does.
bool SetReasoningEffort(const std::string& effort, const ChatTemplate* chat_template, Chat& chat);

/// Lets `request` end where the assistant's turn does, as the template that renders chats says.
void AddChatStops(const PromptEncoder& encoder, GenerateRequest& request);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_CHAT_H_
