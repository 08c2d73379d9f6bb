#include "text/reply/literal_tags.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "text/reply/call_reader.h"
#include "text/reply/parameter_schema.h"
#include "text/reply/parameter_tags.h"
#include "text/reply/tool_types.h"

namespace shortlist {
namespace {

constexpr int kMaxValues = 10'000;  // that the tag of one call describes
constexpr int kMaxDepth = 16;

constexpr std::string_view kNumberRule =
    "number ::= \"-\"? (\"0\" | [1-9] [0-9]*) (\".\" [0-9]+)? ([eE] [+-]? [0-9]+)?\n";

constexpr std::string_view kPythonRules =
    "value ::= string | number | \"True\" | \"False\" | \"None\" | list | dict\n"
    "list ::= \"[\" (value (\", \" value)*)? \"]\"\n"
    "dict ::= \"{\" (string \": \" value (\", \" string \": \" value)*)? \"}\"\n"
    "string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1F] | escape)* \"\\\"\" | "
    "\"'\" ([^'\\\\\\x00-\\x1F] | escape)* \"'\"\n"
    "escape ::= \"\\\\\" [\\\\'\"nrtbf]\n"
    "name ::= [A-Za-z_] [A-Za-z0-9_]*\n";

// MARK stands for the mark around strings. TextRules() has the rule `text`.
constexpr std::string_view kGemmaRules =
    "value ::= string | number | \"true\" | \"false\" | \"null\" | list | dict\n"
    "list ::= \"[\" (value (\",\" value)*)? \"]\"\n"
    "dict ::= \"{\" (name \":\" value (\",\" name \":\" value)*)? \"}\"\n"
    "string ::= MARK text MARK\n"
    "name ::= [A-Za-z_] [A-Za-z0-9_]*\n";

// A rule "text" for any text without `mark`, which has "<" as its first byte and nowhere else.
// After each "<" of a text, the rules text1, text2, ... read as much of the mark as follows it.
std::string TextRules(std::string_view mark) {
  std::string rules = "text ::= [^<]* (\"<\" text1?)*\n";
  for (size_t i = 1; i < mark.size(); ++i) {
    const std::string byte = mark[i] == '"' ? "\\\"" : std::string(1, mark[i]);
    absl::StrAppend(&rules, "text", i, " ::= [^<", std::string(1, mark[i]), "] [^<]*");
    if (i + 1 < mark.size()) absl::StrAppend(&rules, " | \"", byte, "\" text", i + 1, "?");
    rules += '\n';
  }
  return rules;
}

// What differs between formats that write arguments in a list of names and literals.
struct LiteralTexts {
  std::string begin, end;  // of a call, before and after the name and the arguments
  std::string separator, equals, string_mark;
  std::string rules;
  bool is_python = false;
};

LiteralTexts LiteralTextsOf(ToolFormat format) {
  if (format != ToolFormat::kGemma4 && format != ToolFormat::kFunctionGemma) {
    return {.end = ")",
            .separator = ", ",
            .equals = "=",
            .rules = absl::StrCat(std::string(kPythonRules), std::string(kNumberRule)),
            .is_python = true};
  }
  const bool is_gemma4 = format == ToolFormat::kGemma4;
  LiteralTexts texts{.begin = is_gemma4 ? "<|tool_call>call:" : "<start_function_call>call:",
                     .end = is_gemma4 ? "}<tool_call|>" : "}<end_function_call>",
                     .separator = ",",
                     .equals = ":",
                     .string_mark = is_gemma4 ? "<|\"|>" : "<escape>",
                     .rules = absl::StrCat(std::string(kGemmaRules), std::string(kNumberRule))};
  texts.rules += TextRules(texts.string_mark);
  const std::string quoted = is_gemma4 ? "\"<|\\\"|>\"" : "\"<escape>\"";
  for (size_t at; (at = texts.rules.find("MARK")) != std::string::npos;) {
    texts.rules.replace(at, 4, quoted);
  }
  return texts;
}

// Writes the tags of one call's values.
class LiteralTags {
 public:
  explicit LiteralTags(ToolFormat format)
      : texts_(LiteralTextsOf(format)), reader_(MakeCallReader(format, no_tools_)) {}

  absl::StatusOr<TagJson> Call(const CallableTool& tool);

