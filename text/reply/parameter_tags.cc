#include "text/reply/parameter_tags.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "text/reply/tool_types.h"
#include "text/reply/xml_calls.h"

namespace shortlist {
namespace {

struct Parameter {
  std::string name;
  TagJson schema;  // with the definitions of the whole schema
  TypeBits types = 0;
  bool is_required = false;

  bool may_be_string() const { return types == 0 || (types & kStringType) != 0; }
  bool must_be_string() const { return types == kStringType; }
};

std::vector<Parameter> ParametersOf(const TagJson& schema) {
  std::vector<Parameter> parameters;
  if (!schema.is_object() || !schema.contains("properties") || !schema["properties"].is_object()) {
    return parameters;
  }
  const TagJson required = schema.value("required", TagJson::array());
  for (const auto& [name, property] : schema["properties"].items()) {
    Parameter parameter{.name = name, .schema = property};
    parameter.types = TypesOfSchema(property, schema);
    parameter.is_required =
        required.is_array() && std::find(required.begin(), required.end(), name) != required.end();
    for (const char* key : {"$defs", "definitions"}) {
      if (schema.contains(key) && property.is_object()) parameter.schema[key] = schema[key];
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

// The texts of an "enum" or "const" of strings; empty: there is none.
std::vector<std::string> FixedTexts(const TagJson& schema) {
  std::vector<std::string> texts;
  if (!schema.is_object()) return texts;
  if (schema.contains("const") && schema["const"].is_string()) {
    return {schema["const"].get<std::string>()};
  }
  if (!schema.contains("enum") || !schema["enum"].is_array()) return texts;
  for (const TagJson& value : schema["enum"]) {
    if (!value.is_string()) return {};
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

// A value before the mark `end`: text where it may be a string, else JSON.
TagJson MarkedValue(const Parameter& parameter, std::string_view end) {
  const std::vector<std::string> texts = FixedTexts(parameter.schema);
  if (!texts.empty()) {
    std::vector<TagJson> values;
    for (const std::string& text : texts) values.push_back(ConstTag(text));
    return OrTag(std::move(values));
  }
  if (!parameter.may_be_string()) return SchemaTag(parameter.schema);
  return AnyTextWithout(end);
}

constexpr std::string_view kAnyName = "[A-Za-z0-9_.-]{1,64}";

// One parameter between marks. `parameter` null: any parameter with any value.
TagJson MarkedParameter(ToolFormat format, const Parameter* parameter) {
  const TagJson name = parameter == nullptr ? RegexTag(kAnyName) : ConstTag(parameter->name);
  const std::string end = XmlStyleOf(format).value_end;
  const TagJson value = parameter == nullptr ? AnyTextWithout(end) : MarkedValue(*parameter, end);
  switch (format) {
    case ToolFormat::kQwen3Coder:
      return BetweenTag("<parameter=", SequenceTag({name, ConstTag(">\n"), value}),
                        "\n</parameter>\n");
    case ToolFormat::kMiniMaxM2:
      return BetweenTag("<parameter name=\"", SequenceTag({name, ConstTag("\">"), value}),
                        "</parameter>\n");
    case ToolFormat::kGlm:
      // GLM 4.5 writes line breaks, later models do not.
      return SequenceTag({ConstTag("<arg_key>"), name, ConstTag("</arg_key>"), RegexTag("\\n?"),
                          BetweenTag("<arg_value>", value, "</arg_value>"), RegexTag("\\n?")});
    default:
      break;
  }
  std::vector<TagJson> forms;
  const bool must_be_string = parameter != nullptr && parameter->must_be_string();
  for (const bool is_string : {true, false}) {
    if (is_string ? parameter != nullptr && !parameter->may_be_string() : must_be_string) continue;
    const TagJson any_json =
        SchemaTag(parameter == nullptr ? TagJson::object() : parameter->schema);
    // A string's form has the text, whatever else the schema allows.
    const TagJson text = must_be_string ? value : AnyTextWithout(end);
    forms.push_back(BetweenTag(
        "<｜DSML｜parameter name=\"",
        SequenceTag({name, ConstTag(is_string ? "\" string=\"true\">" : "\" string=\"false\">"),
                     is_string ? text : any_json}),
        "</｜DSML｜parameter>\n"));
  }
  return OrTag(std::move(forms));
}

// The parameters between marks, and `after` them.
TagJson MarkedParameters(ToolFormat format, const CallableTool& tool, TagJson after) {
  std::vector<TagJson> elements;
  if (!tool.is_checked) {
    elements.push_back(StarTag(MarkedParameter(format, nullptr)));
  } else {
    for (const Parameter& parameter : ParametersOf(tool.parameters)) {
      TagJson element = MarkedParameter(format, &parameter);
      elements.push_back(parameter.is_required ? std::move(element)
                                               : OptionalTag(std::move(element)));
    }
  }
  elements.push_back(std::move(after));
  return SequenceTag(std::move(elements));
}

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

TagJson LiteralValue(const LiteralTexts& texts, const Parameter& parameter) {
  const TagJson type =
      parameter.schema.is_object() ? parameter.schema.value("type", TagJson()) : TagJson();
  if (type == "integer" || type == "number") return SchemaTag(parameter.schema);
  if (type == "boolean" && !texts.is_python) return RegexTag("true|false");
  if (type == "boolean") return RegexTag("True|False");
  if (parameter.must_be_string() && texts.is_python) {
    std::vector<TagJson> values;
    for (const std::string& text : FixedTexts(parameter.schema)) {
      // JSON's escapes of printable texts are Python's too.
      values.push_back(
          ConstTag(TagJson(text).dump(-1, ' ', false, TagJson::error_handler_t::replace)));
    }
    if (!values.empty()) return OrTag(std::move(values));
    return GrammarTag("root ::= string\n" + texts.rules);
  }
  if (parameter.must_be_string()) {
    return BetweenTag(texts.string_mark, MarkedValue(parameter, texts.string_mark),
                      texts.string_mark);
  }
  return GrammarTag("root ::= value\n" + texts.rules);
}

// Parameters from `first` on, each after a separator.
void AppendFurther(const LiteralTexts& texts, const std::vector<Parameter>& parameters,
                   size_t first, std::vector<TagJson>& elements) {
  for (size_t i = first; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    TagJson element = SequenceTag({ConstTag(texts.separator + parameter.name + texts.equals),
                                   LiteralValue(texts, parameter)});
    elements.push_back(parameter.is_required ? std::move(element)
                                             : OptionalTag(std::move(element)));
  }
}

// One alternative for each parameter that may be the first that is written.
TagJson LiteralParameters(const LiteralTexts& texts, const CallableTool& tool) {
  if (!tool.is_checked) {
    return GrammarTag(absl::StrCat("root ::= (pair (\"", texts.separator,
                                   "\" pair)*)?\npair ::= name \"", texts.equals, "\" value\n",
                                   texts.rules));
  }
  const std::vector<Parameter> parameters = ParametersOf(tool.parameters);
  std::vector<TagJson> options;
  bool may_be_empty = true;
  for (size_t i = 0; i < parameters.size() && may_be_empty; ++i) {
    std::vector<TagJson> elements = {ConstTag(parameters[i].name + texts.equals),
                                     LiteralValue(texts, parameters[i])};
    AppendFurther(texts, parameters, i + 1, elements);
    options.push_back(SequenceTag(std::move(elements)));
    may_be_empty = !parameters[i].is_required;
  }
  if (options.empty()) return ConstTag("");
  TagJson all = OrTag(std::move(options));
  return may_be_empty ? OptionalTag(std::move(all)) : all;
}

}  // namespace

TagJson ParameterCallTag(ToolFormat format, const CallableTool& tool) {
  switch (format) {
    case ToolFormat::kQwen3Coder:
      return BetweenTag(absl::StrCat("<tool_call>\n<function=", tool.name, ">\n"),
                        MarkedParameters(format, tool, ConstTag("</function>\n")), "</tool_call>");
    case ToolFormat::kMiniMaxM2:
      return BetweenTag(absl::StrCat("<invoke name=\"", tool.name, "\">\n"),
                        MarkedParameters(format, tool, ConstTag("</invoke>")), "\n");
    case ToolFormat::kDeepSeekV32:
      return BetweenTag(absl::StrCat("<｜DSML｜invoke name=\"", tool.name, "\">\n"),
                        MarkedParameters(format, tool, ConstTag("</｜DSML｜invoke>")), "\n");
    case ToolFormat::kGlm:
      return BetweenTag(
          absl::StrCat("<tool_call>", tool.name),
          SequenceTag({RegexTag("\\n?"), MarkedParameters(format, tool, ConstTag("</tool_call>"))}),
          "");
    default:
      break;
  }
  const LiteralTexts texts = LiteralTextsOf(format);
  return BetweenTag(absl::StrCat(texts.begin, tool.name, texts.is_python ? "(" : "{"),
                    LiteralParameters(texts, tool), texts.end);
}

}  // namespace shortlist
