#include "grammar/json_schema_compiler.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/json_schema_keywords.h"
#include "grammar/json_schema_members.h"
#include "grammar/json_schema_object.h"

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

}  // namespace

SchemaCompiler::SchemaCompiler(SchemaDocument document, int max_white_space,
                               Expressions& expressions)
    : expressions_(expressions),
      document_(std::move(document)),
      text_(expressions, max_white_space),
      strings_(document_, text_, expressions),
      numbers_(document_, text_, expressions),
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
        absl::StrCat("no value that a grammar can write satisfies the schema, nor its part at ",
                     document_.PointerOf(rule.schemas.front())));
  }
  return absl::InvalidArgumentError("no value that a grammar can write satisfies the schema");
}

ExprId SchemaCompiler::ValueOf(const Conjunction& schemas) {
  Conjunction needed;
  absl::flat_hash_set<Schema> seen;
  for (const Schema schema : schemas) {
    if (!IsTrivial(schema) && seen.insert(schema).second) needed.push_back(schema);
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
    SHORTLIST_ASSIGN_OR_RETURN(options.emplace_back(), numbers_.Numbers(parts, types));
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

absl::StatusOr<ExprId> SchemaCompiler::ValueTexts(const std::vector<const ordered_json*>& values) {
  std::vector<std::string> scalars;
  std::vector<ExprId> options;
  for (const ordered_json* value : values) {
    std::string text =
        value->dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
    SHORTLIST_RETURN_IF_ERROR(document_.Spend(static_cast<int64_t>(text.size() / 16)));
    if (value->is_structured()) {
      options.push_back(text_.Literal(*value));
    } else {
      scalars.push_back(std::move(text));
    }
  }
  options.push_back(text_.AnyOf(std::move(scalars)));
  return expressions_.Choice(options);
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
  if (limits.max == 0) return text_.Array(expressions_.Empty());
  SHORTLIST_RETURN_IF_ERROR(
      document_.Spend((1 + num_first) * static_cast<int64_t>(parts.size() / 4)));
  const auto item_at = [&](int64_t index) {
    return ValueOf(ItemSchemas(parts, static_cast<size_t>(index)));
  };
  // The items from `index` on, with the comma before them, from the last to the first.
  const auto some = [&](ExprId items, int64_t index) {
    return index >= limits.min ? expressions_.Optional(items) : items;
  };
  const int64_t num_before = std::max<int64_t>(num_first, 1);
  const int64_t min_more = std::max<int64_t>(limits.min - num_before, 0);
  const int64_t max_more =
      limits.max == Expressions::kNoLimit ? limits.max : limits.max - num_before;
  ExprId items = expressions_.Empty();
  if (max_more > 0) {
    const ExprId item = expressions_.Sequence(text_.Comma(), item_at(num_first));
    items = expressions_.Repeat(item, min_more, max_more);
  }
  for (int64_t i = num_first - 1; i > 0; --i) {
    items = some(expressions_.Sequence(std::vector{text_.Comma(), item_at(i), items}), i);
  }
  return text_.Array(some(expressions_.Sequence(item_at(0), items), 0));
}

absl::StatusOr<ExprId> SchemaCompiler::StringsOf(const Conjunction& schemas) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<SchemaCase> cases, expander_.Expand(schemas));
  std::vector<ExprId> options;
  for (const SchemaCase& schema_case : cases) {
    if (schema_case.values.has_value()) {
      std::vector<std::string> texts;
      for (const ordered_json* value : *schema_case.values) {
        if (value->is_string()) texts.push_back(JsonText::Escape(value->get<std::string>()));
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
  if ((types & kNumberType) != 0 && !numbers_.HasNone(schema_case.parts, types)) return false;
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
    if (expander_.IsUnsatisfiable(ItemSchemas(parts, static_cast<size_t>(i)))) return true;
  }
  return false;
}

bool SchemaCompiler::HasNoObject(const Conjunction& parts) {
  const auto limits = CountLimitsOf(document_, parts, "minProperties", "maxProperties");
  const auto names = RequiredNames(document_, parts);
  if (!limits.ok() || !names.ok()) return false;
  if (limits->min > limits->max || static_cast<int64_t>(names->size()) > limits->max) return true;
  for (const std::string& name : *names) {
    const auto schemas = MemberSchemas(document_, strings_, parts, name);
    if (!schemas.ok()) return false;
    if (expander_.IsUnsatisfiable(*schemas)) return true;
  }
  return false;
}

}  // namespace shortlist
