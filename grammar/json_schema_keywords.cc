#include "grammar/json_schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "grammar/decimal.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 24> kAnnotations = {
    "$anchor",          "$comment",    "$defs",           "$dynamicAnchor",   "$id",
    "$schema",          "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema",
    "default",          "definitions", "deprecated",      "description",      "discriminator",
    "enumDescriptions", "enumNames",   "example",         "examples",         "markdownDescription",
    "nullable",         "readOnly",    "title",           "writeOnly"};

struct Keyword {
  std::string_view name;
  JsonTypes types;
};
constexpr std::array<Keyword, 39> kKeywords = {{
    {"$ref", kAnyType},
    {"additionalItems", kArrayType},
    {"additionalProperties", kObjectType},
    {"allOf", kAnyType},
    {"anyOf", kAnyType},
    {"const", kAnyType},
    {"contains", kArrayType},
    {"dependencies", kObjectType},
    {"dependentRequired", kObjectType},
    {"dependentSchemas", kObjectType},
    {"else", kAnyType},
    {"enum", kAnyType},
    {"exclusiveMaximum", kNumberType},
    {"exclusiveMinimum", kNumberType},
    {"format", kStringType},
    {"if", kAnyType},
    {"items", kArrayType},
    {"maxContains", kArrayType},
    {"maxItems", kArrayType},
    {"maxLength", kStringType},
    {"maxProperties", kObjectType},
    {"maximum", kNumberType},
    {"minContains", kArrayType},
    {"minItems", kArrayType},
    {"minLength", kStringType},
    {"minProperties", kObjectType},
    {"minimum", kNumberType},
    {"multipleOf", kNumberType},
    {"not", kAnyType},
    {"oneOf", kAnyType},
    {"pattern", kStringType},
    {"patternProperties", kObjectType},
    {"prefixItems", kArrayType},
    {"properties", kObjectType},
    {"propertyNames", kObjectType},
    {"required", kObjectType},
    {"then", kAnyType},
    {"type", kAnyType},
    {"uniqueItems", kArrayType},
}};

constexpr std::array<std::pair<std::string_view, JsonTypes>, 7> kTypes = {{
    {"null", kNullType},
    {"boolean", kBooleanType},
    {"integer", kIntegerType},
    {"number", kNumberType},
    {"string", kStringType},
    {"array", kArrayType},
    {"object", kObjectType},
}};

std::optional<JsonTypes> TypeByName(const ordered_json& name) {
  if (!name.is_string()) return std::nullopt;
  for (const auto& [type_name, type] : kTypes) {
    if (name.get_ref<const std::string&>() == type_name) return type;
  }
  return std::nullopt;
}

bool EqualNumbers(const ordered_json& a, const ordered_json& b) {
  if (a.get<double>() != b.get<double>()) return false;
  return (a.is_number_float() && b.is_number_float()) || DecimalOf(a) == DecimalOf(b);
}

using Member = std::pair<std::string_view, const ordered_json*>;

/// The members of an object by name.
std::vector<Member> SortedMembers(const ordered_json& object) {
  std::vector<Member> members;
  for (const auto& [name, value] : object.get_ref<const ordered_json::object_t&>()) {
    members.emplace_back(name, &value);
  }
  std::ranges::sort(members);
  return members;
}

absl::StatusOr<Schema> OfKind(const SchemaDocument& document, Schema schema, const char* keyword,
                              bool (ordered_json::*is_kind)() const noexcept,
                              std::string_view kind) {
  const Schema value = Find(schema, keyword);
  if (value == nullptr || (value->*is_kind)()) return value;
  return document.Error(schema, keyword, std::string("not ").append(kind));
}

}  // namespace

JsonTypes TypeOf(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::null:
      return kNullType;
    case ordered_json::value_t::boolean:
      return kBooleanType;
    case ordered_json::value_t::string:
      return kStringType;
    case ordered_json::value_t::array:
      return kArrayType;
    case ordered_json::value_t::object:
      return kObjectType;
    case ordered_json::value_t::number_float: {
      const double number = value.get<double>();
      return std::floor(number) == number ? kIntegerType : kFractionType;
    }
    default:
      return kIntegerType;
  }
}

