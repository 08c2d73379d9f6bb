#include "grammar/json_schema_cases.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/json_schema_negation.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxCases = 1'000;
constexpr size_t kMaxChoices = 1'000;  // of one case
constexpr size_t kMaxPath = 128;
constexpr size_t kMaxValues = 10'000;
constexpr int kMaxProofDepth = 4;
constexpr int64_t kStepsOfProof = 15;
constexpr std::string_view kNotSupported = "not supported";
constexpr std::string_view kNoNegation =
    "has no negation (`not`, `if` or `oneOf`) with an array or object that is not empty, or with "
    "more than 8 numbers";

bool Contains(const Conjunction& schemas, Schema schema) {
  return std::ranges::find(schemas, schema) != schemas.end();
}

/// A proof that lasts as long as this object.
class Proof {
 public:
  explicit Proof(SchemaDocument& document) : document_(document) { document_.BeginProof(); }
  Proof(const Proof&) = delete;
  Proof& operator=(const Proof&) = delete;
  ~Proof() { document_.EndProof(); }

 private:
  SchemaDocument& document_;
};

}  // namespace

struct CaseExpander::Choice {
  std::vector<Conjunction> options;
  Conjunction path;  // of schemas around the choice
  Schema origin = nullptr;
  bool exclusive = false;  // oneOf: the options must not overlap
};

struct CaseExpander::Problem {
  JsonTypes types;
  Schema schema;
  std::string_view keyword;
  std::string_view reason;
  absl::Status status;  // if not OK, instead of the above
};

struct CaseExpander::Draft {
  SchemaCase result;
  Conjunction roots;  // what `values` must satisfy
  std::vector<std::shared_ptr<const Choice>> choices;
  size_t num_made = 0;            // of choices
  std::vector<Problem> problems;  // each of a type that those before it do not have
  Schema values = nullptr;        // the first enum or const
  bool is_const = false;

  bool HasProblemOfAllTypes() const {
    JsonTypes types = 0;
    for (const Problem& problem : problems) types |= problem.types;
    return (result.types & ~types) == 0;
  }
  /// Steps of a copy.
  int64_t Cost() const {
    return 1 + static_cast<int64_t>((result.parts.size() + roots.size() + choices.size()) / 4);
  }
};

absl::StatusOr<std::vector<SchemaCase>> CaseExpander::Expand(const Conjunction& schemas) {
  Draft draft;
  for (const Schema schema : schemas) {
    draft.roots.push_back(schema);
    SHORTLIST_RETURN_IF_ERROR(Absorb(schema, {}, draft));
  }
  return Finish(std::move(draft));
}

bool CaseExpander::IsUnsatisfiable(const Conjunction& schemas) {
  if (document_.proof_depth() == kMaxProofDepth) return false;
  const Proof proof(document_);
  const auto cases = Expand(schemas);
  return cases.ok() && std::ranges::all_of(*cases, is_empty_);
}

/// The first problem of each type is the one that is reported.
void CaseExpander::AddProblem(Problem problem, Draft& draft) {
  for (const Problem& earlier : draft.problems) problem.types &= ~earlier.types;
  if (problem.types != 0) draft.problems.push_back(std::move(problem));
}

absl::Status CaseExpander::AddChoice(Choice choice, Draft& draft) {
  if (draft.choices.size() == kMaxChoices) {
    return document_.Error(choice.origin, choice.exclusive ? "oneOf" : "anyOf",
                           absl::StrCat("more than ", kMaxChoices, " choices"));
  }
  draft.choices.push_back(std::make_shared<const Choice>(std::move(choice)));
  return absl::OkStatus();
}

/// Adds what `schema` says to `draft`. `path`: the schemas of the same value around it.
absl::Status CaseExpander::Absorb(Schema schema, Conjunction path, Draft& draft) {
  const size_t num_compared = draft.result.parts.size() + schema->size();
  SHORTLIST_RETURN_IF_ERROR(
      document_.Spend(1 + static_cast<int64_t>(path.size() + num_compared / 16)));
  if (schema->is_boolean()) {
    if (!schema->get<bool>()) draft.result.types = 0;
    return absl::OkStatus();
  }
  if (!schema->is_object()) return document_.Error(schema, "", "neither an object nor a boolean");
  if (Contains(path, schema)) return document_.Error(schema, "$ref", "refers to itself");
  if (Contains(draft.result.parts, schema)) return absl::OkStatus();
  if (path.size() == kMaxPath) return document_.Error(schema, "$ref", "references nest too deep");
  path.push_back(schema);
  draft.result.parts.push_back(schema);
  SHORTLIST_ASSIGN_OR_RETURN(const JsonTypes types, TypesOf(document_, schema));
  draft.result.types &= types;
  const SchemaDocument::Exclusion* exclusion = document_.FindExclusion(schema);
  if (exclusion != nullptr && exclusion->integers) draft.result.types &= ~kIntegerType;
  if (exclusion != nullptr && exclusion->has_no_grammar) {
    AddProblem({kAnyType, schema, "enum", kNoNegation, {}}, draft);
  }
  for (const auto& [keyword, unused] : schema->items()) {
    if (IsAnnotation(keyword)) continue;
    const auto keyword_types = TypesOfKeyword(keyword);
    if (!keyword_types.has_value()) {
      AddProblem({kAnyType, schema, keyword, kNotSupported, {}}, draft);
    } else if ((*keyword_types & draft.result.types) != 0) {
      SHORTLIST_RETURN_IF_ERROR(AbsorbKeyword(schema, keyword, path, draft));
    }
  }
  return absl::OkStatus();
}

