#include "grammar/json_schema_compiler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/json_schema_keywords.h"
#include "grammar/json_schema_members.h"
#include "grammar/json_schema_number.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxRules = 20'000;
constexpr size_t kMaxPrefixItems = 1'000;

/// True if `schema` accepts everything, as {} does.
bool IsTrivial(Schema schema) {
  if (schema->is_boolean()) return schema->get<bool>();
  if (!schema->is_object()) return false;
  for (const auto& [keyword, unused] : schema->items()) {
    if (!IsAnnotation(keyword)) return false;
  }
  return true;
}

/// Adds the bound of a keyword of `schema`, if it has that.
absl::Status AddBound(const SchemaDocument& document, Schema schema, const char* keyword,
                      bool is_minimum, bool exclusive, std::vector<NumberBound>& bounds) {
  SHORTLIST_ASSIGN_OR_RETURN(const Schema bound, NumberOf(document, schema, keyword));
  if (bound == nullptr) return absl::OkStatus();
  const bool negative = bound->get<double>() < 0;
  bounds.push_back({DecimalOf(*bound, /*away_from_zero=*/negative != is_minimum), exclusive});
  return absl::OkStatus();
}

absl::StatusOr<NumberLimits> NumberLimitsOf(const SchemaDocument& document,
                                            const Conjunction& parts) {
  NumberLimits limits;
  for (const Schema part : parts) {
    SHORTLIST_RETURN_IF_ERROR(
        AddBound(document, part, "minimum", true, /*exclusive=*/false, limits.minimums));
    SHORTLIST_RETURN_IF_ERROR(
        AddBound(document, part, "exclusiveMinimum", true, /*exclusive=*/true, limits.minimums));
    SHORTLIST_RETURN_IF_ERROR(
        AddBound(document, part, "maximum", false, /*exclusive=*/false, limits.maximums));
    SHORTLIST_RETURN_IF_ERROR(
        AddBound(document, part, "exclusiveMaximum", false, /*exclusive=*/true, limits.maximums));
    SHORTLIST_ASSIGN_OR_RETURN(const Schema multiple, NumberOf(document, part, "multipleOf"));
    if (multiple == nullptr) continue;
    if (multiple->get<double>() <= 0) return document.Error(part, "multipleOf", "not above 0");
    limits.multiples.push_back(DecimalOf(*multiple));
  }
  return limits;
}

/// A part that has the keyword, for messages.
Schema PartWith(const Conjunction& parts, const char* keyword) {
  const auto found =
      std::ranges::find_if(parts, [&](Schema part) { return Find(part, keyword) != nullptr; });
  return found == parts.end() ? parts.front() : *found;
}

}  // namespace

absl::StatusOr<CountLimits> CountLimitsOf(const SchemaDocument& document, const Conjunction& parts,
                                          const char* min_keyword, const char* max_keyword) {
  CountLimits limits;
  for (const Schema part : parts) {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t min, CountOf(document, part, min_keyword, 0));
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t max,
                               CountOf(document, part, max_keyword, Expressions::kNoLimit));
    limits.min = std::max(limits.min, min);
    limits.max = std::min(limits.max, max);
  }
  return limits;
}

SchemaCompiler::SchemaCompiler(SchemaDocument document, int max_white_space,
                               Expressions& expressions)
    : expressions_(expressions),
      document_(std::move(document)),
      text_(expressions, max_white_space),
      strings_(document_, text_, expressions),
      validator_(document_, strings_),
      expander_(document_, validator_,
                [this](const SchemaCase& schema_case) { return IsEmpty(schema_case); }) {}

absl::StatusOr<ExprId> SchemaCompiler::Compile() {
  const ExprId root = ValueOf({document_.root()});
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules_.size() > kMaxRules) {
      return absl::InvalidArgumentError(
          absl::StrCat("the schema needs more than ", kMaxRules, " rules"));
    }
    SHORTLIST_RETURN_IF_ERROR(DefineRule(Rule(rules_[i])));
    if (expressions_.is_full()) {
      return absl::InvalidArgumentError("the schema needs too much memory");
    }
  }
  const std::string problem = expressions_.Check(root);
  if (!problem.empty()) return absl::InvalidArgumentError(absl::StrCat("schema: ", problem));
  SHORTLIST_RETURN_IF_ERROR(CheckSatisfiable(root));
  return root;
}

