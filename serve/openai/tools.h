#ifndef SHORTLIST_SERVE_OPENAI_TOOLS_H_
#define SHORTLIST_SERVE_OPENAI_TOOLS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"
#include "text/chat/chat_template.h"

namespace shortlist {

/// True if the source of `chat_template` contains `word`. A template cannot read a word that its
/// source does not contain. False for null (a FastChat conversation template).
bool Spells(const ChatTemplate* chat_template, std::string_view word);

/// Returns "tools" of a request for the template, with the key order of `ordered`; null: none.
/// Records an error if they are not a list of at most 128 objects, or if the template reads none.
nlohmann::ordered_json ReadTools(JsonFields& fields, const nlohmann::ordered_json& ordered,
                                 const ChatTemplate* chat_template);

/// Reads "tool_choice". Only "none" is supported, and it is required next to tools: the model's
/// output is not searched for calls.
void ReadToolChoice(JsonFields& fields, bool has_tools);

/// Returns "tool_calls" of an assistant's message, with the key order of `ordered`. Each
/// "arguments" is replaced by the object that its text contains, which is what templates read, as
/// in transformers and vLLM. `where` names the message. InvalidArgument if it is not a list of
/// calls, or the template reads none.
absl::StatusOr<nlohmann::ordered_json> ReadToolCalls(const nlohmann::ordered_json& ordered,
                                                     const std::string& where,
                                                     const ChatTemplate* chat_template);

/// InvalidArgument, naming `where`, for a message with the role "tool" that the template ignores. A
/// template that rejects the role reports that itself.
absl::Status CheckToolRole(const std::string& where, const ChatTemplate* chat_template);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_TOOLS_H_
