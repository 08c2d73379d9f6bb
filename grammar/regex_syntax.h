#ifndef SHORTLIST_GRAMMAR_REGEX_SYNTAX_H_
#define SHORTLIST_GRAMMAR_REGEX_SYNTAX_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "grammar/char_class.h"

namespace shortlist {

/// A part of a regular expression.
struct RegexNode {
  enum class Kind {
    kChars,        // one of `chars`
    kSequence,     // `children`, in order; without children: the empty text
    kAlternation,  // any of `children`
    kRepeat,       // `min` to `max` times the one child
    kBegin,        // ^
    kEnd,          // $
  };

  Kind kind = Kind::kSequence;
  size_t position = 0;       // in the pattern, in bytes
  bool has_anchors = false;  // ^ or $, here or below
  CharClass chars;
  std::vector<RegexNode> children;
  int64_t min = 0, max = 0;  // max: Expressions::kNoLimit is any number
};

/// Parses a pattern in the syntax of ECMA-262 with the flag u, except for its exotic parts:
/// alternation, groups (all kinds of group only group; also (?P<name>...)), classes, escapes
/// (\d \w \s \D \W \S \t \n \v \f \r \0 \xHH \uHHHH \u{H...} \cX, and \ before a character that is
/// no letter or digit), ".", ^, $, and the quantifiers * + ? {m} {m,} {m,n} with their lazy forms.
/// \s is ECMA-262's; \d and \w are ASCII.
///
/// InvalidArgument names the position and the reason: lookaround, references, \b, \p, flags, empty
/// classes, possessive quantifiers, UTF-8 that is none, more than 64 KiB, groups nested deeper than
/// 64, counts above 1,000,000.
absl::StatusOr<RegexNode> ParseRegex(std::string_view pattern);

/// Returns the error of the part of a regular expression at `position`.
absl::Status RegexError(size_t position, std::string_view reason);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_REGEX_SYNTAX_H_
