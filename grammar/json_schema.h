#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

struct JsonSchemaOptions {
  /// No white space between tokens.
  bool compact = false;
  /// Input and output: number of compilation steps that several schemas share. Null:
  /// SchemaDocument::kMaxSteps for this schema.
  int64_t* steps_left = nullptr;
};

/// Compiles a JSON schema (draft 7 or 2020-12): the JSON texts that it accepts, without white space
/// before and after. The result calls rules and has passed `Check`.
///
/// The grammar accepts only texts that the schema accepts; a schema for which this cannot be
/// ensured is rejected. Of the valid values, the texts with these properties are included: at most
/// 32 characters of white space between two tokens; members in the order of `properties`, then
/// those that only `required` names, then others; the spellings of `JsonText`; a number with limits
/// has no exponent, an integer no fraction. `$ref` next to other keywords applies together with
/// them. `format` is a limit. Names that no `properties` lists may repeat, as in any JSON.
///
/// {"type": "object"} is any JSON object.
///
/// InvalidArgument names the place (a JSON pointer) and the keyword that is unknown, not supported
/// or malformed, the bound that is exceeded (`SchemaDocument`), or a part that no value satisfies.
absl::StatusOr<ExprId> CompileJsonSchema(const nlohmann::ordered_json& schema,
                                         const JsonSchemaOptions& options,
                                         Expressions& expressions);

/// Compiles the strings that a JSON schema accepts, as they are: without quotes and escapes.
/// Strings with characters that JSON must escape are left out. The result calls no rule. Errors as
/// CompileJsonSchema().
absl::StatusOr<ExprId> CompileJsonStrings(const nlohmann::ordered_json& schema,
                                          const JsonSchemaOptions& options,
                                          Expressions& expressions);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_H_
