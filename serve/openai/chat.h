#ifndef SHORTLIST_SERVE_OPENAI_CHAT_H_
#define SHORTLIST_SERVE_OPENAI_CHAT_H_

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "serve/generator.h"
#include "serve/http/json_fields.h"
#include "text/chat/chat_template.h"

namespace shortlist {

/// The conversation of a request: "messages", "add_generation_prompt" and "chat_template_kwargs".
/// `ordered`: the same body; what templates print keeps the order of its keys. Errors name the
/// field.
absl::StatusOr<Chat> ReadChat(JsonFields& fields, const nlohmann::ordered_json& ordered);

/// Lets `request` end where the assistant's turn does, as the template that renders chats says.
void AddChatStops(const PromptEncoder& encoder, GenerateRequest& request);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_CHAT_H_
