#include "text/reply/tool_tag.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "text/reply/parameter_schema.h"
#include "text/reply/parameter_tags.h"
#include "text/reply/tool_types.h"

namespace shortlist {
namespace {

constexpr std::string_view kIndex = "[0-9]{1,3}", kMistralId = "[A-Za-z0-9]{9}";

// {"name": N, KEY: arguments}
TagJson JsonCallTag(std::string_view begin, const CallableTool& tool, std::string_view key,
                    std::string_view end) {
  return BetweenTag(absl::StrCat(std::string(begin), "{\"name\": ", TagJson(tool.name).dump(),
                                 ", \"", std::string(key), "\": "),
                    SchemaTag(tool.parameters), absl::StrCat("}", std::string(end)));
}

TagJson CohereTag(const CallableTool& tool) {
  const std::string middle =
      absl::StrCat("\", \"tool_name\": ", TagJson(tool.name).dump(), ", \"parameters\": ");
  return BetweenTag("{\"tool_call_id\": \"",
                    SequenceTag({RegexTag(kIndex), ConstTag(middle), SchemaTag(tool.parameters)}),
                    "}");
}

TagJson KimiTag(const CallableTool& tool) {
  return BetweenTag(absl::StrCat("<|tool_call_begin|>functions.", tool.name, ":"),
                    SequenceTag({RegexTag(kIndex), ConstTag("<|tool_call_argument_begin|>"),
                                 SchemaTag(tool.parameters)}),
                    "<|tool_call_end|>");
}

// Some models write an id of nine characters, others none.
TagJson MistralTag(const CallableTool& tool) {
  const TagJson id = SequenceTag({ConstTag("[CALL_ID]"), RegexTag(kMistralId)});
  return BetweenTag(absl::StrCat("[TOOL_CALLS]", tool.name),
                    SequenceTag({OptionalTag(id), ConstTag("[ARGS]"), SchemaTag(tool.parameters)}),
                    "");
}

// The recipient stands after the channel, or, in a later message, before it.
std::vector<TagJson> HarmonyTags(const CallableTool& tool) {
  std::vector<TagJson> tags;
  for (const std::string& begin :
       {absl::StrCat("<|channel|>commentary to=functions.", tool.name, " "),
        absl::StrCat("<|start|>assistant to=functions.", tool.name, "<|channel|>commentary ")}) {
    tags.push_back(BetweenTag(begin + "<|constrain|>json<|message|>", SchemaTag(tool.parameters),
                              /*end=*/""));
    // Where <|call|> ends the reply as a control token, the text ends before it.
    tags.back()["end"] = {"<|call|>", ""};
  }
  return tags;
}

// Formats whose calls stand in one list.
CallsLayout ListLayoutOf(ToolFormat format) {
  switch (format) {
    case ToolFormat::kMistral:
      return {{{"[TOOL_CALLS] [", "]"}}, ", ", {"[TOOL_CALLS]"}};
    case ToolFormat::kPhi4:
      return {{{"functools[", "]"}, {"<|tool_call|>[", "]<|/tool_call|>"}},
              ", ",
              {"functools[", "<|tool_call|>"}};
    case ToolFormat::kGranite:
      return {
          {{"<|tool_call|>[", "]"}, {"<tool_call>[", "]"}}, ", ", {"<|tool_call|>", "<tool_call>"}};
    case ToolFormat::kCohere:
      return {{{"<|START_ACTION|>[\n    ", "\n]<|END_ACTION|>"}}, ",\n    ", {"<|START_ACTION|>"}};
    case ToolFormat::kLfm2:
      return {{{"<|tool_call_start|>[", "]<|tool_call_end|>"}}, ", ", {"<|tool_call_start|>"}};
    case ToolFormat::kLlama4Pythonic:
      return {{{"<|python_start|>[", "]<|python_end|>"}, {"[", "]"}}, ", ", {"<|python_start|>"}};
    case ToolFormat::kOlmo3:
      return {{{"<function_calls>\n", "\n</function_calls>"}}, "\n", {"<function_calls>"}};
    default:
      return {};
  }
}

}  // namespace

std::vector<CallableTool> CallableTools(const CallRule& rule) {
  std::vector<CallableTool> tools;
  if (!rule.tools.is_array()) return tools;
  for (const TagJson& item : rule.tools) {
    const TagJson* const function = FunctionOf(item);
    if (function == nullptr) continue;
    CallableTool tool{.name = function->at("name").get<std::string>()};
    tool.is_checked = rule.is_required || function->value("strict", TagJson()) == true;
    const TagJson parameters = function->value("parameters", TagJson());
    if (!tool.is_checked) {
      tool.parameters = {{"type", "object"}};
    } else if (!parameters.is_null()) {
      tool.parameters = DocumentOf(parameters, parameters);
      // Arguments are an object even if the schema allows other values.
      if (tool.parameters.is_object()) tool.parameters["type"] = "object";
    } else {
      tool.parameters = {
          {"type", "object"}, {"properties", TagJson::object()}, {"additionalProperties", false}};
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

std::string FieldOfSchema(const CallRule& rule, const TagJson& schema) {
  const std::vector<CallableTool> tools = CallableTools(rule);
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string field = absl::StrCat("tools[", i, "].function.parameters");
    if (tools[i].parameters == schema) return field;
    // Too large a schema has no tag.
    if (!CheckArgumentsSchema(tools[i].parameters).ok()) continue;
    for (const Parameter& parameter : ParametersOf(tools[i].parameters)) {
      if (parameter.schema == schema || StringsOnly(parameter.schema) == schema ||
          WithoutStrings(parameter.schema) == schema) {
        return absl::StrCat(field, ".properties.", Excerpt(parameter.name));
      }
    }
  }
  return "";
}

absl::StatusOr<std::vector<TagJson>> ToolTags(ToolFormat format, const CallableTool& tool,
                                              bool prefers_json) {
  const TagJson arguments = SchemaTag(tool.parameters);
  switch (format) {
    case ToolFormat::kNone:
      return std::vector<TagJson>{JsonCallTag("", tool, "parameters", "")};
    case ToolFormat::kHermes:
      return std::vector<TagJson>{
          JsonCallTag("<tool_call>\n", tool, "arguments", "\n</tool_call>")};
    case ToolFormat::kLlama3Json:
      return std::vector<TagJson>{JsonCallTag("", tool, "parameters", "")};
    case ToolFormat::kMistral:
    case ToolFormat::kPhi4:
    case ToolFormat::kGranite:
      return std::vector<TagJson>{JsonCallTag("", tool, "arguments", "")};
    case ToolFormat::kLfm2:
      // Python is what the models were trained on; only JSON can be checked by any schema.
      if (prefers_json) return std::vector<TagJson>{JsonCallTag("", tool, "arguments", "")};
      break;
    case ToolFormat::kMistralArgs:
      return std::vector<TagJson>{MistralTag(tool)};
    case ToolFormat::kHarmony:
      return HarmonyTags(tool);
    case ToolFormat::kDeepSeekR1:
      return std::vector<TagJson>{BetweenTag(
          absl::StrCat("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", tool.name, "\n```json\n"),
          arguments, "\n```<｜tool▁call▁end｜>")};
    case ToolFormat::kDeepSeekV31:
      return std::vector<TagJson>{
          BetweenTag(absl::StrCat("<｜tool▁call▁begin｜>", tool.name, "<｜tool▁sep｜>"), arguments,
                     "<｜tool▁call▁end｜>")};
    case ToolFormat::kCohere:
      return std::vector<TagJson>{CohereTag(tool)};
    case ToolFormat::kKimiK2:
      return std::vector<TagJson>{KimiTag(tool)};
    default:
      break;
  }
  SHORTLIST_ASSIGN_OR_RETURN(TagJson tag, ParameterCallTag(format, tool));
  return std::vector<TagJson>{std::move(tag)};
}

CallsLayout CallsLayoutOf(ToolFormat format) {
  switch (format) {
    case ToolFormat::kNone:
      return {.sections = {{"[", "]"}}, .separator = ", "};
    case ToolFormat::kHermes:
    case ToolFormat::kQwen3Coder:
    case ToolFormat::kGlm:
      return {.separator = "\n", .triggers = {"<tool_call>"}};
    case ToolFormat::kLlama3Json:
      // Free text with such an object becomes a call too: nothing else begins these calls.
      return {.separator = "; ", .triggers = {"{\"name\": \""}};
    case ToolFormat::kMistralArgs:
      return {.triggers = {"[TOOL_CALLS]"}};
    case ToolFormat::kHarmony:
      return {
          .triggers = {"<|channel|>commentary to=functions.", "<|start|>assistant to=functions."}};
    case ToolFormat::kDeepSeekR1:
    case ToolFormat::kDeepSeekV31:
      return {{{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"}},
              format == ToolFormat::kDeepSeekR1 ? "\n" : "",
              {"<｜tool▁calls▁begin｜>"}};
    case ToolFormat::kDeepSeekV32:
      return {{{"<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"},
               {"<｜DSML｜tool_calls>\n", "</｜DSML｜tool_calls>"}},
              "",
              {"<｜DSML｜"}};
    case ToolFormat::kGemma4:
      return {.triggers = {"<|tool_call>"}};
    case ToolFormat::kFunctionGemma:
      return {.triggers = {"<start_function_call>"}};
    case ToolFormat::kKimiK2:
      return {{{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}},
              "",
              {"<|tool_calls_section_begin|>"}};
    case ToolFormat::kMiniMaxM2:
      return {{{"<minimax:tool_call>\n", "</minimax:tool_call>"}}, "", {"<minimax:tool_call>"}};
    default:
      return ListLayoutOf(format);
  }
}

}  // namespace shortlist
