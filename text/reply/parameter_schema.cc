#include "text/reply/parameter_schema.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"

namespace shortlist {
namespace {

constexpr int kMaxReferences = 8;  // that are followed in a row
constexpr int kMaxAlternativeDepth = 3;
constexpr size_t kMaxAlternatives = 16;

// Keywords that limit no value.
constexpr std::string_view kAnnotations[] = {
    "title",     "description", "default", "example", "examples", "deprecated",  "readOnly",
    "writeOnly", "$comment",    "$schema", "$id",     "$defs",    "definitions", "enumNames"};

// Members whose values are no schemas.
constexpr std::string_view kValueKeywords[] = {"const", "enum", "default", "example", "examples"};

// Members whose values have a schema for each name.
constexpr std::string_view kNamesKeywords[] = {"properties", "patternProperties",
                                               "dependentSchemas", "$defs", "definitions"};

template <typename List>
bool Lists(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool IsAnnotation(std::string_view keyword) {
  return keyword.starts_with("x-") || Lists(kAnnotations, keyword);
}

bool IsOfDefinitions(std::string_view reference) {
  return reference.starts_with("#/$defs/") || reference.starts_with("#/definitions/");
}

// Calls `visit` for the text of each reference in `schema`. has_names: its members are schemas with
// names of their own.
template <typename Json, typename Visit>
void ForEachReference(Json& schema, const Visit& visit, bool has_names = false) {
  if (!schema.is_structured()) return;
  if (schema.is_array()) {
    for (auto& item : schema) ForEachReference(item, visit);
    return;
  }
  for (auto& [name, member] : schema.items()) {
    if (has_names) {
      ForEachReference(member, visit);
    } else if (name == "$ref" && member.is_string()) {
      visit(member);
    } else if (!Lists(kValueKeywords, name)) {
      ForEachReference(member, visit, Lists(kNamesKeywords, name));
    }
  }
}

// Makes references to "#..." name the copy of the old document in "$defs".
void MoveReferences(TagJson& schema) {
  ForEachReference(schema, [](TagJson& reference) {
    const std::string text = reference.get<std::string>();
    if (text == "#" || text.starts_with("#/")) reference = "#/$defs/arguments" + text.substr(1);
  });
}

TagJson WithDefinitions(TagJson part, const TagJson& root) {
  bool has_reference = false, is_simple = true;
  const auto note = [&](const TagJson& reference) {
    has_reference = true;
    is_simple &= IsOfDefinitions(reference.get_ref<const std::string&>());
  };
  ForEachReference(part, note);
  if (!has_reference || !part.is_object()) return part;
  ForEachReference(root, note);
  if (is_simple) {
    for (const char* key : {"$defs", "definitions"}) {
      if (root.contains(key)) part[key] = root[key];
    }
    return part;
  }
  TagJson moved = root;
  MoveReferences(moved);
  MoveReferences(part);
  part["$defs"] = {{"arguments", std::move(moved)}};
  return part;
}

// Bounds the documents of all parameters, each of which may repeat the definitions.
absl::Status CheckSize(const TagJson& schema) {
  constexpr size_t kMaxBytes = size_t{4} << 20;
  size_t num_documents = 0;
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return absl::OkStatus();
  for (const auto& [name, property] : properties->items()) {
    bool has_reference = false;
    ForEachReference(property, [&](const TagJson&) { has_reference = true; });
    num_documents += has_reference ? 1 : 0;
  }
  if (num_documents == 0) return absl::OkStatus();
  const size_t num_bytes =
      schema.dump(-1, ' ', /*ensure_ascii=*/false, TagJson::error_handler_t::replace).size();
  if (num_bytes <= kMaxBytes / num_documents) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(num_documents, " properties with references are too many for a schema of ",
                   num_bytes, " bytes"));
}

// What the reference `schema` names in `root`; null: `schema` is no mere reference.
const TagJson* Referred(const TagJson& schema, const TagJson& root) {
  if (!schema.is_object() || !schema.contains("$ref") || !HasOnly(schema, {"$ref"})) return nullptr;
  const TagJson& reference = schema["$ref"];
  if (!reference.is_string() || !reference.get_ref<const std::string&>().starts_with("#/")) {
    return nullptr;
  }
  try {
    const TagJson::json_pointer pointer(reference.get<std::string>().substr(1));
    if (!root.contains(pointer)) return nullptr;
    const TagJson& referred = root.at(pointer);
    return referred.is_object() || referred.is_boolean() ? &referred : nullptr;
  } catch (const TagJson::exception&) {
    return nullptr;
  }
}

}  // namespace

bool HasOnly(const TagJson& schema, std::vector<std::string_view> others) {
  if (!schema.is_object()) return schema == true;
  for (const auto& [name, unused] : schema.items()) {
    if (!IsAnnotation(name) && !Lists(others, name)) return false;
  }
  return true;
}

TagJson DocumentOf(const TagJson& part, const TagJson& root) {
  const TagJson* schema = &part;
  for (int i = 0; i < kMaxReferences; ++i) {
    const TagJson* const referred = Referred(*schema, root);
    if (referred == nullptr) break;
    schema = referred;
  }
  return schema == &root ? root : WithDefinitions(*schema, root);
}

std::vector<std::string> ArgumentNames(const TagJson& schema) {
  std::vector<std::string> names;
  if (!schema.is_object()) return names;
  const TagJson properties = schema.value("properties", TagJson::object());
  if (properties.is_object()) {
    for (const auto& [name, property] : properties.items()) names.push_back(name);
  }
  for (const TagJson& name : schema.value("required", TagJson::array())) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

std::vector<Parameter> ParametersOf(const TagJson& schema) {
  std::vector<Parameter> parameters;
  if (!schema.is_object()) return parameters;
  const TagJson properties = schema.value("properties", TagJson::object());
  const TagJson required = schema.value("required", TagJson::array());
  std::set<std::string> unlisted;
  for (const TagJson& name : required) {
    if (name.is_string()) unlisted.insert(name.get<std::string>());
  }
  const auto add = [&](const std::string& name, const TagJson& property, bool is_required) {
    parameters.push_back({.name = name,
                          .schema = DocumentOf(property, schema),
                          .types = TypesOfSchema(property, schema),
                          .is_required = is_required});
  };
  if (properties.is_object()) {
    for (const auto& [name, property] : properties.items()) {
      add(name, property, /*is_required=*/unlisted.erase(name) != 0);
    }
  }
  for (const std::string& name : unlisted) add(name, TagJson::object(), /*is_required=*/true);
  return parameters;
}

absl::Status CheckArgumentsSchema(const TagJson& schema) {
  if (!schema.is_object()) return absl::OkStatus();
  for (const auto& [name, member] : schema.items()) {
    // `additionalProperties` that are allowed are left out.
    const bool is_known = name == "type" || name == "properties" || name == "required" ||
                          name == "additionalProperties";
    if (is_known || IsAnnotation(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the model's format for calls cannot follow the keyword \"", Excerpt(name),
                     "\" of all arguments"));
  }
  // Each one takes several formats of a structural tag, which has at most 10,000.
  constexpr size_t kMaxArguments = 2'500;
  if (const size_t count = ArgumentNames(schema).size(); count > kMaxArguments) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " arguments are more than ", kMaxArguments));
  }
  return CheckSize(schema);
}

