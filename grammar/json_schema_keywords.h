#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_KEYWORDS_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_KEYWORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "grammar/json_schema_document.h"

namespace shortlist {

/// Types of JSON values, as bits. A number has one of two: whether it is an integer by value.
enum JsonType : uint8_t {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kFractionType = 8,  // a number that is no integer
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
  kNumberType = kIntegerType | kFractionType,
  kAnyType = 127,
};
using JsonTypes = uint8_t;  // of JsonType

/// Returns the type of `value`; 1.0 is an integer.
JsonTypes TypeOf(const nlohmann::ordered_json& value);

/// Returns what the keyword `type` of `schema` (an object) allows; kAnyType without it.
/// OpenAPI 3.0's `nullable` adds null to a type.
absl::StatusOr<JsonTypes> TypesOf(const SchemaDocument& document, Schema schema);

/// True for keywords that decide nothing on their own (`nullable` acts in TypesOf()), and for
/// "x-...".
bool IsAnnotation(std::string_view keyword);

/// Returns the types whose values a keyword can reject; nullopt if the keyword is not supported.
/// Keywords that join schemas, such as `$ref` and `anyOf`, can reject any.
std::optional<JsonTypes> TypesOfKeyword(std::string_view keyword);

/// Return the value of a keyword of `schema`, `missing` or null if it is not there, or
/// InvalidArgument if its kind is wrong.
absl::StatusOr<int64_t> CountOf(const SchemaDocument& document, Schema schema, const char* keyword,
                                int64_t missing);
absl::StatusOr<Schema> ObjectOf(const SchemaDocument& document, Schema schema, const char* keyword);
absl::StatusOr<Schema> ArrayOf(const SchemaDocument& document, Schema schema, const char* keyword);
absl::StatusOr<Schema> StringOf(const SchemaDocument& document, Schema schema, const char* keyword);
absl::StatusOr<Schema> NumberOf(const SchemaDocument& document, Schema schema, const char* keyword);
/// Returns the member `keyword` of `schema`, which may be no object, or null.
Schema Find(Schema schema, const std::string& keyword);

/// Returns the first of `parts` that has the keyword, else the first of all: for messages.
Schema PartWith(const Conjunction& parts, const char* keyword);

/// True if the values are equal in JSON: 1 and 1.0 are, the order of keys does not count.
bool EqualValues(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

/// Returns the number of values in `value`, itself included. The work on a value is charged by it.
int64_t NumNodes(const nlohmann::ordered_json& value);

/// Returns the number of code points of `text` (UTF-8).
int64_t CountCodePoints(std::string_view text);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_KEYWORDS_H_
