#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_MEMBERS_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_MEMBERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "grammar/json_schema_document.h"
#include "grammar/json_schema_string.h"

namespace shortlist {

/// Returns the number of items of `schema` (an object) that have a schema of their own:
/// `prefixItems`, or `items` as a list (draft 7).
size_t NumPrefixItems(Schema schema);

/// Returns the schema that `schema` applies to the item `index` of an array, null if it has none.
Schema ItemSchema(Schema schema, size_t index);
/// Returns those of all `parts`.
Conjunction ItemSchemas(const Conjunction& parts, size_t index);

/// Returns the schemas that `parts` apply to the member `name` of an object, by `properties`,
/// `patternProperties` or else `additionalProperties`.
absl::StatusOr<Conjunction> MemberSchemas(SchemaDocument& document, SchemaStrings& strings,
                                          const Conjunction& parts, const std::string& name);

/// Returns the names that `parts` require, distinct.
absl::StatusOr<std::vector<std::string>> RequiredNames(SchemaDocument& document,
                                                       const Conjunction& parts);

/// Limits of a number of items or members.
struct CountLimits {
  int64_t min = 0;
  int64_t max = Expressions::kNoLimit;
};
absl::StatusOr<CountLimits> CountLimitsOf(const SchemaDocument& document, const Conjunction& parts,
                                          const char* min_keyword, const char* max_keyword);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_MEMBERS_H_
