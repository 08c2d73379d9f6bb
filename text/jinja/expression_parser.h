#ifndef SHORTLIST_TEXT_JINJA_EXPRESSION_PARSER_H_
#define SHORTLIST_TEXT_JINJA_EXPRESSION_PARSER_H_

#include "absl/status/statusor.h"
#include "text/jinja/ast.h"
#include "text/jinja/cursor.h"

namespace shortlist::jinja {

// Expressions of Jinja. Each reads from `tokens` as far as the expression goes; InvalidArgument
// names the line.

/// One expression, or a tuple of several parted by commas. `conditional` allows a if b else c.
absl::StatusOr<ExprPtr> ParseTuple(TokenCursor& tokens, bool conditional);
/// One expression: a if b else c, or anything that binds stronger.
absl::StatusOr<ExprPtr> ParseExpression(TokenCursor& tokens);
/// A filter's name and arguments, which stand behind `value |`.
absl::StatusOr<ExprPtr> ParseFilterName(TokenCursor& tokens, ExprPtr value);
/// All filters, tests and calls behind `value`; `value` itself where there are none.
absl::StatusOr<ExprPtr> ParseFilters(TokenCursor& tokens, ExprPtr value);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_EXPRESSION_PARSER_H_
