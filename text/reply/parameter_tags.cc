#include "text/reply/parameter_tags.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "text/reply/literal_tags.h"
#include "text/reply/parameter_schema.h"
#include "text/reply/tool_types.h"
#include "text/reply/xml_calls.h"

namespace shortlist {
namespace {

// True if the member is a number of repetitions that a structural tag can have, or missing.
bool IsCount(const TagJson& schema, const char* name) {
  constexpr int64_t kMaxCount = 1'000'000;
  if (!schema.contains(name)) return true;
  const TagJson& count = schema[name];
  return count.is_number_integer() && count >= 0 && count <= kMaxCount;
}

// True if a format that marks arguments reads the text as itself.
bool IsReadAsString(const std::string& text, TypeBits types) {
  ValueWriter writer(types);
  std::string json;
  writer.Write(text, json);
  writer.End(json);
  return json.front() == '"' && TagJson::parse(json) == text;
}

// A value before the mark `end`: text where it may be a string, else JSON.
TagJson MarkedValue(const Parameter& parameter, std::string_view end) {
  if (parameter.must_be_string()) return StringTextTag(parameter.schema, end);
  if (!parameter.may_be_string()) return SchemaTag(parameter.schema);
  if (AcceptsWholeTypes(parameter.schema)) return AnyTextWithout(end);
  // JSON strings are read as strings where other types are allowed too.
  std::vector<TagJson> values = {SchemaTag(parameter.schema)};
  for (const std::string& text : FixedTextsWithin(parameter.schema)) {
    if (IsReadAsString(text, parameter.types)) values.push_back(ConstTag(text));
  }
  if (parameter.types == (kStringType | kNullType) && values.size() == 1) {
    values.push_back(StringTextTag(StringsOnly(parameter.schema), end));
  }
  return OrTag(std::move(values));
}

constexpr std::string_view kAnyName = "[A-Za-z0-9_.-]{1,64}";

// A value that is a string, or is none. `parameter` null: any such value.
TagJson TypedValue(const Parameter* parameter, bool is_string, std::string_view end) {
  if (parameter == nullptr) {
    return is_string ? AnyTextWithout(end) : SchemaTag(TagJson::object());
  }
  const TagJson& schema = parameter->schema;
  const bool is_mixed = parameter->may_be_string() && !parameter->must_be_string();
  if (is_string) return StringTextTag(is_mixed ? StringsOnly(schema) : schema, end);
  return SchemaTag(is_mixed ? WithoutStrings(schema) : schema);
}

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
  for (const bool is_string : {true, false}) {
    if (parameter != nullptr &&
        (is_string ? !parameter->may_be_string() : parameter->must_be_string())) {
      continue;
    }
    forms.push_back(BetweenTag(
        "<｜DSML｜parameter name=\"",
        SequenceTag({name, ConstTag(is_string ? "\" string=\"true\">" : "\" string=\"false\">"),
                     TypedValue(parameter, is_string, end)}),
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

}  // namespace

TagJson StringTextTag(const TagJson& schema, std::string_view end) {
  std::vector<TagJson> values;
  for (const std::string& text : FixedTexts(schema)) values.push_back(ConstTag(text));
  if (!values.empty()) return OrTag(std::move(values));
  if (HasOnly(schema, {"type"})) return AnyTextWithout(end);
  if (HasOnly(schema, {"type", "minLength", "maxLength"}) && IsCount(schema, "minLength") &&
      IsCount(schema, "maxLength")) {
    // The text may have characters that JSON escapes. All marks contain "<".
    return {{"type", "repeat"},
            {"min", schema.value("minLength", TagJson(0))},
            {"max", schema.value("maxLength", TagJson(-1))},
            {"content", RegexTag("[^<]")}};
  }
  TagJson tag = SchemaTag(schema);
  tag["style"] = "text";
  tag["excludes"] = TagJson::array({std::string(end)});
  return tag;
}

absl::StatusOr<TagJson> ParameterCallTag(ToolFormat format, const CallableTool& tool) {
  if (tool.is_checked) SHORTLIST_RETURN_IF_ERROR(CheckArgumentsSchema(tool.parameters));
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
  return LiteralCallTag(format, tool);
}

}  // namespace shortlist
