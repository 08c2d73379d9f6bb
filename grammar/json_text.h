#ifndef SHORTLIST_GRAMMAR_JSON_TEXT_H_
#define SHORTLIST_GRAMMAR_JSON_TEXT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/char_class.h"
#include "grammar/expressions.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Parts of JSON texts (RFC 8259) as expressions. Repetitions that a model could continue without
/// end are bounded: white space, digits, and nesting of values of any kind.
///
/// Not thread-safe. `expressions` must outlive this object.
class JsonText {
 public:
  static constexpr int kMaxDepth = 64;   // of arrays and objects of any content
  static constexpr int kMaxDigits = 32;  // before the point, and after it

  /// At most `max_white_space` >= 0 characters of white space between two tokens.
  JsonText(Expressions& expressions, int max_white_space);

  /// Returns the characters of `ranges` as a string shows them, in one spelling: \" \\ \b \f \n \r
  /// \t, \u00xx for other control characters, UTF-8 for the rest. `json.dumps` of Python with
  /// ensure_ascii=False writes the same.
  static ExprId Chars(Expressions& expressions, std::span<const CodePointRange> ranges);
  /// Returns `text` (UTF-8) in that spelling, without quotes.
  static std::string Escape(std::string_view text);

  /// Any character of a string in that one spelling.
  ExprId PlainChar() const { return plain_char_; }
  /// Any character of a string in any spelling. \uD800 to \uDFFF occur in pairs alone.
  ExprId AnyChar() const { return any_char_; }
  /// A string whose characters between the quotes are `body`.
  ExprId Quoted(ExprId body);

  /// An integer without fraction and exponent, at most kMaxDigits digits; no -0.
  ExprId Integer();
  /// A number of at most kMaxDigits digits before and after the point, and an exponent of at most
  /// two digits: always a finite double.
  ExprId Number();

  /// A comma or colon, and the white space around it.
  ExprId Comma() const { return comma_; }
  /// A member of an object; `key` includes its quotes.
  ExprId Member(ExprId key, ExprId value);
  /// `items`, which may be empty, in brackets; white space inside the brackets.
  ExprId Array(ExprId items);
  ExprId Object(ExprId members);

  /// `value` with white space between its tokens. Its keys keep their order.
  ExprId Literal(const nlohmann::ordered_json& value);
  /// One of `texts`, in the form of a tree: the choices after a byte do not depend on how many
  /// texts begin otherwise.
  ExprId AnyOf(std::vector<std::string> texts);

  /// Any value. With the array or object around it, at most kMaxDepth deep. Calls rules.
  ExprId AnyValue();

 private:
  ExprId Text(std::string_view text) { return expressions_.Text(text); }
  ExprId Tree(std::span<const std::string> texts, size_t offset);
  ExprId Enclosed(std::string_view open, ExprId parts, std::string_view close);

  Expressions& expressions_;
  ExprId space_, comma_, colon_, plain_char_, any_char_;
  ExprId any_value_;  // Nothing() until it is asked for
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_TEXT_H_
