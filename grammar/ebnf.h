#ifndef SHORTLIST_GRAMMAR_EBNF_H_
#define SHORTLIST_GRAMMAR_EBNF_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"

namespace shortlist {

/// Compiles a grammar in the notation of llama.cpp (GBNF) or of XGrammar and SGLang (EBNF), and
/// returns a call of its rule `root`.
///
///     root   ::= "{" ws pair ("," ws pair)* "}"   # rules may span lines
///     pair   ::= [a-z_]{1,20} ":" ws ('true' | 'false' | [^"\x00-\x1F]+)
///     ws     ::= " "?
///
/// - names: letters, digits, `-`, `_`, and `.` before one of these
/// - "text" and 'text'; [characters], [^other characters], `.` any character
/// - escapes: \n \r \t \0 \a \b \f \v \e, \xHH \uHHHH \UHHHHHHHH \u{H...}; any other sign: itself
/// - x?, x*, x+, x{m}, x{m,}, x{,n}, x{m,n}; (a b | c); an alternative may be empty
///
/// Characters are code points, escaped ones too, and stand for their UTF-8 bytes. A rule ends where
/// the next `name ::=` begins.
///
/// InvalidArgument names line and column and what is wrong. Bounds: 1 MiB, 64 nested groups,
/// counts up to 1,000,000, 100,000 rules. `Expressions::Check` finds
/// left-recursive rules.
absl::StatusOr<ExprId> CompileEbnf(std::string_view text, Expressions& expressions);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_EBNF_H_
