#ifndef SHORTLIST_SERVE_OPENAI_CHAT_H_
#define SHORTLIST_SERVE_OPENAI_CHAT_H_

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "serve/generator.h"
#include "serve/http/json_fields.h"
#include "text/chat/chat_template.h"

namespace shortlist {

/// Reads the conversation of a request: "messages", "tools" and the template's other inputs
/// ("add_generation_prompt", "continue_final_message", "chat_template_kwargs", "documents").
/// `ordered` is the same body; it gives templates the original key order. `chat_template` is the
/// checkpoint's and decides which tool fields are accepted; null: it has none. Errors name the
/// field.
absl::StatusOr<Chat> ReadChat(JsonFields& fields, const nlohmann::ordered_json& ordered,
                              const ChatTemplate* chat_template);

/// Sets the template variable of this name to `effort`, from a request's "reasoning_effort", if the
/// template reads it. Returns true if it does.
bool SetReasoningEffort(const std::string& effort, const ChatTemplate* chat_template, Chat& chat);

/// Makes `request` end where the assistant's turn ends, as the template that renders chats defines.
/// Its stop strings do not apply where the whole reply follows a grammar: they would cut it. The
/// request's grammar must be set before.
void AddChatStops(const PromptEncoder& encoder, GenerateRequest& request);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_CHAT_H_
