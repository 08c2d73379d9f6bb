#include "grammar/json_schema_cases.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/json_schema_negation.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxCases = 1'000;
constexpr size_t kMaxPath = 128;
constexpr size_t kMaxValues = 10'000;
constexpr int kMaxProofDepth = 4;
constexpr int64_t kStepsOfProof = 20;

bool Contains(const Conjunction& schemas, Schema schema) {
  return std::ranges::find(schemas, schema) != schemas.end();
}

}  // namespace

struct CaseExpander::Choice {
  std::vector<Conjunction> options;
  Conjunction path;  // of schemas around the choice
  Schema origin = nullptr;
  bool exclusive = false;  // oneOf: the options must not overlap
};

struct CaseExpander::Problem {
  JsonTypes types;
  absl::Status status;
};

struct CaseExpander::Draft {
  SchemaCase result;
  Conjunction roots;            // what `values` must satisfy
  std::vector<Choice> choices;  // still to make
  std::vector<Problem> problems;
  Schema values = nullptr;  // the first enum or const
  bool is_const = false;
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
  if (proof_depth_ == kMaxProofDepth) return false;
  ++proof_depth_;
  const auto cases = Expand(schemas);
  const bool unsatisfiable = cases.ok() && std::ranges::all_of(*cases, is_empty_);
  --proof_depth_;
  return unsatisfiable;
}

/// Adds what `schema` says to `draft`. `path`: the schemas of the same value around it.
absl::Status CaseExpander::Absorb(Schema schema, Conjunction path, Draft& draft) {
  SHORTLIST_RETURN_IF_ERROR(document_.Spend(1 + static_cast<int64_t>(path.size())));
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
  for (const auto& [keyword, unused] : schema->items()) {
    if (IsAnnotation(keyword)) continue;
    const auto keyword_types = TypesOfKeyword(keyword);
    if (!keyword_types.has_value()) {
      draft.problems.push_back({kAnyType, document_.Error(schema, keyword, "not supported")});
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
    draft.problems.push_back({kArrayType, document_.Error(schema, keyword, "not supported")});
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
  Choice choice{{}, path, schema, keyword == "oneOf"};
  for (const ordered_json& option : *list) choice.options.push_back({&option});
  draft.choices.push_back(std::move(choice));
  return absl::OkStatus();
}

absl::Status CaseExpander::AbsorbNegation(Schema negated, const Conjunction& path, Draft& draft) {
  if (!draft.problems.empty() && draft.problems.back().types == kAnyType) return absl::OkStatus();
  absl::StatusOr<std::vector<Conjunction>> options = Negate(document_, negated);
  if (!options.ok()) {
    draft.problems.push_back({kAnyType, options.status()});
  } else {
    draft.choices.push_back({*std::move(options), path, negated});
  }
  return absl::OkStatus();
}

absl::Status CaseExpander::AbsorbCondition(Schema schema, const Conjunction& path, Draft& draft) {
  const Schema condition = &schema->at("if");
  const Schema when_true = Find(schema, "then");
  const Schema when_false = Find(schema, "else");
  if (when_true == nullptr && when_false == nullptr) return absl::OkStatus();
  Choice choice{{{condition}, {Negated(condition)}}, path, schema};
  if (when_true != nullptr) choice.options[0].push_back(when_true);
  if (when_false != nullptr) choice.options[1].push_back(when_false);
  draft.choices.push_back(std::move(choice));
  return absl::OkStatus();
}

/// For each name: the member is missing, or what depends on it holds.
absl::Status CaseExpander::AbsorbDependencies(Schema schema, const std::string& keyword,
                                              const Conjunction& path, Draft& draft) {
  SHORTLIST_ASSIGN_OR_RETURN(const Schema needs, ObjectOf(document_, schema, keyword.c_str()));
  for (const auto& [name, needed] : needs->items()) {
    const Schema missing = document_.Add({{"properties", {{name, false}}}}, schema);
    const Schema present = document_.Add({{"required", ordered_json::array({name})}}, schema);
    const Schema dependent =
        needed.is_array() ? document_.Add({{"required", needed}}, schema) : &needed;
    draft.choices.push_back({{{missing}, {present, dependent}}, path, schema});
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
    SHORTLIST_RETURN_IF_ERROR(
        document_.Spend(1 + static_cast<int64_t>(draft.result.parts.size() / 4)));
    if (draft.result.types == 0) continue;
    if (draft.choices.empty() || draft.values != nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(cases.emplace_back(), CaseOf(draft));
      continue;
    }
    Choice choice = std::move(draft.choices.front());
    draft.choices.erase(draft.choices.begin());
    if (choice.exclusive) SHORTLIST_RETURN_IF_ERROR(SeparateOptions(draft, choice));
    if (cases.size() + drafts.size() + choice.options.size() > kMaxCases) {
      return document_.Error(choice.origin, choice.exclusive ? "oneOf" : "anyOf",
                             absl::StrCat("more than ", kMaxCases, " cases"));
    }
    for (size_t i = choice.options.size(); i-- > 0;) {
      drafts.push_back(draft);
      SHORTLIST_RETURN_IF_ERROR(Take(choice, i, drafts.back()));
    }
  }
  return cases;
}

absl::StatusOr<SchemaCase> CaseExpander::CaseOf(const Draft& draft) {
  SchemaCase result = draft.result;
  if (draft.values == nullptr) {
    for (const Problem& problem : draft.problems) {
      if (proof_depth_ == 0 && (problem.types & result.types) != 0) return problem.status;
    }
    return result;
  }
  result.values.emplace();
  const auto keep = [&](const ordered_json& value) -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts,
                               validator_.AcceptsOption(draft.roots, value, draft.values));
    if (accepts) result.values->push_back(value);
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
  if (proof_depth_ > 0) return absl::OkStatus();
  const std::vector<Conjunction> options = choice.options;
  for (size_t i = 0; i < options.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      SHORTLIST_RETURN_IF_ERROR(document_.Spend(kStepsOfProof));
      if (Exclude(draft, options[i], options[k], choice.path)) continue;
      choice.options[i].push_back(Negated(options[k][0]));
      choice.options[k].push_back(Negated(options[i][0]));
      SHORTLIST_RETURN_IF_ERROR(
          document_.Spend(static_cast<int64_t>(options[k][0]->size() + options[i][0]->size())));
    }
  }
  return absl::OkStatus();
}

/// True if it can be shown that no value of `draft` satisfies both `a` and `b`.
bool CaseExpander::Exclude(const Draft& draft, const Conjunction& a, const Conjunction& b,
                           const Conjunction& path) {
  Draft both = draft;
  both.choices.clear();
  both.roots.clear();  // they contain the oneOf, whose options are not known to exclude each other
  const Choice choice{{a, b}, path, nullptr};
  ++proof_depth_;
  bool excluded = Take(choice, 0, both).ok() && Take(choice, 1, both).ok();
  if (excluded) {
    const auto cases = Finish(std::move(both));
    excluded = cases.ok() && std::ranges::all_of(*cases, is_empty_);
  }
  --proof_depth_;
  return excluded;
}

/// Returns {"not": schema}.
Schema CaseExpander::Negated(Schema schema) {
  const auto [found, is_new] = negated_.try_emplace(schema);
  if (is_new) {
    ordered_json negation;
    negation["not"] = *schema;
    found->second = document_.Add(std::move(negation), schema);
  }
  return found->second;
}

}  // namespace shortlist
