#include "grammar/json_schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 23> kAnnotations = {
    "$anchor",          "$comment",    "$defs",           "$dynamicAnchor",   "$id",
    "$schema",          "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema",
    "default",          "definitions", "deprecated",      "description",      "discriminator",
    "enumDescriptions", "enumNames",   "example",         "examples",         "markdownDescription",
    "readOnly",         "title",       "writeOnly"};

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

std::optional<JsonTypes> TypeByName(const ordered_json& name) {
  static constexpr std::array<std::pair<std::string_view, JsonTypes>, 7> kTypes = {{
      {"null", kNullType},
      {"boolean", kBooleanType},
      {"integer", kIntegerType},
      {"number", kNumberType},
      {"string", kStringType},
      {"array", kArrayType},
      {"object", kObjectType},
  }};
  if (!name.is_string()) return std::nullopt;
  for (const auto& [type_name, type] : kTypes) {
    if (name.get_ref<const std::string&>() == type_name) return type;
  }
  return std::nullopt;
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
  if (type == nullptr) return kAnyType;
  JsonTypes types = 0;
  for (const ordered_json& name : type->is_array() ? *type : ordered_json::array({*type})) {
    const auto named = TypeByName(name);
    if (!named.has_value()) {
      return document.Error(schema, "type", absl::StrCat(Excerpt(name.dump()), " is no type"));
    }
    types |= *named;
  }
  return types;
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
  if (!a.is_structured() || !b.is_structured()) return a == b;
  return nlohmann::json(a) == nlohmann::json(b);
}

int64_t CountCodePoints(std::string_view text) {
  return std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; });
}

}  // namespace shortlist
