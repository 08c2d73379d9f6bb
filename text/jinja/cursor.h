#ifndef SHORTLIST_TEXT_JINJA_CURSOR_H_
#define SHORTLIST_TEXT_JINJA_CURSOR_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "text/jinja/lexer.h"

namespace shortlist::jinja {

/// A position in the tokens of a template, shared by the parsers of statements and expressions.
/// Every error names the line of this position.
class TokenCursor {
 public:
  /// `tokens` end with kEnd; the cursor never moves past it.
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Current() const { return tokens_[next_]; }
  const Token& After() const;
  Token Take();

  bool At(TokenKind kind) const { return Current().kind == kind; }
  bool AtName(std::string_view value) const { return At(TokenKind::kName, value); }
  bool AtOperator(std::string_view value) const { return At(TokenKind::kOperator, value); }
  bool TakeName(std::string_view value) { return TakeIf(TokenKind::kName, value); }
  bool TakeOperator(std::string_view value) { return TakeIf(TokenKind::kOperator, value); }

  absl::Status ExpectOperator(std::string_view value);
  absl::Status ExpectBlockEnd();
  absl::StatusOr<std::string> ExpectName();

  absl::Status Error(const std::string& what) const;
  /// Returns the error "expected `what`, got ...".
  absl::Status Expected(const std::string& what) const;
  absl::Status TooDeep() const;

  /// Levels of recursion at this position. A recursive caller counts with Nested, then calls
  /// CheckDepth().
  int& depth() { return depth_; }
  absl::Status CheckDepth() const;

 private:
  bool At(TokenKind kind, std::string_view value) const {
    return Current().kind == kind && Current().value == value;
  }
  bool TakeIf(TokenKind kind, std::string_view value);

  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_CURSOR_H_
