#ifndef SHORTLIST_TEXT_JINJA_NAMES_H_
#define SHORTLIST_TEXT_JINJA_NAMES_H_

#include <string_view>

#include "absl/status/status.h"
#include "text/jinja/ast.h"

namespace shortlist::jinja {

/// Checks that the filters, tests and functions that a template uses exist; without them it could
/// not be rendered where they are used. The name of a function is also valid if the template itself
/// binds it or tests it with `is defined`. InvalidArgument names the first missing one and its
/// line.
absl::Status CheckNames(const Block& block);

/// True if an expression anywhere in `block` reads the variable `name`.
bool Reads(const Block& block, std::string_view name);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_NAMES_H_
