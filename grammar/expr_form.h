#ifndef SHORTLIST_GRAMMAR_EXPR_FORM_H_
#define SHORTLIST_GRAMMAR_EXPR_FORM_H_

#include <optional>
#include <string>

#include "grammar/expr_nodes.h"

namespace shortlist {

/// Returns a text from which `id` could be built, the same in every `Expressions`. nullopt: it
/// calls a rule, or the text is longer than a few KiB. The caller holds the lock of `nodes`.
std::optional<std::string> FormOf(const ExprNodes& nodes, ExprId id);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_EXPR_FORM_H_
