#ifndef SHORTLIST_GRAMMAR_JSON_SCHEMA_CASES_H_
#define SHORTLIST_GRAMMAR_JSON_SCHEMA_CASES_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "grammar/json_schema_document.h"
#include "grammar/json_schema_keywords.h"
#include "grammar/json_schema_validator.h"

namespace shortlist {

/// One way to satisfy a conjunction of schemas: no choice is left in it.
struct SchemaCase {
  JsonTypes types = kAnyType;
  /// Schemas whose own keywords apply; those that join schemas ($ref, anyOf, ...) are resolved.
  Conjunction parts;
  /// If set, the only values, in their order; `parts` do not matter then. Parts of the document.
  std::optional<std::vector<const nlohmann::ordered_json*>> values;
};

/// Turns schemas into cases, whose union is exactly what the schemas accept: follows $ref and
/// allOf, makes a case of each option of anyOf, and of oneOf, whose options must exclude each other
/// or have a negation. not, if and dependencies become such choices too.
class CaseExpander {
 public:
  /// True if a case is known to accept no value. Called in proofs.
  using IsEmpty = std::function<bool(const SchemaCase&)>;

  /// The arguments must outlive this object.
  CaseExpander(SchemaDocument& document, SchemaValidator& validator, IsEmpty is_empty)
      : document_(document), validator_(validator), is_empty_(std::move(is_empty)) {}

  /// InvalidArgument if a keyword is not supported, or there are too many cases.
  absl::StatusOr<std::vector<SchemaCase>> Expand(const Conjunction& schemas);

  /// True if no value satisfies all of `schemas`, as far as this can tell with little work.
  bool IsUnsatisfiable(const Conjunction& schemas);

 private:
  struct Choice;   // schemas of which one must hold
  struct Draft;    // a case that may have choices left
  struct Problem;  // a keyword that is not supported, if certain types are possible

  static void AddProblem(Problem problem, Draft& draft);
  absl::Status AddChoice(Choice choice, Draft& draft);
  absl::Status Absorb(Schema schema, Conjunction path, Draft& draft);
  absl::Status AbsorbKeyword(Schema schema, const std::string& keyword, const Conjunction& path,
                             Draft& draft);
  absl::Status AbsorbOptions(Schema schema, const std::string& keyword, const Conjunction& path,
                             Draft& draft);
  absl::Status AbsorbNegation(Schema negated, const Conjunction& path, Draft& draft);
  absl::Status AbsorbCondition(Schema schema, const Conjunction& path, Draft& draft);
  absl::Status AbsorbDependencies(Schema schema, const std::string& keyword,
                                  const Conjunction& path, Draft& draft);
  void AbsorbValues(Schema schema, const std::string& keyword, Draft& draft);

  absl::StatusOr<std::vector<SchemaCase>> Finish(Draft first);
  absl::StatusOr<SchemaCase> CaseOf(const Draft& draft);
  absl::Status FindProblem(const Draft& draft) const;
  absl::Status Take(const Choice& choice, size_t option, Draft& draft);
  absl::Status SeparateOptions(const Draft& draft, Choice& choice);
  bool Exclude(const Draft& draft, const Conjunction& a, const Conjunction& b,
               const Conjunction& path);
  absl::StatusOr<Schema> Negated(Schema schema);

  SchemaDocument& document_;
  SchemaValidator& validator_;
  const IsEmpty is_empty_;
  std::map<Schema, Schema> negated_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_JSON_SCHEMA_CASES_H_
