#ifndef SHORTLIST_TEXT_JINJA_PARSER_H_
#define SHORTLIST_TEXT_JINJA_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/ast.h"

namespace shortlist::jinja {

/// Parses a template of UTF-8. Statements: if, for, set, macro, with, filter, generation, break,
/// continue, raw. InvalidArgument names the line of:
/// - broken syntax, or a statement outside that list;
/// - a recursive for, or a macro inside a loop, macro, with or set block;
/// - nesting beyond kMaxTemplateDepth;
/// - a filter, test or function that does not exist (text/jinja/names.h).
absl::StatusOr<Block> ParseTemplate(std::string_view source);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_PARSER_H_
