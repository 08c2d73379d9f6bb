#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_VALIDATOR_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_VALIDATOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "grammar/json_schema_document.h"
#include "grammar/json_schema_string.h"

namespace shortlist {

/// Decides whether a schema accepts a given value, by the standard's own rules. It filters the
/// values of `enum` and `const` by all that a schema says next to them, so keywords that have no
/// grammar (not, contains, uniqueItems, ...) are supported there.
class SchemaValidator {
 public:
  /// The arguments must outlive this object.
  SchemaValidator(SchemaDocument& document, SchemaStrings& strings)
      : document_(document), strings_(strings) {}

  /// True if `schema` accepts `value`. InvalidArgument for keywords that are not supported, and for
  /// schemas that nest or refer to each other deeper than a bound.
  absl::StatusOr<bool> Accepts(Schema schema, const nlohmann::ordered_json& value);

  /// True if all of `schemas` accept `value`, which is one of `options`: an `enum` or `const` whose
  /// values are not compared again.
  absl::StatusOr<bool> AcceptsOption(const Conjunction& schemas,
                                     const nlohmann::ordered_json& value, Schema options);

 private:
  using Value = nlohmann::ordered_json;

  absl::StatusOr<bool> AcceptsObject(Schema schema, const Value& value);
  absl::StatusOr<bool> CheckKeyword(Schema schema, const std::string& keyword, const Value& value);
  absl::StatusOr<bool> CheckLogic(Schema schema, const std::string& keyword, const Value& value);
  absl::StatusOr<bool> CheckJoined(Schema schema, const std::string& keyword, const Value& value);
  absl::StatusOr<bool> CheckString(Schema schema, const std::string& keyword, const Value& value);
  absl::StatusOr<bool> CheckFormat(Schema schema, const std::string& text);
  absl::StatusOr<bool> Matches(Schema schema, const std::string& pattern, const std::string& text);
  absl::StatusOr<bool> CheckCondition(Schema schema, const Value& value);
  absl::StatusOr<bool> CheckNumber(Schema schema, const std::string& keyword, const Value& value);
  absl::StatusOr<bool> CheckArray(Schema schema, const std::string& keyword, const Value& value);
  absl::StatusOr<bool> CheckItems(Schema schema, const Value& value);
  absl::StatusOr<bool> CheckContains(Schema schema, const Value& value);
  absl::StatusOr<bool> CheckObject(Schema schema, const std::string& keyword, const Value& value);
  absl::StatusOr<bool> CheckProperties(Schema schema, const Value& value);
  absl::StatusOr<bool> CheckDependencies(Schema schema, const std::string& keyword,
                                         const Value& value);
  absl::StatusOr<int> CountAccepting(Schema schemas, const Value& value);
  absl::StatusOr<bool> HasAll(Schema schema, const std::string& keyword, const Value& names,
                              const Value& value);

  SchemaDocument& document_;
  SchemaStrings& strings_;
  Schema options_ = nullptr;  // that contain option_
  const Value* option_ = nullptr;
  int depth_ = 0;      // of Accepts() in progress
  int negations_ = 0;  // of these, inside not, if or oneOf
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_VALIDATOR_H_
