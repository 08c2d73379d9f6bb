#ifndef SHORTLIST_GRAMMAR_CHAR_CLASS_H_
#define SHORTLIST_GRAMMAR_CHAR_CLASS_H_

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/expressions.h"

namespace shortlist {

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

/// The code points from `first` to `last`, both included.
struct CodePointRange {
  uint32_t first, last;
  auto operator<=>(const CodePointRange&) const = default;
};

/// A set of code points: ascending ranges that neither overlap nor touch.
using CharClass = std::vector<CodePointRange>;

/// Returns the code points of `ranges`, which may overlap and have any order. Ranges with
/// first > last are empty; what exceeds kMaxCodePoint is left out.
CharClass MakeCharClass(std::span<const CodePointRange> ranges);

/// Returns all code points that are not in `chars`.
CharClass Complement(const CharClass& chars);

CharClass Intersection(const CharClass& a, const CharClass& b);

/// Returns the UTF-8 sequences of the code points of `ranges`, which may overlap and have any
/// order. Surrogates have no sequence; no other form of a code point is included.
ExprId CodePoints(Expressions& expressions, std::span<const CodePointRange> ranges);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_CHAR_CLASS_H_
