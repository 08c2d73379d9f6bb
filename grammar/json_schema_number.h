#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_NUMBER_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_NUMBER_H_

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "grammar/json_schema_document.h"
#include "grammar/json_schema_keywords.h"
#include "grammar/json_schema_multiple.h"
#include "grammar/json_text.h"

namespace shortlist {

/// Numbers as a schema limits them: bounds and multipleOf.
class SchemaNumbers {
 public:
  /// The arguments must outlive this object.
  SchemaNumbers(SchemaDocument& document, JsonText& text, Expressions& expressions)
      : document_(document),
        text_(text),
        expressions_(expressions),
        multiples_(document, expressions) {}

  /// Returns the texts of the numbers of `types` that the own keywords of all `parts` allow.
  /// Without limits these are all of `JsonText`. With limits they have no exponent; an integer has
  /// no point, unless other numbers are allowed too. Between any two texts of different value, the
  /// doubles that they read as are different too, if one of them is a bound. Calls no rule.
  ///
  /// InvalidArgument if a multiple needs too many states (about its digits, up to 1,000).
  absl::StatusOr<ExprId> Numbers(const Conjunction& parts, JsonTypes types);

  /// True if no number of `types` is within the bounds of all `parts`. Ignores multipleOf.
  bool HasNone(const Conjunction& parts, JsonTypes types) const;

 private:
  SchemaDocument& document_;
  JsonText& text_;
  Expressions& expressions_;
  MultipleTexts multiples_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_NUMBER_H_
