#ifndef SHORTLIST_SERVE_OPENAI_RESPONSE_INPUT_H_
#define SHORTLIST_SERVE_OPENAI_RESPONSE_INPUT_H_

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"

namespace shortlist {

// A request to /v1/responses in the words of the chat route, whose rules it follows.

/// "instructions" and "input" as "messages": a text, or a list of items. Calls of functions that
/// stand one behind the other are one message of the assistant's; each output of a function is a
/// message of the role "tool". InvalidArgument names the field.
absl::StatusOr<nlohmann::json> ReadResponseMessages(JsonFields& fields);

/// "tools" of `fields`, as `ordered` has them, each with its members inside "function"; null: none.
/// Fails on what is no list of functions.
nlohmann::ordered_json ReadResponseTools(JsonFields& fields, const nlohmann::ordered_json& ordered);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_RESPONSE_INPUT_H_
