#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_OBJECT_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_OBJECT_H_

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "grammar/json_schema_compiler.h"
#include "grammar/json_schema_document.h"

namespace shortlist {

/// Returns the texts of the objects that the own keywords of all `parts` accept.
absl::StatusOr<ExprId> ObjectTexts(SchemaCompiler& compiler, const Conjunction& parts);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_OBJECT_H_
