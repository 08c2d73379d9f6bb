#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_MEMBERS_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_MEMBERS_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "grammar/json_schema_document.h"
#include "grammar/json_schema_string.h"

namespace shortlist {

/// Returns the number of items of `schema` (an object) that have a schema of their own:
/// `prefixItems`, or `items` as a list (draft 7).
size_t NumPrefixItems(Schema schema);

/// Returns the schema that `schema` applies to the item `index` of an array, null if it has none.
Schema ItemSchema(Schema schema, size_t index);

/// Returns the schemas that `schema` applies to the member `name` of an object, by `properties`,
/// `patternProperties` or else `additionalProperties`.
absl::StatusOr<Conjunction> MemberSchemas(SchemaDocument& document, SchemaStrings& strings,
                                          Schema schema, const std::string& name);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_MEMBERS_H_
