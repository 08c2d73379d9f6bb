#ifndef SHORTLIST_TEXT_JINJA_PARSER_H_
#define SHORTLIST_TEXT_JINJA_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "text/jinja/ast.h"

namespace shortlist::jinja {

/// Parses a template of UTF-8. Statements: if, for, set, macro, filter, generation, break,
/// continue, raw. InvalidArgument names the line: broken syntax, a statement outside that list, a
/// recursive for, a macro that does not stand at the top level, nesting beyond kMaxTemplateDepth, a
/// filter, a test or a function that there is not (text/jinja/names.h).
absl::StatusOr<Block> ParseTemplate(std::string_view source);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_PARSER_H_
