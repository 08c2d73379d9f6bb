#ifndef SHORTLIST_TEXT_REPLY_TOOL_TYPES_H_
#define SHORTLIST_TEXT_REPLY_TOOL_TYPES_H_

#include <map>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace shortlist {

/// The JSON types that a schema allows, as bits. 0: unknown.
using TypeBits = unsigned;
inline constexpr TypeBits kStringType = 1, kOtherType = 2;

/// The types that `schema`, a part of `root`, allows: of "type", "const", "enum", "anyOf", "oneOf",
/// "allOf" and local "$ref"s. Unknown keywords allow everything, so the result may be too wide.
TypeBits TypesOfSchema(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& root);

/// The names of tools and the types of their parameters.
class ToolTypes {
 public:
  /// `tools`: OpenAI's "tools". What has another shape is passed over.
  explicit ToolTypes(const nlohmann::ordered_json& tools);

  bool Has(std::string_view tool) const { return tools_.count(tool) != 0; }
  /// 0 where the tool, or such a parameter of it, is unknown.
  TypeBits TypesOf(std::string_view tool, std::string_view parameter) const;

 private:
  std::map<std::string, std::map<std::string, TypeBits, std::less<>>, std::less<>> tools_;
};

/// Writes one value of a call, given as text, in JSON: a value whose type is string as a string,
/// piece by piece; another one when it has ended, as JSON where it is JSON or one of Python's
/// words, otherwise as a string.
class ValueWriter {
 public:
  explicit ValueWriter(TypeBits types) : is_string_(types == kStringType) {}

  /// Appends what is certain to `json`.
  void Write(std::string_view text, std::string& json);
  void End(std::string& json);

 private:
  bool is_string_;
  bool has_begun_ = false;
  std::string text_;  // of a value that is no string, so far
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_TOOL_TYPES_H_
