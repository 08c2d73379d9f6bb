#include "text/jinja/cursor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "text/jinja/ast.h"

namespace shortlist::jinja {
namespace {

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kText:
      return "text";
    case TokenKind::kBlockBegin:
    case TokenKind::kOutputBegin:
      return "the begin of a tag";
    case TokenKind::kBlockEnd:
    case TokenKind::kOutputEnd:
      return "the end of the tag";
    case TokenKind::kEnd:
      return "the end of the template";
    default:
      return absl::StrCat("'", token.value.substr(0, 40), "'");
  }
}

}  // namespace

const Token& TokenCursor::After() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }

Token TokenCursor::Take() {
  Token token = Current();
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool TokenCursor::TakeIf(TokenKind kind, std::string_view value) {
  if (!At(kind, value)) return false;
  Take();
  return true;
}

absl::Status TokenCursor::ExpectOperator(std::string_view value) {
  return TakeOperator(value) ? absl::OkStatus()
                             : Expected(absl::StrCat("'", std::string(value), "'"));
}

absl::Status TokenCursor::ExpectBlockEnd() {
  if (!At(TokenKind::kBlockEnd)) return Expected("the end of the tag");
  Take();
  return absl::OkStatus();
}

absl::StatusOr<std::string> TokenCursor::ExpectName() {
  if (!At(TokenKind::kName)) return Expected("a name");
  return Take().value;
}

absl::Status TokenCursor::Error(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat("line ", Current().line, ": ", Excerpt(what)));
}

absl::Status TokenCursor::Expected(const std::string& what) const {
  return Error(absl::StrCat("expected ", what, ", got ", Describe(Current())));
}

absl::Status TokenCursor::TooDeep() const {
  return Error(absl::StrCat("nested deeper than ", kMaxTemplateDepth, " levels"));
}

absl::Status TokenCursor::CheckDepth() const {
  return depth_ > kMaxTemplateDepth ? TooDeep() : absl::OkStatus();
}

}  // namespace shortlist::jinja