absl::StatusOr<JsonTypes> TypesOf(const SchemaDocument& document, Schema schema) {
  const Schema type = Find(schema, "type");
  const Schema nullable = Find(schema, "nullable");
  const bool has_nullable = nullable != nullptr && !nullable->is_null();
  if (has_nullable && !nullable->is_boolean()) {
    return document.Error(schema, "nullable", "not true or false");
  }
  if (type == nullptr) return kAnyType;
  const size_t num_names = type->is_array() ? type->size() : 1;
  if (num_names > kTypes.size()) {
    return document.Error(schema, "type", absl::StrCat("more than ", kTypes.size(), " types"));
  }
  JsonTypes types = 0;
  for (size_t i = 0; i < num_names; ++i) {
    const ordered_json& name = type->is_array() ? (*type)[i] : *type;
    const auto named = TypeByName(name);
    if (!named.has_value()) {
      const std::string text = name.is_string() ? name.get<std::string>() : name.type_name();
      return document.Error(schema, "type", absl::StrCat(Excerpt(text), " is no type"));
    }
    types |= *named;
  }
  return has_nullable && nullable->get<bool>() ? types | kNullType : types;
}

bool IsAnnotation(std::string_view keyword) {
  return keyword.starts_with("x-") ||
         std::ranges::find(kAnnotations, keyword) != kAnnotations.end();
}

std::optional<JsonTypes> TypesOfKeyword(std::string_view keyword) {
  const auto found = std::ranges::find(kKeywords, keyword, &Keyword::name);
  if (found == kKeywords.end()) return std::nullopt;
  return found->types;
}

Schema Find(Schema schema, const std::string& keyword) {
  if (!schema->is_object()) return nullptr;
  const auto found = schema->find(keyword);
  return found == schema->end() ? nullptr : &*found;
}

Schema PartWith(const Conjunction& parts, const char* keyword) {
  const auto found =
      std::ranges::find_if(parts, [&](Schema part) { return Find(part, keyword) != nullptr; });
  return found == parts.end() ? parts.front() : *found;
}

absl::StatusOr<int64_t> CountOf(const SchemaDocument& document, Schema schema, const char* keyword,
                                int64_t missing) {
  const Schema value = Find(schema, keyword);
  if (value == nullptr) return missing;
  constexpr double kMax = 1e15;
  const double count = value->is_number() ? value->get<double>() : -1;
  if (count < 0 || count != std::floor(count)) {
    return document.Error(schema, keyword, "not a count");
  }
  return static_cast<int64_t>(std::min(count, kMax));
}

absl::StatusOr<Schema> ObjectOf(const SchemaDocument& document, Schema schema,
                                const char* keyword) {
  return OfKind(document, schema, keyword, &ordered_json::is_object, "an object");
}
absl::StatusOr<Schema> ArrayOf(const SchemaDocument& document, Schema schema, const char* keyword) {
  return OfKind(document, schema, keyword, &ordered_json::is_array, "an array");
}
absl::StatusOr<Schema> StringOf(const SchemaDocument& document, Schema schema,
                                const char* keyword) {
  return OfKind(document, schema, keyword, &ordered_json::is_string, "a string");
}
absl::StatusOr<Schema> NumberOf(const SchemaDocument& document, Schema schema,
                                const char* keyword) {
  return OfKind(document, schema, keyword, &ordered_json::is_number, "a number");
}

bool EqualValues(const ordered_json& a, const ordered_json& b) {
  if (a.is_number() && b.is_number()) return EqualNumbers(a, b);
  if (a.type() != b.type()) return false;
  if (!a.is_structured()) return a == b;
  if (a.size() != b.size()) return false;
  if (a.is_array()) return std::ranges::equal(a, b, EqualValues);
  const auto members_a = SortedMembers(a);
  const auto members_b = SortedMembers(b);
  return std::ranges::equal(members_a, members_b, [](const Member& x, const Member& y) {
    return x.first == y.first && EqualValues(*x.second, *y.second);
  });
}

int64_t NumNodes(const ordered_json& value) {
  int64_t num_nodes = 1;
  if (!value.is_structured()) return num_nodes;
  for (const ordered_json& part : value) num_nodes += NumNodes(part);
  return num_nodes;
}

int64_t CountCodePoints(std::string_view text) {
  return std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; });
}

}  // namespace shortlist
