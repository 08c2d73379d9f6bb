#ifndef SHORTLIST_SERVE_HTTP_API_ERROR_H_
#define SHORTLIST_SERVE_HTTP_API_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace shortlist {

/// Errors travel as absl::Status; what a client sees beyond the message is attached to it.

/// An error that HTTP has a status of its own for: 405, 413, 415, 431, ...
absl::Status HttpError(int http_status, std::string_view message);
/// Attaches the machine-readable code ("context_length_exceeded").
absl::Status WithCode(absl::Status status, std::string_view code);
/// Attaches the name of the request's field that is at fault.
absl::Status WithParam(absl::Status status, std::string_view field);

/// The error of a request that the end of the server has cut short, or that comes too late: 503
/// with the code kShutdown.
absl::Status ShuttingDown();
inline constexpr std::string_view kShutdown = "shutdown";

/// A member of a request's body that its route does not know.
struct UnknownField {
  std::string where;  // goes before the name: "sampling_params.", "messages[3]."; empty: the body
  std::string name;   // as the client wrote it
};
/// Attaches it to the error that refuses it.
absl::Status WithUnknownField(absl::Status status, const UnknownField& field);
/// Nullopt where the error is about something else.
std::optional<UnknownField> UnknownFieldOf(const absl::Status& status);

/// InvalidArgument, OutOfRange, FailedPrecondition, AlreadyExists: 400. Unauthenticated 401,
/// PermissionDenied 403, NotFound 404, ResourceExhausted 429, Cancelled 499, Unimplemented 400 (a
/// field that is not supported), Unavailable 503, DeadlineExceeded 504, everything else 500.
int HttpStatusOf(const absl::Status& status);
/// What was attached, else a code that goes with the HTTP status ("invalid_request", "not_found",
/// "overloaded", ...).
std::string CodeOf(const absl::Status& status);
/// Empty when no field was named.
std::string ParamOf(const absl::Status& status);

/// Writes an error as the body of a reply.
using ErrorBody = std::string (*)(const absl::Status& status);

/// {"error": {"message", "type", "param", "code"}}: OpenAI's shape, which SGLang's clients read
/// too.
std::string OpenAiErrorBody(const absl::Status& status);

/// The code of a request that is longer than what can be served.
inline constexpr std::string_view kContextLengthExceeded = "context_length_exceeded";

/// Too long a prompt for a context of `context_len` tokens, or too much asked for behind it, in the
/// words that clients of OpenAI's API look for ("This model's maximum context length is ...").
/// `prompt_field` is what the dialect calls the prompt ("messages"), `prompt_tokens` nullopt where
/// they were counted no further than the context. InvalidArgument with the code
/// kContextLengthExceeded and that field.
absl::Status ContextLengthExceeded(int64_t context_len, std::string_view prompt_field,
                                   std::optional<int64_t> prompt_tokens, int64_t max_new_tokens);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_API_ERROR_H_
