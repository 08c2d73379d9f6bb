#ifndef SHORTLIST_TEXT_JINJA_EXPRESSION_PARSER_H_
#define SHORTLIST_TEXT_JINJA_EXPRESSION_PARSER_H_

#include "absl/status/statusor.h"
#include "text/jinja/ast.h"
#include "text/jinja/cursor.h"

namespace shortlist::jinja {

// Parsers of Jinja expressions. Each reads from `tokens` as far as the expression goes.
// InvalidArgument names the line.

/// Parses one expression, or a tuple of several separated by commas. `conditional` allows a if b
/// else c.
absl::StatusOr<ExprPtr> ParseTuple(TokenCursor& tokens, bool conditional);
/// Parses one expression: a if b else c, or anything that binds stronger.
absl::StatusOr<ExprPtr> ParseExpression(TokenCursor& tokens);
/// Parses a filter's name and arguments, which follow `value |`.
absl::StatusOr<ExprPtr> ParseFilterName(TokenCursor& tokens, ExprPtr value);
/// Parses all filters, tests and calls after `value`; returns `value` itself if there are none.
absl::StatusOr<ExprPtr> ParseFilters(TokenCursor& tokens, ExprPtr value);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_EXPRESSION_PARSER_H_
