#ifndef SHORTLIST_SERVE_OPENAI_TOOLS_H_
#define SHORTLIST_SERVE_OPENAI_TOOLS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"
#include "text/chat/chat_template.h"

namespace shortlist {

/// True if a source of `chat_template` spells `word`. A template does not read what it does not
/// spell. Null, for a conversation template of FastChat's, spells nothing.
bool Spells(const ChatTemplate* chat_template, std::string_view word);

/// "tools" of a request, as `ordered` has them, for the template; null: none. Fails where they are
/// not a list of at most 128 objects, or the template reads none.
nlohmann::ordered_json ReadTools(JsonFields& fields, const nlohmann::ordered_json& ordered,
                                 const ChatTemplate* chat_template);

/// "tool_choice": nothing but "none", which must be there beside tools: what the model writes is
/// not searched for calls.
void ReadToolChoice(JsonFields& fields, bool has_tools);

/// "tool_calls" of an assistant's message, as `ordered` has them, but for "arguments": templates
/// read the object that its text holds, as in transformers and vLLM. `where` names the message.
/// InvalidArgument for what is no list of calls, and for a template that reads none.
absl::StatusOr<nlohmann::ordered_json> ReadToolCalls(const nlohmann::ordered_json& ordered,
                                                     const std::string& where,
                                                     const ChatTemplate* chat_template);

/// InvalidArgument, naming `where`, for a message of the role "tool" that the template ignores. A
/// template that refuses it says so itself.
absl::Status CheckToolRole(const std::string& where, const ChatTemplate* chat_template);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_TOOLS_H_
