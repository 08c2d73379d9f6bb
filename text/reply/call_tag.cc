#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "text/reply/call_reader.h"
#include "text/reply/harmony_reader.h"
#include "text/reply/parameter_schema.h"
#include "text/reply/reply_format.h"
#include "text/reply/tag_format.h"
#include "text/reply/tool_tag.h"
#include "text/reply/tool_types.h"

namespace shortlist {
namespace {

TagJson Document(TagJson format) {
  return {{"type", "structural_tag"}, {"format", std::move(format)}};
}

// `rest` after the reasoning, which may be missing with kMayReason. `gap`: what may stand between.
TagJson AfterReasoning(const ReplyFormat& format, ReplyStart start, TagJson gap, TagJson rest) {
  const bool is_harmony = format.tools == ToolFormat::kHarmony;
  const std::string begin = is_harmony ? "<|channel|>analysis<|message|>" : format.reasoning_begin;
  const std::string end = is_harmony ? "<|end|><|start|>assistant" : format.reasoning_end;
  if (start == ReplyStart::kAnswer || end.empty()) return rest;
  const bool is_open = start == ReplyStart::kReasoning;
  TagJson text = AnyTextTag();
  // Any mark ends a message: text after it would not be read as reasoning.
  if (is_harmony) text["excludes"] = HarmonyMarks();
  std::vector<TagJson> elements = {BetweenTag(is_open ? "" : begin, std::move(text), end)};
  if (!gap.is_null() && !is_harmony) elements.push_back(std::move(gap));
  TagJson reasoning = SequenceTag(std::move(elements));
  if (!is_open) reasoning = OptionalTag(std::move(reasoning));
  return SequenceTag({std::move(reasoning), std::move(rest)});
}

// Models write line feeds between reasoning and answer.
TagJson LineFeeds() { return RegexTag("\\n{0,2}"); }

// At least one call: what stands in a section, or the calls themselves.
TagJson CallList(const CallRule& rule, const CallsLayout& layout, const std::vector<TagJson>& tags,
                 bool is_harmony) {
  return {{"type", "tags_with_separator"},
          {"tags", tags},
          {"separator", layout.separator},
          {"at_least_one", true},
          // A harmony message with a call ends the reply.
          {"stop_after_first", !rule.is_parallel || is_harmony}};
}

absl::Status OfTool(const CallableTool& tool, const std::string& message) {
  return absl::InvalidArgumentError(absl::StrCat("tool `", Excerpt(tool.name), "`: ", message));
}

// InvalidArgument if arguments that are checked have a name that the format cannot write.
absl::Status CheckArgumentNames(ToolFormat format, const std::vector<CallableTool>& tools) {
  const ToolTypes types({});
  const std::unique_ptr<CallReader> reader = MakeCallReader(format, types);
  // LFM2 writes arguments that are checked as JSON.
  if (reader == nullptr || format == ToolFormat::kLfm2) return absl::OkStatus();
  for (const CallableTool& tool : tools) {
    if (!tool.is_checked) continue;
    for (const std::string& name : ArgumentNames(tool.parameters)) {
      if (reader->CanReadArgument(name)) continue;
      return OfTool(tool, absl::StrCat("the model's format for calls cannot write ",
                                       "the name of the property `", Excerpt(name), "`"));
    }
  }
  return absl::OkStatus();
}

bool BeginsWithAny(const std::string& text, const std::vector<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const std::string& beginning) { return text.starts_with(beginning); });
}

}  // namespace

absl::StatusOr<nlohmann::ordered_json> CallTag(const ReplyFormat& format, ReplyStart start,
                                               const CallRule& rule) {
  const CallsLayout layout = CallsLayoutOf(format.tools);
  const bool is_harmony = format.tools == ToolFormat::kHarmony;
  std::vector<TagJson> tags;
  const std::vector<CallableTool> tools = CallableTools(rule);
  SHORTLIST_RETURN_IF_ERROR(CheckArgumentNames(format.tools, tools));
  const bool prefers_json =
      std::any_of(tools.begin(), tools.end(), [](const auto& tool) { return tool.is_checked; });
  for (const CallableTool& tool : tools) {
    absl::StatusOr<std::vector<TagJson>> of_tool = ToolTags(format.tools, tool, prefers_json);
    if (!of_tool.ok()) return OfTool(tool, std::string(of_tool.status().message()));
    for (TagJson& tag : *of_tool) {
      tags.push_back(std::move(tag));
      // The other form begins with the start of a message, which the reply's own start precedes.
      if (is_harmony && rule.is_required) break;
    }
  }
  if (tags.empty() || (format.tools == ToolFormat::kNone && !rule.is_required)) return TagJson();
  const TagJson list = CallList(rule, layout, tags, is_harmony);
  std::vector<TagJson> sections;
  for (const auto& [begin, end] : layout.sections) {
    if (!rule.is_required && !BeginsWithAny(begin, layout.triggers)) continue;
    sections.push_back(BetweenTag(begin, list, end));
  }
  if (rule.is_required) {
    return Document(AfterReasoning(format, start, LineFeeds(),
                                   sections.empty() ? list : OrTag(std::move(sections))));
  }
  TagJson text = {{"type", "triggered_tags"},
                  {"triggers", layout.triggers},
                  {"tags", sections.empty() ? tags : sections},
                  {"at_least_one", false},
                  {"stop_after_first", !rule.is_parallel}};
  // Harmony's reasoning is a message like others; the next one may begin with a call.
  if (is_harmony) return Document(std::move(text));
  return Document(AfterReasoning(format, start, /*gap=*/nullptr, std::move(text)));
}

nlohmann::ordered_json AnswerTag(const ReplyFormat& format, ReplyStart start,
                                 const nlohmann::ordered_json& answer,
                                 const nlohmann::ordered_json& calls) {
  TagJson rest = answer;
  if (format.tools == ToolFormat::kHarmony && start != ReplyStart::kAnswer) {
    rest = SequenceTag({ConstTag("<|channel|>final<|message|>"), answer});
  } else if (format.tools == ToolFormat::kCohere) {
    rest = OrTag({BetweenTag("<|START_RESPONSE|>", answer, "<|END_RESPONSE|>"),
                  BetweenTag("<|START_TEXT|>", answer, "<|END_TEXT|>")});
  }
  // Calls have marks of their own: those around an answer do not stand before them.
  if (!calls.is_null()) rest = OrTag({std::move(rest), calls});
  return Document(AfterReasoning(format, start, LineFeeds(), std::move(rest)));
}

}  // namespace shortlist