absl::Status CaseExpander::AbsorbKeyword(Schema schema, const std::string& keyword,
                                         const Conjunction& path, Draft& draft) {
  const ordered_json& argument = schema->at(keyword);
  if (keyword == "$ref") {
    SHORTLIST_ASSIGN_OR_RETURN(const Schema target, document_.Resolve(schema));
    return Absorb(target, path, draft);
  }
  if (keyword == "const" || keyword == "enum") AbsorbValues(schema, keyword, draft);
  if (keyword == "enum" && (!argument.is_array() || argument.size() > kMaxValues)) {
    return document_.Error(schema, keyword,
                           absl::StrCat("not a list of at most ", kMaxValues, " values"));
  }
  if (keyword == "allOf" || keyword == "anyOf" || keyword == "oneOf") {
    return AbsorbOptions(schema, keyword, path, draft);
  }
  if (keyword == "not") return AbsorbNegation(&argument, path, draft);
  if (keyword == "if") return AbsorbCondition(schema, path, draft);
  if (keyword == "contains" || (keyword == "uniqueItems" && argument == true)) {
    AddProblem({kArrayType, schema, keyword, kNotSupported, {}}, draft);
  }
  if (keyword.starts_with("depend")) return AbsorbDependencies(schema, keyword, path, draft);
  return absl::OkStatus();
}

void CaseExpander::AbsorbValues(Schema schema, const std::string& keyword, Draft& draft) {
  if (draft.values != nullptr) return;
  draft.values = &schema->at(keyword);
  draft.is_const = keyword == "const";
}

absl::Status CaseExpander::AbsorbOptions(Schema schema, const std::string& keyword,
                                         const Conjunction& path, Draft& draft) {
  SHORTLIST_ASSIGN_OR_RETURN(const Schema list, ArrayOf(document_, schema, keyword.c_str()));
  if (keyword == "allOf") {
    for (const ordered_json& each : *list) {
      SHORTLIST_RETURN_IF_ERROR(Absorb(&each, path, draft));
    }
    return absl::OkStatus();
  }
  if (list->size() > kMaxCases) {
    return document_.Error(schema, keyword, absl::StrCat("more than ", kMaxCases, " cases"));
  }
  SHORTLIST_RETURN_IF_ERROR(document_.Spend(static_cast<int64_t>(list->size())));
  Choice choice{{}, path, schema, keyword == "oneOf"};
  for (const ordered_json& option : *list) choice.options.push_back({&option});
  return AddChoice(std::move(choice), draft);
}

absl::Status CaseExpander::AbsorbNegation(Schema negated, const Conjunction& path, Draft& draft) {
  // The case is rejected anyway: a second error would only be work.
  if (document_.proof_depth() == 0 && draft.HasProblemOfAllTypes()) return absl::OkStatus();
  absl::StatusOr<std::vector<Conjunction>> options = Negate(document_, negated);
  if (options.ok()) return AddChoice({*std::move(options), path, negated}, draft);
  AddProblem({kAnyType, negated, "not", kNotSupported, options.status()}, draft);
  return absl::OkStatus();
}

absl::Status CaseExpander::AbsorbCondition(Schema schema, const Conjunction& path, Draft& draft) {
  const Schema condition = &schema->at("if");
  const Schema when_true = Find(schema, "then");
  const Schema when_false = Find(schema, "else");
  if (when_true == nullptr && when_false == nullptr) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const Schema negated, Negated(condition));
  Choice choice{{{condition}, {negated}}, path, schema};
  if (when_true != nullptr) choice.options[0].push_back(when_true);
  if (when_false != nullptr) choice.options[1].push_back(when_false);
  return AddChoice(std::move(choice), draft);
}

/// For each name: the member is missing, or what depends on it holds.
absl::Status CaseExpander::AbsorbDependencies(Schema schema, const std::string& keyword,
                                              const Conjunction& path, Draft& draft) {
  SHORTLIST_ASSIGN_OR_RETURN(const Schema needs, ObjectOf(document_, schema, keyword.c_str()));
  SHORTLIST_RETURN_IF_ERROR(document_.Spend(4 * NumNodes(*needs)));
  for (const auto& [name, needed] : needs->items()) {
    const Schema missing = document_.Add({{"properties", {{name, false}}}}, schema);
    const Schema present = document_.Add({{"required", ordered_json::array({name})}}, schema);
    const Schema dependent =
        needed.is_array() ? document_.Add({{"required", needed}}, schema) : &needed;
    SHORTLIST_RETURN_IF_ERROR(AddChoice({{{missing}, {present, dependent}}, path, schema}, draft));
  }
  return absl::OkStatus();
}

