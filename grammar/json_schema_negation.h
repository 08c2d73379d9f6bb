#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_NEGATION_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_NEGATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "grammar/json_schema_document.h"

namespace shortlist {

/// Returns conjunctions that each accept only values which `schema` rejects. Together they accept
/// all of these. Keeps new schemas in `document`; one with `Exclusion::has_no_grammar` holds the
/// arrays and objects where a const or enum names one that is not empty, and the numbers where it
/// names more than 8.
///
/// InvalidArgument if a keyword of `schema` has no negation here: supported are type, const, enum,
/// required, properties, pattern, the bounds of numbers, lengths and counts, and allOf, anyOf,
/// not, $ref of such schemas.
absl::StatusOr<std::vector<Conjunction>> Negate(SchemaDocument& document, Schema schema);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_NEGATION_H_
