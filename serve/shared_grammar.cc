#include "serve/shared_grammar.h"

#include "absl/strings/str_cat.h"
#include "serve/http/api_error.h"

namespace shortlist {

namespace {

/// An error of a structural tag: where the document is wrong, and what is wrong there.
struct TagError {
  std::string pointer, reason;
};

/// Returns the parts of "structural tag, #/format: reason"; empty ones if the message is no such.
TagError ReadTagError(const std::string& message) {
  const std::string begin = "structural tag, #";
  const size_t end = message.find(": ");
  if (!message.starts_with(begin) || end == std::string::npos) return {};
  return {message.substr(begin.size(), end - begin.size()), message.substr(end + 2)};
}

}  // namespace

/// The error with the field that it is about.
absl::Status SharedGrammar::Named(const absl::Status& status) const {
  std::string field = field_, message(status.message());
  if (const TagError error = ReadTagError(message); field_of_ && !error.pointer.empty()) {
    try {
      const nlohmann::ordered_json::json_pointer pointer(error.pointer);
      const std::string found =
          spec_.schema.contains(pointer) ? field_of_(spec_.schema.at(pointer)) : "";
      if (!found.empty()) {
        field = found;
        message = error.reason;
      }
    } catch (const nlohmann::ordered_json::exception&) {  // a pointer that was cut
    }
  }
  return WithParam(absl::InvalidArgumentError(absl::StrCat(field, ": ", message)), field);
}

const absl::StatusOr<std::shared_ptr<const TokenConstraint>>& SharedGrammar::Compile(
    GrammarCompiler& compiler, std::string_view salt) {
  const std::lock_guard lock(mutex_);
  if (compiled_.has_value()) return *compiled_;
  compiled_ = compiler.Compile(spec_, salt);
  if (!compiled_->ok() && !absl::IsResourceExhausted(compiled_->status())) {
    compiled_ = Named(compiled_->status());
  }
  spec_ = {};
  return *compiled_;
}

}  // namespace shortlist