 private:
  TagJson AnyMembers() const;
  absl::StatusOr<TagJson> Members(const TagJson& schema, int depth);
  absl::StatusOr<TagJson> Member(const Parameter& parameter, bool is_first, int depth);
  absl::StatusOr<TagJson> Value(const TagJson& schema, int depth);
  absl::StatusOr<TagJson> OneOf(const std::vector<TagJson>& schemas, int depth);
  TagJson AnyOfType(const TagJson& schema) const;
  absl::StatusOr<TagJson> GemmaValue(const TagJson& schema, int depth);
  absl::StatusOr<TagJson> GemmaArray(const TagJson& schema, int depth);
  absl::StatusOr<TagJson> GemmaObject(const TagJson& schema, int depth);

  TagJson Rule(const char* rule) const {
    return GrammarTag(absl::StrCat("root ::= ", rule, "\n", texts_.rules));
  }
  // One of the texts as strings.
  TagJson Strings(const std::vector<std::string>& texts) const;

  const ToolTypes no_tools_{{}};
  const LiteralTexts texts_;
  const std::unique_ptr<CallReader> reader_;
  int num_values_ = 0;
};

TagJson LiteralTags::Strings(const std::vector<std::string>& texts) const {
  std::vector<TagJson> values;
  for (const std::string& text : texts) {
    // JSON's escapes of printable texts are Python's too.
    values.push_back(ConstTag(
        texts_.is_python ? TagJson(text).dump(-1, ' ', false, TagJson::error_handler_t::replace)
                         : texts_.string_mark + text + texts_.string_mark));
  }
  return OrTag(std::move(values));
}

// Any value of the type of `schema`, which has no limits and at most one type.
TagJson LiteralTags::AnyOfType(const TagJson& schema) const {
  const TagJson type = schema.is_object() ? schema.value("type", TagJson()) : TagJson();
  if (type.is_null()) return Rule("value");
  if (type == "boolean") return RegexTag(texts_.is_python ? "True|False" : "true|false");
  if (type == "null") return ConstTag(texts_.is_python ? "None" : "null");
  if (type == "array") return Rule("list");
  if (type == "object") return Rule("dict");
  if (type != "string") return SchemaTag(schema);
  if (texts_.is_python) return Rule("string");
  return BetweenTag(texts_.string_mark, StringTextTag(schema, texts_.string_mark),
                    texts_.string_mark);
}

absl::StatusOr<TagJson> LiteralTags::OneOf(const std::vector<TagJson>& schemas, int depth) {
  std::vector<TagJson> values;
  for (const TagJson& schema : schemas) {
    SHORTLIST_ASSIGN_OR_RETURN(values.emplace_back(), Value(schema, depth + 1));
  }
  return OrTag(std::move(values));
}

absl::StatusOr<TagJson> LiteralTags::Value(const TagJson& schema, int depth) {
  if (++num_values_ > kMaxValues || depth > kMaxDepth) {
    return absl::InvalidArgumentError("the schema is too large for the model's format for calls");
  }
  const std::vector<std::string> texts = FixedTexts(schema);
  if (!texts.empty()) return Strings(texts);
  const bool is_list = schema.is_object() && schema.contains("type") && schema["type"].is_array();
  if (HasOnly(schema, {"type"}) && !is_list) return AnyOfType(schema);
  const std::vector<TagJson> alternatives = AlternativesOf(schema);
  // Python's values may be JSON at any place.
  if (texts_.is_python && (alternatives.empty() || depth > 2)) return SchemaTag(schema);
  if (!alternatives.empty()) return OneOf(alternatives, depth);
  return GemmaValue(schema, depth);
}

absl::StatusOr<TagJson> LiteralTags::GemmaValue(const TagJson& schema, int depth) {
  const TypeBits types = TypesOfSchema(schema, schema);
  if (types != 0 && (types & (kStringType | kArrayType | kObjectType)) == 0) {
    return SchemaTag(schema);
  }
  if (types == kStringType) {
    return BetweenTag(texts_.string_mark, StringTextTag(schema, texts_.string_mark),
                      texts_.string_mark);
  }
  if (types == kArrayType && HasOnly(schema, {"type", "items", "minItems", "maxItems"})) {
    return GemmaArray(schema, depth);
  }
  if (types == kObjectType &&
      HasOnly(schema, {"type", "properties", "required", "additionalProperties"})) {
    return GemmaObject(schema, depth);
  }
  if (types == 0 || (types & (kArrayType | kObjectType)) != 0) {
    return absl::InvalidArgumentError("the model's format for calls cannot follow its schema");
  }
  return OneOf({StringsOnly(schema), WithoutStrings(schema)}, depth);
}

// The items of an array, as a schema has them: [a,b].
absl::StatusOr<TagJson> LiteralTags::GemmaArray(const TagJson& schema, int depth) {
  const TagJson min = schema.value("minItems", TagJson(0));
  const TagJson max = schema.value("maxItems", TagJson(-1));
  if (!min.is_number_integer() || !max.is_number_integer() || min < 0) {
    return absl::InvalidArgumentError("minItems or maxItems is no count");
  }
  const int64_t least = min.get<int64_t>(), most = max.get<int64_t>();
  if (most == 0) return ConstTag("[]");
  SHORTLIST_ASSIGN_OR_RETURN(
      const TagJson item,
      Value(DocumentOf(schema.value("items", TagJson::object()), schema), depth + 1));
  const TagJson more = {{"type", "repeat"},
                        {"min", std::max<int64_t>(least - 1, 0)},
                        {"max", most < 0 ? -1 : most - 1},
                        {"content", SequenceTag({ConstTag(texts_.separator), item})}};
  const TagJson some = SequenceTag({item, more});
  return SequenceTag({ConstTag("["), least == 0 ? OptionalTag(some) : some, ConstTag("]")});
}

absl::StatusOr<TagJson> LiteralTags::GemmaObject(const TagJson& schema, int depth) {
  const TagJson others = schema.value("additionalProperties", TagJson(true));
  const bool has_members = schema.contains("properties") || schema.contains("required");
  if (!has_members && others == true) return Rule("dict");
  TagJson members;
  if (!has_members && others.is_object()) {
    SHORTLIST_ASSIGN_OR_RETURN(const TagJson value, Value(DocumentOf(others, schema), depth + 1));
    const TagJson member =
        SequenceTag({RegexTag("[A-Za-z_][A-Za-z0-9_]*"), ConstTag(texts_.equals), value});
    const TagJson more = StarTag(SequenceTag({ConstTag(texts_.separator), member}));
    members = OptionalTag(SequenceTag({member, more}));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(members, Members(schema, depth));
  }
  return SequenceTag({ConstTag("{"), members, ConstTag("}")});
}

absl::StatusOr<TagJson> LiteralTags::Member(const Parameter& parameter, bool is_first, int depth) {
  if (!reader_->CanReadArgument(parameter.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model's format for calls cannot write the name of the property `",
                     Excerpt(parameter.name), "`"));
  }
  absl::StatusOr<TagJson> value = Value(parameter.schema, depth + 1);
  if (!value.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("property `", Excerpt(parameter.name),
                                                   "`: ", std::string(value.status().message())));
  }
  return SequenceTag({ConstTag((is_first ? "" : texts_.separator) + parameter.name + texts_.equals),
                      *std::move(value)});
}