bool AcceptsWholeTypes(const TagJson& schema, int depth) {
  if (HasOnly(schema, {"type"})) return true;
  if (depth == kMaxAlternativeDepth) return false;
  const std::vector<TagJson> alternatives = AlternativesOf(schema);
  return !alternatives.empty() &&
         std::all_of(alternatives.begin(), alternatives.end(), [&](const TagJson& alternative) {
           return AcceptsWholeTypes(alternative, depth + 1);
         });
}

TagJson StringsOnly(const TagJson& schema) {
  std::vector<TagJson> strings;
  for (TagJson& alternative : AlternativesOf(schema)) {
    const TypeBits types = TypesOfSchema(alternative, alternative);
    if (types == 0 || (types & kStringType) != 0) strings.push_back(std::move(alternative));
  }
  const bool is_one = strings.size() == 1 && TypesOfSchema(strings[0], strings[0]) == kStringType;
  if (is_one) return strings[0];
  TagJson only = schema.is_object() ? schema : TagJson::object();
  only["type"] = "string";
  return only;
}

TagJson WithoutStrings(const TagJson& schema) {
  TagJson others = schema.is_object() ? schema : TagJson::object();
  TagJson types = {"null", "boolean", "number", "array", "object"};
  if (others.contains("type") && others["type"].is_array()) {
    types = others["type"];
    types.erase(std::remove(types.begin(), types.end(), "string"), types.end());
  } else if (others.contains("anyOf") && others["anyOf"].is_array()) {
    TagJson parts = TagJson::array();
    for (const TagJson& part : others["anyOf"]) {
      if (TypesOfSchema(part, schema) != kStringType) parts.push_back(part);
    }
    const bool is_clean =
        !parts.empty() && std::none_of(parts.begin(), parts.end(), [&](auto& part) {
          const TypeBits bits = TypesOfSchema(part, schema);
          return bits == 0 || (bits & kStringType) != 0;
        });
    if (is_clean) {
      others["anyOf"] = std::move(parts);
      return others;
    }
  }
  others["type"] = std::move(types);
  return others;
}

std::vector<std::string> FixedTexts(const TagJson& schema) {
  std::vector<std::string> texts;
  if (!schema.is_object() || !HasOnly(schema, {"type", "enum", "const"}) ||
      schema.value("type", TagJson("string")) != "string") {
    return texts;
  }
  if (schema.contains("const")) {
    if (schema.contains("enum") || !schema["const"].is_string()) return texts;
    return {schema["const"].get<std::string>()};
  }
  if (!schema.contains("enum") || !schema["enum"].is_array()) return texts;
  for (const TagJson& value : schema["enum"]) {
    if (!value.is_string()) return {};
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

std::vector<std::string> FixedTextsWithin(const TagJson& schema, int depth) {
  std::vector<std::string> texts = FixedTexts(schema);
  const bool is_mixed = texts.empty() && schema.is_object() && schema.contains("enum") &&
                        HasOnly(schema, {"type", "enum"}) && schema["enum"].is_array() &&
                        (TypesOfSchema(schema, schema) & kStringType) != 0;
  if (is_mixed) {
    for (const TagJson& value : schema["enum"]) {
      if (value.is_string()) texts.push_back(value.get<std::string>());
    }
  }
  if (depth == kMaxAlternativeDepth) return texts;
  for (const TagJson& alternative : AlternativesOf(schema)) {
    for (std::string& text : FixedTextsWithin(alternative, depth + 1)) {
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

std::vector<TagJson> AlternativesOf(const TagJson& schema) {
  std::vector<TagJson> alternatives;
  if (!schema.is_object()) return alternatives;
  if (schema.contains("anyOf") && HasOnly(schema, {"anyOf"}) && schema["anyOf"].is_array() &&
      schema["anyOf"].size() <= kMaxAlternatives) {
    for (const TagJson& part : schema["anyOf"]) {
      alternatives.push_back(DocumentOf(part, schema));
    }
  } else if (schema.contains("type") && HasOnly(schema, {"type"}) && schema["type"].is_array()) {
    for (const TagJson& type : schema["type"]) alternatives.push_back({{"type", type}});
  }
  return alternatives;
}

}  // namespace shortlist
