#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_COMPILER_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_COMPILER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "grammar/json_schema_cases.h"
#include "grammar/json_schema_document.h"
#include "grammar/json_schema_number.h"
#include "grammar/json_schema_string.h"
#include "grammar/json_schema_validator.h"
#include "grammar/json_text.h"

namespace shortlist {

/// Compiles the schemas of one document. Each distinct conjunction of schemas becomes a rule; a
/// queue of rules that are not defined yet replaces recursion. Used once, by one thread.
class SchemaCompiler {
 public:
  SchemaCompiler(SchemaDocument document, int max_white_space, Expressions& expressions);
  SchemaCompiler(const SchemaCompiler&) = delete;
  SchemaCompiler& operator=(const SchemaCompiler&) = delete;

  /// Returns the texts of the root. See CompileJsonSchema().
  absl::StatusOr<ExprId> Compile();

  // For ObjectTexts().

  /// Returns the texts of the values that all of `schemas` accept: perhaps a rule that is defined
  /// later.
  ExprId ValueOf(const Conjunction& schemas);
  /// Returns the strings that all of `schemas` accept, in one spelling, without quotes and rules.
  absl::StatusOr<ExprId> StringsOf(const Conjunction& schemas);

  SchemaDocument& document() { return document_; }
  SchemaStrings& strings() { return strings_; }
  SchemaValidator& validator() { return validator_; }
  CaseExpander& expander() { return expander_; }
  JsonText& text() { return text_; }
  Expressions& expressions() { return expressions_; }

 private:
  struct Rule {
    RuleId id;
    ExprId call;
    Conjunction schemas;
  };

  absl::Status DefineRule(const Rule& rule);
  absl::StatusOr<ExprId> CaseTexts(const SchemaCase& schema_case);
  absl::StatusOr<ExprId> ValueTexts(const std::vector<const nlohmann::ordered_json*>& values);
  absl::StatusOr<ExprId> ArrayTexts(const Conjunction& parts);
  absl::Status CheckSatisfiable(ExprId root);

  /// True if no value is in the case, as far as a proof can tell.
  bool IsEmpty(const SchemaCase& schema_case);
  bool HasNoArray(const Conjunction& parts);
  bool HasNoObject(const Conjunction& parts);

  Expressions& expressions_;
  SchemaDocument document_;
  JsonText text_;
  SchemaStrings strings_;
  SchemaNumbers numbers_;
  SchemaValidator validator_;
  CaseExpander expander_;
  std::map<Conjunction, ExprId> calls_;
  std::vector<Rule> rules_;  // in the order of their first use
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_COMPILER_H_
