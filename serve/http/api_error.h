#ifndef SHORTLIST_SERVE_HTTP_API_ERROR_H_
#define SHORTLIST_SERVE_HTTP_API_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace shortlist {

/// Errors are passed as absl::Status. Payloads carry what a client sees in addition to the message.

/// An error with an HTTP status of its own: 405, 413, 415, 431, ...
absl::Status HttpError(int http_status, std::string_view message);
/// Attaches the machine-readable code ("context_length_exceeded").
absl::Status WithCode(absl::Status status, std::string_view code);
/// Attaches the name of the invalid field of the request.
absl::Status WithParam(absl::Status status, std::string_view field);

/// The error of a request that the shutdown of the server aborts, or that comes after it: 503 with
/// the code kShutdown.
absl::Status ShuttingDown();
inline constexpr std::string_view kShutdown = "shutdown";

/// A member of a request's body that the route does not know.
struct UnknownField {
  std::string where;  // prefix of the name: "sampling_params.", "messages[3]."; empty: the body
  std::string name;   // as the client wrote it
};
/// Attaches the unknown field that the error is about.
absl::Status WithUnknownField(absl::Status status, const UnknownField& field);
/// Returns the unknown field, or nullopt if the error is about something else.
std::optional<UnknownField> UnknownFieldOf(const absl::Status& status);

/// Returns the HTTP status: 400 for InvalidArgument, OutOfRange, FailedPrecondition, AlreadyExists
/// and Unimplemented (an unsupported field); 401 Unauthenticated; 403 PermissionDenied; 404
/// NotFound; 429 ResourceExhausted; 499 Cancelled; 503 Unavailable; 504 DeadlineExceeded; 500 for
/// others. HttpError() sets a status directly.
int HttpStatusOf(const absl::Status& status);
/// Returns the attached code, else one for the HTTP status ("invalid_request", "not_found",
/// "overloaded", ...).
std::string CodeOf(const absl::Status& status);
/// Returns the attached field name; empty if there is none.
std::string ParamOf(const absl::Status& status);

/// Writes an error as the body of a reply.
using ErrorBody = std::string (*)(const absl::Status& status);

/// {"error": {"message", "type", "param", "code"}}: OpenAI's format, which SGLang's clients read
/// too.
std::string OpenAiErrorBody(const absl::Status& status);

/// The code of a request that is longer than the context.
inline constexpr std::string_view kContextLengthExceeded = "context_length_exceeded";

/// Error of a prompt that is too long for a context of `context_len` tokens, or leaves too little
/// room for `max_new_tokens`. Its wording is what clients of OpenAI's API look for ("This model's
/// maximum context length is ..."). `prompt_field` is the dialect's name of the prompt
/// ("messages"). `prompt_tokens` is nullopt if they were not counted beyond the context. Returns
/// InvalidArgument with the code kContextLengthExceeded and that field.
absl::Status ContextLengthExceeded(int64_t context_len, std::string_view prompt_field,
                                   std::optional<int64_t> prompt_tokens, int64_t max_new_tokens);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_API_ERROR_H_