/// Reports the last rule without a value: rules that need it come before it.
absl::Status SchemaCompiler::CheckSatisfiable(ExprId root) {
  if (expressions_.IsProductive(root)) return absl::OkStatus();
  for (size_t i = rules_.size(); i-- > 0;) {
    const Rule& rule = rules_[i];
    if (expressions_.IsProductive(rule.call)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("no value satisfies the schema, nor its part at ",
                     document_.PointerOf(rule.schemas.front())));
  }
  return absl::InvalidArgumentError("no value satisfies the schema");
}

ExprId SchemaCompiler::ValueOf(const Conjunction& schemas) {
  Conjunction needed;
  for (const Schema schema : schemas) {
    if (!IsTrivial(schema) && std::ranges::find(needed, schema) == needed.end()) {
      needed.push_back(schema);
    }
  }
  if (needed.empty()) return text_.AnyValue();
  const auto [found, is_new] = calls_.try_emplace(needed);
  if (is_new) {
    const RuleId rule = expressions_.NewRule(absl::StrCat("value ", rules_.size()));
    found->second = expressions_.Call(rule);
    rules_.push_back({rule, found->second, std::move(needed)});
  }
  return found->second;
}

absl::Status SchemaCompiler::DefineRule(const Rule& rule) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<SchemaCase> cases, expander_.Expand(rule.schemas));
  std::vector<ExprId> options;
  for (const SchemaCase& schema_case : cases) {
    SHORTLIST_ASSIGN_OR_RETURN(options.emplace_back(), CaseTexts(schema_case));
  }
  expressions_.Define(rule.id, expressions_.Choice(options));
  return absl::OkStatus();
}

absl::StatusOr<ExprId> SchemaCompiler::CaseTexts(const SchemaCase& schema_case) {
  if (schema_case.values.has_value()) return ValueTexts(*schema_case.values);
  const JsonTypes types = schema_case.types;
  const Conjunction& parts = schema_case.parts;
  std::vector<ExprId> options;
  if ((types & kNullType) != 0) options.push_back(expressions_.Text("null"));
  if ((types & kBooleanType) != 0) {
    options.push_back(expressions_.Choice(expressions_.Text("true"), expressions_.Text("false")));
  }
  if ((types & kNumberType) != 0) {
    SHORTLIST_ASSIGN_OR_RETURN(options.emplace_back(), NumberTextsOf(parts, types));
  }
  if ((types & kStringType) != 0) {
    SHORTLIST_ASSIGN_OR_RETURN(const ExprId strings,
                               strings_.Strings(parts, /*one_spelling=*/false));
    options.push_back(text_.Quoted(strings));
  }
  if ((types & kArrayType) != 0) {
    SHORTLIST_ASSIGN_OR_RETURN(options.emplace_back(), ArrayTexts(parts));
  }
  if ((types & kObjectType) != 0) {
    SHORTLIST_ASSIGN_OR_RETURN(options.emplace_back(), ObjectTexts(*this, parts));
  }
  return expressions_.Choice(options);
}

ExprId SchemaCompiler::ValueTexts(const std::vector<ordered_json>& values) {
  std::vector<std::string> scalars;
  std::vector<ExprId> options;
  for (const ordered_json& value : values) {
    if (value.is_structured()) {
      options.push_back(text_.Literal(value));
    } else {
      scalars.push_back(
          value.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace));
    }
  }
  options.push_back(text_.AnyOf(std::move(scalars)));
  return expressions_.Choice(options);
}

absl::StatusOr<ExprId> SchemaCompiler::NumberTextsOf(const Conjunction& parts, JsonTypes types) {
  SHORTLIST_ASSIGN_OR_RETURN(NumberLimits limits, NumberLimitsOf(document_, parts));
  limits.types = types & kNumberType;
  if (limits.empty() && limits.types == kIntegerType) return text_.Integer();
  if (limits.empty() && limits.types == kNumberType) return text_.Number();
  const absl::StatusOr<ExprId> texts = NumberTexts(expressions_, limits);
  if (texts.ok()) return *texts;
  return document_.Error(PartWith(parts, "multipleOf"), "multipleOf",
                         std::string(texts.status().message()));
}