/// Makes the choices of `first`, each in every way.
absl::StatusOr<std::vector<SchemaCase>> CaseExpander::Finish(Draft first) {
  std::vector<SchemaCase> cases;
  std::vector<Draft> drafts = {std::move(first)};  // the last is next
  while (!drafts.empty()) {
    Draft draft = std::move(drafts.back());
    drafts.pop_back();
    SHORTLIST_RETURN_IF_ERROR(document_.Spend(draft.Cost()));
    if (draft.result.types == 0) continue;
    if (draft.num_made == draft.choices.size() || draft.values != nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(cases.emplace_back(), CaseOf(draft));
      continue;
    }
    Choice choice = *draft.choices[draft.num_made++];
    if (choice.exclusive) SHORTLIST_RETURN_IF_ERROR(SeparateOptions(draft, choice));
    if (cases.size() + drafts.size() + choice.options.size() > kMaxCases) {
      return document_.Error(choice.origin, choice.exclusive ? "oneOf" : "anyOf",
                             absl::StrCat("more than ", kMaxCases, " cases"));
    }
    for (size_t i = choice.options.size(); i-- > 0;) {
      SHORTLIST_RETURN_IF_ERROR(document_.Spend(draft.Cost()));
      drafts.push_back(draft);
      SHORTLIST_RETURN_IF_ERROR(Take(choice, i, drafts.back()));
    }
  }
  return cases;
}

/// In a proof, what is not supported is left out.
absl::Status CaseExpander::FindProblem(const Draft& draft) const {
  if (document_.proof_depth() > 0) return absl::OkStatus();
  for (const Problem& problem : draft.problems) {
    if ((problem.types & draft.result.types) == 0) continue;
    if (!problem.status.ok()) return problem.status;
    return document_.Error(problem.schema, problem.keyword, problem.reason);
  }
  return absl::OkStatus();
}

absl::StatusOr<SchemaCase> CaseExpander::CaseOf(const Draft& draft) {
  SchemaCase result = draft.result;
  if (draft.values == nullptr) {
    SHORTLIST_RETURN_IF_ERROR(FindProblem(draft));
    return result;
  }
  result.values.emplace();
  const auto keep = [&](const ordered_json& value) -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts,
                               validator_.AcceptsOption(draft.roots, value, draft.values));
    if (accepts) result.values->push_back(&value);
    return absl::OkStatus();
  };
  if (draft.is_const) {
    SHORTLIST_RETURN_IF_ERROR(keep(*draft.values));
  } else {
    for (const ordered_json& value : *draft.values) SHORTLIST_RETURN_IF_ERROR(keep(value));
  }
  return result;
}

absl::Status CaseExpander::Take(const Choice& choice, size_t option, Draft& draft) {
  for (const Schema schema : choice.options[option]) {
    draft.roots.push_back(schema);
    SHORTLIST_RETURN_IF_ERROR(Absorb(schema, choice.path, draft));
  }
  return absl::OkStatus();
}

/// Makes the options of a oneOf exclude each other: an option that may overlap with others gets
/// their negations.
absl::Status CaseExpander::SeparateOptions(const Draft& draft, Choice& choice) {
  if (document_.proof_depth() > 0) return absl::OkStatus();
  const std::vector<Conjunction> options = choice.options;
  for (size_t i = 0; i < options.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      SHORTLIST_RETURN_IF_ERROR(document_.Spend(kStepsOfProof + draft.Cost()));
      if (Exclude(draft, options[i], options[k], choice.path)) continue;
      SHORTLIST_ASSIGN_OR_RETURN(choice.options[i].emplace_back(), Negated(options[k][0]));
      SHORTLIST_ASSIGN_OR_RETURN(choice.options[k].emplace_back(), Negated(options[i][0]));
    }
  }
  return absl::OkStatus();
}

/// True if it can be shown that no value of `draft` satisfies both `a` and `b`.
bool CaseExpander::Exclude(const Draft& draft, const Conjunction& a, const Conjunction& b,
                           const Conjunction& path) {
  Draft both = draft;
  both.choices.clear();
  both.num_made = 0;
  both.roots.clear();  // they contain the oneOf, whose options are not known to exclude each other
  const Choice choice{{a, b}, path, nullptr};
  const Proof proof(document_);
  if (!Take(choice, 0, both).ok() || !Take(choice, 1, both).ok()) return false;
  const auto cases = Finish(std::move(both));
  return cases.ok() && std::ranges::all_of(*cases, is_empty_);
}

/// Returns {"not": schema}.
absl::StatusOr<Schema> CaseExpander::Negated(Schema schema) {
  const auto found = negated_.find(schema);
  if (found != negated_.end()) return found->second;
  SHORTLIST_RETURN_IF_ERROR(document_.Spend(NumNodes(*schema)));
  ordered_json negation;
  negation["not"] = *schema;
  return negated_[schema] = document_.Add(std::move(negation), schema);
}

}  // namespace shortlist
