#ifndef SHORTLIST_TEXT_JINJA_NAMES_H_
#define SHORTLIST_TEXT_JINJA_NAMES_H_

#include <string_view>

#include "absl/status/status.h"
#include "text/jinja/ast.h"

namespace shortlist::jinja {

/// Looks for names of filters, tests and functions that a template uses and that do not exist: it
/// could not be rendered where it comes to them. A function may be a name that the template itself
/// binds, or asks for with `is defined`. InvalidArgument names the first one and its line.
absl::Status CheckNames(const Block& block);

/// Whether an expression anywhere in `block` is the variable `name`.
bool Reads(const Block& block, std::string_view name);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_NAMES_H_