absl::StatusOr<ExprId> SchemaCompiler::ArrayTexts(const Conjunction& parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const CountLimits limits,
                             CountLimitsOf(document_, parts, "minItems", "maxItems"));
  if (limits.min > limits.max) return expressions_.Nothing();
  int64_t num_first = 0;  // items that may differ from those after them
  for (const Schema part : parts) {
    num_first = std::max(num_first, static_cast<int64_t>(NumPrefixItems(part)));
  }
  num_first = std::min(num_first, limits.max);
  if (num_first > static_cast<int64_t>(kMaxPrefixItems)) {
    return document_.Error(PartWith(parts, "prefixItems"), "prefixItems",
                           absl::StrCat("more than ", kMaxPrefixItems, " items"));
  }
  const auto item_at = [&](int64_t index) {
    Conjunction schemas;
    for (const Schema part : parts) {
      const Schema item = ItemSchema(part, static_cast<size_t>(index));
      if (item != nullptr) schemas.push_back(item);
    }
    return ValueOf(schemas);
  };
  // The items from `index` on, with the comma before them, from the last to the first.
  const auto some = [&](ExprId items, int64_t index) {
    return index >= limits.min ? expressions_.Optional(items) : items;
  };
  const int64_t min_more = std::max<int64_t>(limits.min - std::max<int64_t>(num_first, 1), 0);
  const int64_t max_more = limits.max == Expressions::kNoLimit
                               ? limits.max
                               : std::max<int64_t>(limits.max - std::max<int64_t>(num_first, 1), 0);
  const ExprId item = item_at(num_first);
  ExprId items =
      expressions_.Repeat(expressions_.Sequence(text_.Comma(), item), min_more, max_more);
  for (int64_t i = num_first - 1; i > 0; --i) {
    items = some(expressions_.Sequence(std::vector{text_.Comma(), item_at(i), items}), i);
  }
  if (limits.max == 0) return text_.Array(expressions_.Empty());
  const ExprId first = num_first == 0 ? item : item_at(0);
  return text_.Array(some(expressions_.Sequence(first, items), 0));
}

absl::StatusOr<ExprId> SchemaCompiler::StringsOf(const Conjunction& schemas) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<SchemaCase> cases, expander_.Expand(schemas));
  std::vector<ExprId> options;
  for (const SchemaCase& schema_case : cases) {
    if (schema_case.values.has_value()) {
      std::vector<std::string> texts;
      for (const ordered_json& value : *schema_case.values) {
        if (value.is_string()) texts.push_back(JsonText::Escape(value.get<std::string>()));
      }
      options.push_back(text_.AnyOf(std::move(texts)));
    } else if ((schema_case.types & kStringType) != 0) {
      SHORTLIST_ASSIGN_OR_RETURN(options.emplace_back(),
                                 strings_.Strings(schema_case.parts, /*one_spelling=*/true));
    }
  }
  return expressions_.Choice(options);
}

bool SchemaCompiler::IsEmpty(const SchemaCase& schema_case) {
  if (schema_case.values.has_value()) return schema_case.values->empty();
  const JsonTypes types = schema_case.types;
  if ((types & (kNullType | kBooleanType)) != 0) return false;
  if ((types & kNumberType) != 0) {
    const auto numbers = NumberTextsOf(schema_case.parts, types);
    if (!numbers.ok() || expressions_.IsProductive(*numbers)) return false;
  }
  if ((types & kStringType) != 0) {
    const auto strings = strings_.Strings(schema_case.parts, /*one_spelling=*/false);
    if (!strings.ok() || expressions_.IsProductive(*strings)) return false;
  }
  if ((types & kArrayType) != 0 && !HasNoArray(schema_case.parts)) return false;
  return (types & kObjectType) == 0 || HasNoObject(schema_case.parts);
}

bool SchemaCompiler::HasNoArray(const Conjunction& parts) {
  constexpr int64_t kMaxItemsToTry = 8;
  const auto limits = CountLimitsOf(document_, parts, "minItems", "maxItems");
  if (!limits.ok()) return false;
  if (limits->min > limits->max) return true;
  for (int64_t i = 0; i < std::min(limits->min, kMaxItemsToTry); ++i) {
    Conjunction schemas;
    for (const Schema part : parts) {
      const Schema item = ItemSchema(part, static_cast<size_t>(i));
      if (item != nullptr) schemas.push_back(item);
    }
    if (expander_.IsUnsatisfiable(schemas)) return true;
  }
  return false;
}

bool SchemaCompiler::HasNoObject(const Conjunction& parts) {
  const auto limits = CountLimitsOf(document_, parts, "minProperties", "maxProperties");
  const auto names = RequiredNames(document_, parts);
  if (!limits.ok() || !names.ok()) return false;
  if (limits->min > limits->max || static_cast<int64_t>(names->size()) > limits->max) return true;
  for (const std::string& name : *names) {
    Conjunction schemas;
    for (const Schema part : parts) {
      const auto members = MemberSchemas(document_, strings_, part, name);
      if (!members.ok()) return false;
      schemas.insert(schemas.end(), members->begin(), members->end());
    }
    if (expander_.IsUnsatisfiable(schemas)) return true;
  }
  return false;
}

}  // namespace shortlist
