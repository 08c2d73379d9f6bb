#include "text/reply/tool_types.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "text/reply/json_scanner.h"
#include "text/reply/mark_finder.h"

namespace shortlist {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxSchemaDepth = 8;  // of references and alternatives that are followed

TypeBits TypeNamed(const Json& type) {
  static const std::map<std::string_view, TypeBits> kTypes = {
      {"string", kStringType},   {"null", kNullType},     {"boolean", kBooleanType},
      {"integer", kIntegerType}, {"number", kNumberType}, {"array", kArrayType},
      {"object", kObjectType}};
  if (!type.is_string()) return kStringType | kOtherTypes;
  const auto found = kTypes.find(type.get_ref<const std::string&>());
  return found == kTypes.end() ? kOtherTypes : found->second;
}

TypeBits TypeOfValue(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string:
      return kStringType;
    case Json::value_t::null:
      return kNullType;
    case Json::value_t::boolean:
      return kBooleanType;
    case Json::value_t::number_float:
      return kFractionType;
    case Json::value_t::array:
      return kArrayType;
    case Json::value_t::object:
      return kObjectType;
    default:
      return kIntegerType;
  }
}

// The types of the values that "const" or "enum" lists; 0: neither is there.
TypeBits TypesOfValues(const Json& schema) {
  if (const auto value = schema.find("const"); value != schema.end()) {
    return TypeOfValue(*value);
  }
  TypeBits types = 0;
  if (const auto values = schema.find("enum"); values != schema.end() && values->is_array()) {
    for (const Json& value : *values) types |= TypeOfValue(value);
  }
  return types;
}

TypeBits TypesAt(const Json& schema, const Json& root, int depth) {
  if (!schema.is_object() || depth > kMaxSchemaDepth) return 0;
  const TypeBits of_values = TypesOfValues(schema);
  TypeBits types = 0;
  if (const auto type = schema.find("type"); type != schema.end()) {
    if (!type->is_array()) types = TypeNamed(*type);
    if (type->is_array()) {
      for (const Json& name : *type) types |= TypeNamed(name);
    }
    return (types & of_values) != 0 ? types & of_values : types;
  }
  if (of_values != 0) return of_values;
  if (const auto ref = schema.find("$ref"); ref != schema.end() && ref->is_string()) {
    const std::string text = ref->get<std::string>();
    if (text.empty() || text[0] != '#') return 0;
    try {
      const Json::json_pointer pointer(text.substr(1));
      if (root.contains(pointer)) return TypesAt(root.at(pointer), root, depth + 1);
    } catch (const Json::exception&) {
    }
    return 0;
  }
  for (const char* key : {"anyOf", "oneOf", "allOf"}) {
    const auto parts = schema.find(key);
    if (parts == schema.end() || !parts->is_array()) continue;
    for (const Json& part : *parts) {
      const TypeBits part_types = TypesAt(part, root, depth + 1);
      // An unknown part of allOf takes nothing away; an unknown alternative allows everything.
      if (part_types == 0 && key != std::string_view("allOf")) return 0;
      types |= part_types;
    }
  }
  return types;
}

// Returns true if JSON with such a value may stand where `types` are allowed.
bool MayBe(std::string_view json, TypeBits types) {
  if (types == 0 || (types & kStringType) == 0) return true;
  // Not the JSON library's own value: a number beyond its range has no type there.
  const char first = json.front();
  const bool is_fraction = json.find_first_of(".eE") != std::string_view::npos;
  switch (first) {
    case '"':
      return true;
    case '{':
      return (types & kObjectType) != 0;
    case '[':
      return (types & kArrayType) != 0;
    case 'n':
      return (types & kNullType) != 0;
    case 't':
    case 'f':
      return (types & kBooleanType) != 0;
    default:
      return (types & (is_fraction ? kFractionType : kIntegerType)) != 0;
  }
}

// `text` as JSON, without white space around it; empty where it is none.
std::string_view AsJson(std::string_view text) {
  const size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(kWhiteSpace) + 1 - first);
  if (text == "True") return "true";
  if (text == "False") return "false";
  if (text == "None") return "null";
  return Json::accept(text) ? text : std::string_view();
}

}  // namespace

TypeBits TypesOfSchema(const Json& schema, const Json& root) {
  return TypesAt(schema, root, /*depth=*/0);
}

const Json* FunctionOf(const Json& tool) {
  if (!tool.is_object()) return nullptr;
  const auto function = tool.find("function");
  if (function == tool.end() || !function->is_object()) return nullptr;
  const auto name = function->find("name");
  return name != function->end() && name->is_string() ? &*function : nullptr;
}

ToolTypes::ToolTypes(const Json& tools) {
  if (!tools.is_array()) return;
  for (const Json& tool : tools) {
    const Json* const function = FunctionOf(tool);
    if (function == nullptr) continue;
    auto& types = tools_[function->at("name").get<std::string>()];
    const auto parameters = function->find("parameters");
    if (parameters == function->end() || !parameters->is_object()) continue;
    const auto properties = parameters->find("properties");
    if (properties == parameters->end() || !properties->is_object()) continue;
    for (const auto& [name, schema] : properties->items()) {
      types[name] = TypesOfSchema(schema, *parameters);
    }
  }
}

bool ToolTypes::HasPrefix(std::string_view text) const {
  const auto next = tools_.lower_bound(text);
  return next != tools_.end() && next->first.compare(0, text.size(), text) == 0;
}

TypeBits ToolTypes::TypesOf(std::string_view tool, std::string_view parameter) const {
  const auto types = tools_.find(tool);
  if (types == tools_.end()) return 0;
  const auto found = types->second.find(parameter);
  return found == types->second.end() ? 0 : found->second;
}

void ValueWriter::Write(std::string_view text, std::string& json) {
  if (!is_string_) {
    text_ += text;
    return;
  }
  if (!std::exchange(has_begun_, true)) json += '"';
  AppendJsonEscaped(text, json);
}

void ValueWriter::End(std::string& json) {
  if (!is_string_) {
    if (const std::string_view value = AsJson(text_); !value.empty() && MayBe(value, types_)) {
      json += value;
      return;
    }
    is_string_ = true;
    Write(std::exchange(text_, {}), json);
  }
  if (!std::exchange(has_begun_, true)) json += '"';
  json += '"';
}

}  // namespace shortlist
