#include "grammar/json_schema_validator.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/decimal.h"
#include "grammar/json_schema_keywords.h"
#include "grammar/json_schema_members.h"

namespace shortlist {
namespace {

constexpr int kMaxValidationDepth = 256;

bool IsOneOf(const std::string& text, std::initializer_list<std::string_view> options) {
  return std::ranges::find(options, text) != options.end();
}

}  // namespace

absl::StatusOr<bool> SchemaValidator::AcceptsOption(const Conjunction& schemas, const Value& value,
                                                    Schema options) {
  options_ = options;
  option_ = &value;
  for (const Schema schema : schemas) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, Accepts(schema, value));
    if (!accepts) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaValidator::Accepts(Schema schema, const Value& value) {
  if (schema->is_boolean()) return schema->get<bool>();
  if (!schema->is_object()) return document_.Error(schema, "", "neither an object nor a boolean");
  SHORTLIST_RETURN_IF_ERROR(
      document_.Spend(1 + static_cast<int64_t>((schema->size() + value.size()) / 16)));
  if (depth_ == kMaxValidationDepth) {
    return document_.Error(schema, "$ref", "references nest too deep");
  }
  ++depth_;
  absl::StatusOr<bool> result = AcceptsObject(schema, value);
  --depth_;
  return result;
}

absl::StatusOr<bool> SchemaValidator::AcceptsObject(Schema schema, const Value& value) {
  const JsonTypes type = TypeOf(value);
  for (const auto& [keyword, unused] : schema->items()) {
    if (IsAnnotation(keyword)) continue;
    const auto types = TypesOfKeyword(keyword);
    if (!types.has_value()) return document_.Error(schema, keyword, "not supported");
    if ((*types & type) == 0) continue;
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, CheckKeyword(schema, keyword, value));
    if (!accepts) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaValidator::CheckKeyword(Schema schema, const std::string& keyword,
                                                   const Value& value) {
  const Value& argument = schema->at(keyword);
  if (keyword == "type") {
    SHORTLIST_ASSIGN_OR_RETURN(const JsonTypes types, TypesOf(document_, schema));
    return (types & TypeOf(value)) != 0;
  }
  if (&argument == options_ && &value == option_) return true;
  if (keyword == "const") {
    SHORTLIST_RETURN_IF_ERROR(document_.Spend(NumNodes(argument) / 16));
    return EqualValues(argument, value);
  }
  if (keyword == "enum") {
    SHORTLIST_ASSIGN_OR_RETURN(const Schema options, ArrayOf(document_, schema, "enum"));
    SHORTLIST_RETURN_IF_ERROR(document_.Spend(NumNodes(*options) / 16));
    return std::ranges::any_of(*options,
                               [&](const Value& option) { return EqualValues(option, value); });
  }
  switch (*TypesOfKeyword(keyword)) {
    case kNumberType:
      return CheckNumber(schema, keyword, value);
    case kArrayType:
      return CheckArray(schema, keyword, value);
    case kObjectType:
      return CheckObject(schema, keyword, value);
    case kStringType:
      return CheckString(schema, keyword, value);
    default:
      return CheckLogic(schema, keyword, value);
  }
}

absl::StatusOr<bool> SchemaValidator::CheckString(Schema schema, const std::string& keyword,
                                                  const Value& value) {
  const auto& text = value.get_ref<const std::string&>();
  if (keyword == "pattern") {
    SHORTLIST_ASSIGN_OR_RETURN(const Schema pattern, StringOf(document_, schema, "pattern"));
    return Matches(schema, pattern->get<std::string>(), text);
  }
  if (keyword == "format") return CheckFormat(schema, text);
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t count, CountOf(document_, schema, keyword.c_str(), 0));
  return keyword == "minLength" ? CountCodePoints(text) >= count : CountCodePoints(text) <= count;
}

absl::StatusOr<bool> SchemaValidator::Matches(Schema schema, const std::string& pattern,
                                              const std::string& text) {
  SHORTLIST_ASSIGN_OR_RETURN(const ExprId strings, strings_.PatternStrings(schema, pattern));
  return strings_.Contains(strings, text);
}

/// A format is narrower here than a standard may have it, so its complement is not known.
absl::StatusOr<bool> SchemaValidator::CheckFormat(Schema schema, const std::string& text) {
  if (negations_ > 0) {
    return document_.Error(schema, "format", "not supported inside not, if and oneOf");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const StringFormat* const format, strings_.FormatOf(schema));
  if (format == nullptr) return true;
  if (CountCodePoints(text) > format->max_length) return false;
  return Matches(schema, format->pattern, text);
}

absl::StatusOr<int> SchemaValidator::CountAccepting(Schema schemas, const Value& value) {
  int count = 0;
  for (const Value& schema : *schemas) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, Accepts(&schema, value));
    count += accepts;
  }
  return count;
}

absl::StatusOr<bool> SchemaValidator::CheckLogic(Schema schema, const std::string& keyword,
                                                 const Value& value) {
  const bool negates = IsOneOf(keyword, {"not", "if", "oneOf"});
  negations_ += negates;
  absl::StatusOr<bool> result = CheckJoined(schema, keyword, value);
  negations_ -= negates;
  return result;
}

absl::StatusOr<bool> SchemaValidator::CheckJoined(Schema schema, const std::string& keyword,
                                                  const Value& value) {
  if (keyword == "$ref") {
    SHORTLIST_ASSIGN_OR_RETURN(const Schema target, document_.Resolve(schema));
    return Accepts(target, value);
  }
  if (keyword == "not") {
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, Accepts(&schema->at(keyword), value));
    return !accepts;
  }
  if (keyword == "if") return CheckCondition(schema, value);
  if (IsOneOf(keyword, {"then", "else"})) return true;  // with "if"
  SHORTLIST_ASSIGN_OR_RETURN(const Schema options, ArrayOf(document_, schema, keyword.c_str()));
  SHORTLIST_ASSIGN_OR_RETURN(const int count, CountAccepting(options, value));
  if (keyword == "allOf") return count == static_cast<int>(options->size());
  return keyword == "oneOf" ? count == 1 : count > 0;
}

