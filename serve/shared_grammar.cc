#include "serve/shared_grammar.h"

#include "absl/strings/str_cat.h"
#include "grammar/structural_tag.h"
#include "serve/http/api_error.h"

namespace shortlist {

/// The error with the field that it is about.
absl::Status SharedGrammar::Named(const absl::Status& status) const {
  std::string field = field_, message(status.message());
  if (const std::optional<TagError> error = TagErrorOf(status); error && field_of_) {
    const std::string found =
        field_of_(spec_.schema.at(nlohmann::ordered_json::json_pointer(error->pointer)));
    if (!found.empty()) {
      field = found;
      message = error->reason;
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
