#ifndef SHORTLIST_GRAMMAR_FREE_TEXT_H_
#define SHORTLIST_GRAMMAR_FREE_TEXT_H_

#include <span>
#include <string>
#include <string_view>

#include "grammar/expressions.h"

namespace shortlist {

/// Returns all valid UTF-8 that contains none of `excluded`, which are UTF-8 and not empty. Its
/// states are those of an Aho-Corasick automaton (1975), so that few states recur in a long text.
ExprId TextWithout(Expressions& expressions, std::span<const std::string> excluded);

/// Returns all valid UTF-8 that ends with `end`, contains none of `triggers` before that end, and
/// none of `excluded` at all. `end` is one of `triggers`.
///
/// Example: until "aa", "baa" is included and "baaa" is not.
ExprId TextUntil(Expressions& expressions, std::string_view end,
                 std::span<const std::string> triggers, std::span<const std::string> excluded);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_FREE_TEXT_H_