// One alternative for each parameter that may be the first that is written.
absl::StatusOr<TagJson> LiteralTags::Members(const TagJson& schema, int depth) {
  const std::vector<Parameter> parameters = ParametersOf(schema);
  std::vector<TagJson> options;
  bool may_be_empty = true;
  for (size_t first = 0; first < parameters.size() && may_be_empty; ++first) {
    std::vector<TagJson> elements;
    for (size_t i = first; i < parameters.size(); ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(TagJson member, Member(parameters[i], i == first, depth));
      const bool is_needed = i == first || parameters[i].is_required;
      elements.push_back(is_needed ? std::move(member) : OptionalTag(std::move(member)));
    }
    options.push_back(SequenceTag(std::move(elements)));
    may_be_empty = !parameters[first].is_required;
  }
  if (options.empty()) return ConstTag("");
  TagJson all = OrTag(std::move(options));
  return may_be_empty ? OptionalTag(std::move(all)) : all;
}

TagJson LiteralTags::AnyMembers() const {
  return GrammarTag(absl::StrCat("root ::= (pair (\"", texts_.separator,
                                 "\" pair)*)?\npair ::= name \"", texts_.equals, "\" value\n",
                                 texts_.rules));
}

absl::StatusOr<TagJson> LiteralTags::Call(const CallableTool& tool) {
  TagJson members;
  if (tool.is_checked) {
    SHORTLIST_ASSIGN_OR_RETURN(members, Members(tool.parameters, /*depth=*/0));
  } else {
    members = AnyMembers();
  }
  return BetweenTag(absl::StrCat(texts_.begin, tool.name, texts_.is_python ? "(" : "{"),
                    std::move(members), texts_.end);
}

}  // namespace

absl::StatusOr<TagJson> LiteralCallTag(ToolFormat format, const CallableTool& tool) {
  return LiteralTags(format).Call(tool);
}

}  // namespace shortlist
