#include "grammar/json_schema.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/json_schema_compiler.h"
#include "grammar/json_schema_document.h"
#include "nlohmann/json.hpp"

namespace shortlist {

absl::Status JsonSchemaOptions::Validate() const {
  constexpr int kMaxWhiteSpace = 1000;
  if (max_white_space >= 0 && max_white_space <= kMaxWhiteSpace) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("max_white_space ", max_white_space, " not in [0, ", kMaxWhiteSpace, "]"));
}

absl::StatusOr<ExprId> CompileJsonSchema(const nlohmann::ordered_json& schema,
                                         const JsonSchemaOptions& options,
                                         Expressions& expressions) {
  SHORTLIST_RETURN_IF_ERROR(options.Validate());
  SHORTLIST_ASSIGN_OR_RETURN(SchemaDocument document, SchemaDocument::Create(schema));
  if (options.steps_left != nullptr) document.set_num_steps_left(*options.steps_left);
  SchemaCompiler compiler(std::move(document), options.compact ? 0 : options.max_white_space,
                          expressions);
  absl::StatusOr<ExprId> texts = compiler.Compile();
  if (options.steps_left != nullptr) *options.steps_left = compiler.document().num_steps_left();
  return texts;
}

}  // namespace shortlist
