#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_STRING_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_STRING_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "grammar/json_schema_document.h"
#include "grammar/json_schema_format.h"
#include "grammar/json_text.h"

namespace shortlist {

/// Strings as a schema limits them: minLength, maxLength, pattern, format, and exclusions.
/// Expressions are of the characters between the quotes and call no rule.
class SchemaStrings {
 public:
  /// The arguments must outlive this object.
  SchemaStrings(SchemaDocument& document, const JsonText& text, Expressions& expressions)
      : document_(document), text_(text), expressions_(expressions) {}

  /// Returns the strings that the own keywords of all `parts` allow. Characters have one spelling
  /// if `one_spelling`, or if a pattern, format or exclusion applies; else any.
  absl::StatusOr<ExprId> Strings(const Conjunction& parts, bool one_spelling);

  /// Returns the strings that a pattern (of `pattern` or `patternProperties` of `schema`) matches.
  absl::StatusOr<ExprId> PatternStrings(Schema schema, const std::string& pattern);

  /// Returns the `format` of `schema`. Null if it has none, and in a proof: a format is narrower
  /// here than a standard may have it.
  absl::StatusOr<const StringFormat*> FormatOf(Schema schema) const;

  /// True if the string `text` is one of `strings`.
  absl::StatusOr<bool> Contains(ExprId strings, std::string_view text);

 private:
  struct Limits;
  absl::Status Read(Schema schema, Limits& limits);

  SchemaDocument& document_;
  const JsonText& text_;
  Expressions& expressions_;
  std::map<std::string, ExprId, std::less<>> patterns_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_STRING_H_
