#ifndef SHORTLIST_SERVE_OPENAI_RESPONSE_INPUT_H_
#define SHORTLIST_SERVE_OPENAI_RESPONSE_INPUT_H_

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"

namespace shortlist {

// These convert a request to /v1/responses to the fields of the chat route, whose rules it follows.

/// Returns "instructions" and "input" (a text, or a list of items) as "messages". Consecutive
/// function calls form one message of the assistant. Each function output is a message with the
/// role "tool". InvalidArgument names the field.
absl::StatusOr<nlohmann::json> ReadResponseMessages(JsonFields& fields);

/// Returns "tools" of `fields`, with the key order of `ordered`, and each tool's members inside
/// "function"; null: none. Records an error if it is not a list of functions.
nlohmann::ordered_json ReadResponseTools(JsonFields& fields, const nlohmann::ordered_json& ordered);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_OPENAI_RESPONSE_INPUT_H_
