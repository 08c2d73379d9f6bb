#include "serve/http/api_error.h"

#include <charconv>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"

namespace shortlist {
namespace {

constexpr char kHttpStatus[] = "shortlist/http_status";
constexpr char kCode[] = "shortlist/code";
constexpr char kParam[] = "shortlist/param";
constexpr char kUnknownWhere[] = "shortlist/unknown_where";
constexpr char kUnknownName[] = "shortlist/unknown_name";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::optional<std::string> Attached(const absl::Status& status, const char* name) {
  const auto payload = status.GetPayload(name);
  if (!payload.has_value()) return std::nullopt;
  return std::string(*payload);
}

}  // namespace

absl::Status HttpError(int http_status, std::string_view message) {
  absl::Status status(
      http_status < 500 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kInternal,
      View(message));
  status.SetPayload(kHttpStatus, absl::Cord(absl::StrCat(http_status)));
  return status;
}

absl::Status WithCode(absl::Status status, std::string_view code) {
  status.SetPayload(kCode, absl::Cord(View(code)));
  return status;
}

absl::Status WithParam(absl::Status status, std::string_view field) {
  status.SetPayload(kParam, absl::Cord(View(field)));
  return status;
}

int HttpStatusOf(const absl::Status& status) {
  if (const std::optional<std::string> attached = Attached(status, kHttpStatus)) {
    int http_status = 500;
    std::from_chars(attached->data(), attached->data() + attached->size(), http_status);
    return http_status;
  }
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kUnimplemented:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

std::string CodeOf(const absl::Status& status) {
  if (std::optional<std::string> attached = Attached(status, kCode)) return *std::move(attached);
  switch (HttpStatusOf(status)) {
    case 401:
      return "invalid_api_key";
    case 403:
      return "permission_denied";
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 408:
    case 504:
      return "timeout";
    case 413:
      return "request_too_large";
    case 415:
      return "unsupported_media_type";
    case 429:
      return "overloaded";
    case 431:
      return "headers_too_large";
    case 499:
      return "aborted";
    case 500:
      return "internal_error";
    case 503:
      return "unavailable";
    default:
      return "invalid_request";
  }
}

std::string ParamOf(const absl::Status& status) { return Attached(status, kParam).value_or(""); }

absl::Status ShuttingDown() {
  return WithCode(absl::UnavailableError("the server is shutting down"), kShutdown);
}

absl::Status WithUnknownField(absl::Status status, const UnknownField& field) {
  status.SetPayload(kUnknownWhere, absl::Cord(field.where));
  status.SetPayload(kUnknownName, absl::Cord(field.name));
  return status;
}

std::optional<UnknownField> UnknownFieldOf(const absl::Status& status) {
  std::optional<std::string> where = Attached(status, kUnknownWhere);
  std::optional<std::string> name = Attached(status, kUnknownName);
  if (!where || !name) return std::nullopt;
  return UnknownField{*std::move(where), *std::move(name)};
}

std::string OpenAiErrorBody(const absl::Status& status) {
  const int http_status = HttpStatusOf(status);
  const std::string param = ParamOf(status);
  const char* type = http_status == 401   ? "authentication_error"
                     : http_status == 403 ? "permission_error"
                     : http_status == 429 ? "rate_limit_error"
                     : http_status >= 500 ? "server_error"
                                          : "invalid_request_error";
  nlohmann::ordered_json error = {{"message", std::string(status.message())}, {"type", type}};
  error["param"] = param.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(param);
  error["code"] = CodeOf(status);
  return Dump(nlohmann::ordered_json{{"error", std::move(error)}});
}

absl::Status ContextLengthExceeded(int64_t context_len, std::string_view prompt_field,
                                   std::optional<int64_t> prompt_tokens, int64_t max_new_tokens) {
  const absl::string_view field = View(prompt_field);
  const int64_t at_least = prompt_tokens.value_or(context_len + 1) + max_new_tokens;
  const std::string prompt = prompt_tokens.has_value() ? absl::StrCat(*prompt_tokens)
                                                       : absl::StrCat("more than ", context_len);
  // langchain searches the error text for the code.
  const absl::Status status = absl::InvalidArgumentError(absl::StrCat(
      "This model's maximum context length is ", context_len, " tokens. However, you requested ",
      prompt_tokens.has_value() ? "" : "at least ", at_least, " tokens (", prompt, " in the ",
      field, ", ", max_new_tokens, " in the completion): ", View(kContextLengthExceeded),
      ". Please reduce the ", field, " or the completion."));
  return WithParam(WithCode(status, kContextLengthExceeded), prompt_field);
}

}  // namespace shortlist
