#ifndef SHORTLIST_GRAMMAR_REGEX_H_
#define SHORTLIST_GRAMMAR_REGEX_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"

namespace shortlist {

/// Compiles a regular expression (syntax and bounds: `ParseRegex`) that must match a whole text.
/// The result is over the bytes of the text and calls no rule. ^ may stand where nothing comes
/// before it and $ where nothing comes after it, inside groups and alternatives too.
///
/// InvalidArgument names the position and the reason.
absl::StatusOr<ExprId> CompileRegex(std::string_view pattern, Expressions& expressions);

/// Compiles the keyword `pattern` of JSON schema: the texts in which `pattern` matches anywhere, as
/// they stand between the quotes of a JSON string. Each character has one spelling
/// (`JsonText::Chars`).
absl::StatusOr<ExprId> CompileJsonPattern(std::string_view pattern, Expressions& expressions);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_REGEX_H_
