#ifndef SHORTLIST_TEXT_REPLY_TOOL_TYPES_H_
#define SHORTLIST_TEXT_REPLY_TOOL_TYPES_H_

#include <map>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace shortlist {

/// The JSON types that a schema allows, as bits. 0: unknown.
using TypeBits = unsigned;
inline constexpr TypeBits kStringType = 1, kNullType = 2, kBooleanType = 4, kIntegerType = 8,
                          kFractionType = 16, kArrayType = 32, kObjectType = 64;
inline constexpr TypeBits kNumberType = kIntegerType | kFractionType;
inline constexpr TypeBits kOtherTypes =
    kNullType | kBooleanType | kNumberType | kArrayType | kObjectType;  // all but strings

/// Returns the member "function" of an entry of "tools" if it has a name; null otherwise.
const nlohmann::ordered_json* FunctionOf(const nlohmann::ordered_json& tool);

/// The types that `schema`, a part of `root`, allows: of "type", "const", "enum", "anyOf", "oneOf",
/// "allOf" and local "$ref"s. Unknown keywords allow everything, so the result may be too wide.
TypeBits TypesOfSchema(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& root);

/// The names of tools and the types of their parameters.
class ToolTypes {
 public:
  /// tools: "tools" of OpenAI's API. Ignores malformed entries.
  explicit ToolTypes(const nlohmann::ordered_json& tools);

  bool Has(std::string_view tool) const { return tools_.count(tool) != 0; }
  /// True if the name of some tool begins with `text`.
  bool HasPrefix(std::string_view text) const;
  /// 0 where the tool, or such a parameter of it, is unknown.
  TypeBits TypesOf(std::string_view tool, std::string_view parameter) const;

 private:
  std::map<std::string, std::map<std::string, TypeBits, std::less<>>, std::less<>> tools_;
};

/// Writes one value of a call, given as text, in JSON. A value that must be a string is written
/// piece by piece; any other value is written at its end. A text becomes JSON if it is JSON, or a
/// word of Python; any other text becomes a string. Where strings are allowed, JSON of a type that
/// is not allowed becomes a string too.
class ValueWriter {
 public:
  explicit ValueWriter(TypeBits types) : types_(types), is_string_(types == kStringType) {}

  /// Appends what is certain to `json`.
  void Write(std::string_view text, std::string& json);
  void End(std::string& json);

 private:
  TypeBits types_;
  bool is_string_;
  bool has_begun_ = false;
  std::string text_;  // of a value that is no string, so far
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_TOOL_TYPES_H_
