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
bool TemplateMentions(const ChatTemplate* chat_template, std::string_view word);

/// Returns "tools" of a request for the template, with the key order of `ordered`; null: none.
/// Records an error if it is no list of at most 128 objects, or the template reads none.
nlohmann::ordered_json ReadTools(JsonFields& fields, const nlohmann::ordered_json& ordered,
                                 const ChatTemplate* chat_template);

/// What a request says of the calls in its reply.
struct ToolChoice {
  nlohmann::ordered_json callable;  // the tools that may be called; null: calls are not looked for
  bool is_required = false;         // at least one call must be made
  bool is_named = false;            // exactly one, of the tool that the request names
  bool is_parallel = true;          // more than one call may be made

  bool has_calls() const { return !callable.is_null(); }
};

/// Reads "tool_choice" and "parallel_tool_calls". `tools` as from ReadTools(). Both forms are read:
/// {"type": "function", "function": {"name": ...}} and, of responses, {"type": "function", "name":
/// ...}. Records an error for a choice among tools that are not there, and for tools that cannot be
/// called: without a valid name or with that of another tool, with parameters that are no object,
/// or not of the type "function". So are tools whose arguments must follow a schema of no object.
ToolChoice ReadToolChoice(JsonFields& fields, const nlohmann::ordered_json& tools);

/// Returns "tool_calls" of an assistant's message, with the key order of `ordered`. Each
/// "arguments" is replaced by the object that its text contains, as in transformers and vLLM, or by
/// a text if the template reads no object. `where` names the message. InvalidArgument if it is not
/// a list of calls, or the template reads none.
absl::StatusOr<nlohmann::ordered_json> ReadToolCalls(const nlohmann::ordered_json& ordered,
                                                     const std::string& where,
                                                     const ChatTemplate* chat_template);

/// InvalidArgument, naming `where`, for a message with the role "tool" that the template ignores. A
/// template that rejects the role reports that itself.
absl::Status CheckToolRole(const std::string& where, const ChatTemplate* chat_template);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_TOOLS_H_
