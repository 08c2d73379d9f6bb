#include "serve/shared_grammar.h"

#include "absl/strings/str_cat.h"
#include "serve/http/api_error.h"

namespace shortlist {

const absl::StatusOr<std::shared_ptr<const TokenConstraint>>& SharedGrammar::Compile(
    GrammarCompiler& compiler, std::string_view salt) {
  const std::lock_guard lock(mutex_);
  if (compiled_.has_value()) return *compiled_;
  compiled_ = compiler.Compile(spec_, salt);
  if (!compiled_->ok() && !absl::IsResourceExhausted(compiled_->status())) {
    const absl::Status& status = compiled_->status();
    compiled_ = WithParam(
        absl::InvalidArgumentError(absl::StrCat(field_, ": ", std::string(status.message()))),
        field_);
  }
  spec_ = {};
  return *compiled_;
}

}  // namespace shortlist
