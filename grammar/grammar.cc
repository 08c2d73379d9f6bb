#include "grammar/grammar.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/ebnf.h"

namespace shortlist {

absl::StatusOr<std::shared_ptr<const Grammar>> Grammar::Create(
    std::unique_ptr<Expressions> expressions, ExprId start) {
  if (expressions->is_full()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the grammar is too large: ", expressions->num_bytes(), " bytes do not suffice for it"));
  }
  if (const std::string error = expressions->Check(start); !error.empty()) {
    return absl::InvalidArgumentError(error);
  }
  if (!expressions->IsProductive(start)) {
    return absl::InvalidArgumentError("the grammar accepts no text");
  }
  return std::shared_ptr<const Grammar>(new Grammar(std::move(expressions), start));
}

absl::StatusOr<std::shared_ptr<const Grammar>> Grammar::OfChoice(
    std::span<const std::string> texts) {
  auto expressions = std::make_unique<Expressions>();
  std::vector<ExprId> options;
  options.reserve(texts.size());
  for (const std::string& text : texts) options.push_back(expressions->Text(text));
  const ExprId start = expressions->Choice(options);
  return Create(std::move(expressions), start);
}

absl::StatusOr<std::shared_ptr<const Grammar>> Grammar::OfEbnf(std::string_view text) {
  auto expressions = std::make_unique<Expressions>();
  SHORTLIST_ASSIGN_OR_RETURN(const ExprId start, CompileEbnf(text, *expressions));
  return Create(std::move(expressions), start);
}

}  // namespace shortlist