absl::StatusOr<bool> SchemaValidator::CheckCondition(Schema schema, const Value& value) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool holds, Accepts(&schema->at("if"), value));
  const Schema next = Find(schema, holds ? "then" : "else");
  if (next == nullptr) return true;
  return Accepts(next, value);
}

absl::StatusOr<bool> SchemaValidator::CheckNumber(Schema schema, const std::string& keyword,
                                                  const Value& value) {
  SHORTLIST_ASSIGN_OR_RETURN(const Schema argument, NumberOf(document_, schema, keyword.c_str()));
  const Decimal number = DecimalOf(value);
  const Decimal bound = DecimalOf(*argument);
  if (keyword == "multipleOf") {
    const auto is_multiple = IsMultiple(number, bound);
    if (is_multiple.has_value()) return *is_multiple;
    return document_.Error(schema, keyword, "not above 0, or of too many digits");
  }
  const auto order = Compare(number, bound);
  if (keyword == "minimum") return order >= 0;
  if (keyword == "maximum") return order <= 0;
  return keyword == "exclusiveMinimum" ? order > 0 : order < 0;
}

absl::StatusOr<bool> SchemaValidator::CheckArray(Schema schema, const std::string& keyword,
                                                 const Value& value) {
  const int64_t size = static_cast<int64_t>(value.size());
  if (IsOneOf(keyword, {"minItems", "maxItems"})) {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t count, CountOf(document_, schema, keyword.c_str(), 0));
    return keyword == "minItems" ? size >= count : size <= count;
  }
  if (IsOneOf(keyword, {"items", "prefixItems", "additionalItems"})) {
    return CheckItems(schema, value);
  }
  if (keyword == "contains") return CheckContains(schema, value);
  if (keyword != "uniqueItems" || schema->at(keyword) != true) return true;
  SHORTLIST_RETURN_IF_ERROR(document_.Spend(size * size + size * NumNodes(value) / 16));
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t k = 0; k < i; ++k) {
      if (EqualValues(value[i], value[k])) return false;
    }
  }
  return true;
}

absl::StatusOr<bool> SchemaValidator::CheckItems(Schema schema, const Value& value) {
  for (size_t i = 0; i < value.size(); ++i) {
    const Schema item = ItemSchema(schema, i);
    if (item == nullptr) continue;
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, Accepts(item, value[i]));
    if (!accepts) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaValidator::CheckContains(Schema schema, const Value& value) {
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t min, CountOf(document_, schema, "minContains", 1));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t max,
                             CountOf(document_, schema, "maxContains", Expressions::kNoLimit));
  int64_t count = 0;
  for (const Value& item : value) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, Accepts(&schema->at("contains"), item));
    count += accepts;
  }
  return min <= count && count <= max;
}

absl::StatusOr<bool> SchemaValidator::HasAll(Schema schema, const std::string& keyword,
                                             const Value& names, const Value& value) {
  SHORTLIST_RETURN_IF_ERROR(
      document_.Spend(static_cast<int64_t>(names.size() * (1 + value.size() / 16))));
  for (const Value& name : names) {
    if (!name.is_string()) return document_.Error(schema, keyword, "not a list of names");
    if (!value.contains(name.get_ref<const std::string&>())) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaValidator::CheckDependencies(Schema schema, const std::string& keyword,
                                                        const Value& value) {
  SHORTLIST_ASSIGN_OR_RETURN(const Schema needs, ObjectOf(document_, schema, keyword.c_str()));
  SHORTLIST_RETURN_IF_ERROR(
      document_.Spend(static_cast<int64_t>(needs->size() * (1 + value.size() / 16))));
  for (const auto& [name, needed] : needs->items()) {
    if (!value.contains(name)) continue;
    SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, needed.is_array()
                                                       ? HasAll(schema, keyword, needed, value)
                                                       : Accepts(&needed, value));
    if (!accepts) return false;
  }
  return true;
}

absl::StatusOr<bool> SchemaValidator::CheckObject(Schema schema, const std::string& keyword,
                                                  const Value& value) {
  const int64_t size = static_cast<int64_t>(value.size());
  if (IsOneOf(keyword, {"minProperties", "maxProperties"})) {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t count, CountOf(document_, schema, keyword.c_str(), 0));
    return keyword == "minProperties" ? size >= count : size <= count;
  }
  if (keyword == "required") {
    SHORTLIST_ASSIGN_OR_RETURN(const Schema names, ArrayOf(document_, schema, "required"));
    return HasAll(schema, keyword, *names, value);
  }
  if (keyword == "propertyNames") {
    for (const auto& [name, unused] : value.items()) {
      SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, Accepts(&schema->at(keyword), Value(name)));
      if (!accepts) return false;
    }
    return true;
  }
  if (keyword.starts_with("depend")) return CheckDependencies(schema, keyword, value);
  return CheckProperties(schema, value);
}

absl::StatusOr<bool> SchemaValidator::CheckProperties(Schema schema, const Value& value) {
  for (const auto& [name, member] : value.items()) {
    SHORTLIST_ASSIGN_OR_RETURN(const Conjunction schemas,
                               MemberSchemas(document_, strings_, {schema}, name));
    for (const Schema member_schema : schemas) {
      SHORTLIST_ASSIGN_OR_RETURN(const bool accepts, Accepts(member_schema, member));
      if (!accepts) return false;
    }
  }
  return true;
}

}  // namespace shortlist
