#include "grammar/json_schema.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "grammar/free_text.h"
#include "grammar/json_schema_compiler.h"
#include "grammar/json_schema_document.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

/// Indented output of depth n needs 1 + n times the indentation.
constexpr int kMaxWhiteSpace = 32;

}  // namespace

absl::StatusOr<ExprId> CompileJsonSchema(const nlohmann::ordered_json& schema,
                                         const JsonSchemaOptions& options,
                                         Expressions& expressions) {
  SHORTLIST_ASSIGN_OR_RETURN(SchemaDocument document, SchemaDocument::Create(schema));
  if (options.steps_left != nullptr) document.set_max_steps(*options.steps_left);
  SchemaCompiler compiler(std::move(document), options.compact ? 0 : kMaxWhiteSpace, expressions);
  absl::StatusOr<ExprId> texts = compiler.Compile();
  if (options.steps_left != nullptr) *options.steps_left = compiler.document().num_steps_left();
  return texts;
}

absl::StatusOr<ExprId> CompileJsonStrings(const nlohmann::ordered_json& schema,
                                          const JsonSchemaOptions& options,
                                          Expressions& expressions) {
  SHORTLIST_ASSIGN_OR_RETURN(SchemaDocument document, SchemaDocument::Create(schema));
  if (options.steps_left != nullptr) document.set_max_steps(*options.steps_left);
  SchemaCompiler compiler(std::move(document), /*max_white_space=*/0, expressions);
  const absl::StatusOr<ExprId> strings = compiler.StringsOf({compiler.document().root()});
  if (options.steps_left != nullptr) *options.steps_left = compiler.document().num_steps_left();
  if (!strings.ok()) return strings;
  const std::vector<std::string> escape = {"\\"};
  return expressions.Both(*strings, TextWithout(expressions, escape));
}

}  // namespace shortlist
