#include "text/reply/reply_format.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/reply/call_reader.h"
#include "text/reply/harmony_reader.h"
#include "text/reply/mark_finder.h"
#include "text/reply/reply_reader.h"
#include "text/reply/tool_types.h"

namespace shortlist {
namespace {

struct NamedFormat {
  ToolFormat format;
  std::string_view name;
};

constexpr NamedFormat kNames[] = {{ToolFormat::kNone, "none"},
                                  {ToolFormat::kHermes, "hermes"},
                                  {ToolFormat::kQwen3Coder, "qwen3_coder"},
                                  {ToolFormat::kLlama3Json, "llama3_json"},
                                  {ToolFormat::kLlama4Pythonic, "llama4_pythonic"},
                                  {ToolFormat::kMistral, "mistral"},
                                  {ToolFormat::kMistralArgs, "mistral_args"},
                                  {ToolFormat::kHarmony, "harmony"},
                                  {ToolFormat::kDeepSeekR1, "deepseek_r1"},
                                  {ToolFormat::kDeepSeekV31, "deepseek_v31"},
                                  {ToolFormat::kDeepSeekV32, "deepseek_v32"},
                                  {ToolFormat::kGlm, "glm"},
                                  {ToolFormat::kGemma4, "gemma4"},
                                  {ToolFormat::kFunctionGemma, "functiongemma"},
                                  {ToolFormat::kPhi4, "phi4"},
                                  {ToolFormat::kGranite, "granite"},
                                  {ToolFormat::kCohere, "cohere"},
                                  {ToolFormat::kKimiK2, "kimi_k2"},
                                  {ToolFormat::kMiniMaxM2, "minimax_m2"},
                                  {ToolFormat::kLfm2, "lfm2"},
                                  {ToolFormat::kOlmo3, "olmo3"}};

// A template has a format if it contains all of `needed` (an alternative: one of `or_needed`) and
// not `absent`. The first row that fits counts: later rows' texts occur in earlier rows' templates.
struct FormatRule {
  ToolFormat format;
  std::vector<std::string_view> needed, or_needed;
  std::string_view absent;
};

const std::vector<FormatRule>& FormatRules() {
  using enum ToolFormat;
  static const std::vector<FormatRule> kRules = {
      {kHarmony, {"<|channel|>"}},
      {kGemma4, {"<|channel>"}, {"<|tool_call>call:"}},
      {kFunctionGemma, {"<start_function_call>"}},
      {kKimiK2, {"<|tool_calls_section_begin|>"}},
      {kMiniMaxM2, {"<minimax:tool_call>"}},
      {kMistralArgs, {"[TOOL_CALLS]", "[ARGS]"}},
      {kMistral, {"[TOOL_CALLS]"}},
      {kDeepSeekV32, {"DSML"}},
      {kDeepSeekR1, {"<｜tool▁call▁begin｜>", "```json"}},
      {kDeepSeekV31, {"<｜tool▁call▁begin｜>"}},
      {kLfm2, {"<|tool_call_start|>"}, {"<|tool_list_start|>"}},
      {kGlm, {"<arg_key>"}},
      {kQwen3Coder, {"<function=", "<parameter="}},
      {kHermes, {"<tool_call>", "\"arguments\""}, {"<tool_call>", "tojson"}, "<|tool_call|>"},
      {kGranite, {"<|tool_call|>"}, {"<function_call>"}, "<|/tool_call|>"},
      {kCohere, {"<|START_ACTION|>"}},
      {kPhi4, {"functools"}, {"<|tool_call|>", "<|/tool_call|>"}},
      {kLlama4Pythonic, {"<|python_start|>"}, {"[func_name1(params"}},
      {kLlama3Json, {"<|python_tag|>"}, {"\"parameters\": dictionary of argument name"}},
      {kOlmo3, {"<function_calls>"}}};
  return kRules;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool ContainsAll(std::string_view text, const std::vector<std::string_view>& parts) {
  return !parts.empty() && std::all_of(parts.begin(), parts.end(),
                                       [&](std::string_view part) { return Contains(text, part); });
}

struct ReasoningMarks {
  std::string_view begin, end;
};

// Those of channels first: a template for them may mention the others. <think> last.
constexpr ReasoningMarks kReasoningMarks[] = {{"<|channel>thought\n", "<channel|>"},
                                              {"<|START_THINKING|>", "<|END_THINKING|>"},
                                              {"[THINK]", "[/THINK]"},
                                              {"◁think▷", "◁/think▷"},
                                              {"<mm:think>", "</mm:think>"},
                                              {"<seed:think>", "</seed:think>"},
                                              {"<think>", "</think>"}};

// What of a mark of reasoning a template must contain.
std::string_view SearchText(std::string_view mark) {
  return mark.substr(0, mark.find("thought\n"));
}

// Marks that stand between the turns of a conversation, or parts of such marks.
constexpr std::string_view kTurnMarks[] = {
    "<|",   "|>",  "<｜",  "[INST]", "[/INST]", "[/SYSTEM_PROMPT]", "<start_of_turn>",
    "</s>", "<s>", "[e~[", "]~b]",   "<turn|>", "<end_of_turn>",    "<|turn>",
};

ReplyStart HarmonyStart(std::string_view prompt_end) {
  const size_t start = prompt_end.rfind("<|start|>");
  if (start != std::string_view::npos) prompt_end.remove_prefix(start);
  const size_t message = prompt_end.rfind("<|message|>");
  const size_t channel = prompt_end.rfind("<|channel|>");
  if (message == std::string_view::npos || channel == std::string_view::npos ||
      Contains(prompt_end, "<|end|>")) {
    return ReplyStart::kMayReason;
  }
  return Contains(prompt_end.substr(channel, message - channel), "analysis")
             ? ReplyStart::kReasoning
             : ReplyStart::kAnswer;
}

}  // namespace

ReplyFormat FindReplyFormat(std::string_view template_source) {
  ReplyFormat format;
  for (const FormatRule& rule : FormatRules()) {
    if (!rule.absent.empty() && Contains(template_source, rule.absent)) continue;
    if (ContainsAll(template_source, rule.needed) || ContainsAll(template_source, rule.or_needed)) {
      format.tools = rule.format;
      break;
    }
  }
  if (format.tools == ToolFormat::kHarmony) return format;
  for (const auto& [begin, end] : kReasoningMarks) {
    if (Contains(template_source, SearchText(begin)) || Contains(template_source, end)) {
      format.reasoning_begin = begin;
      format.reasoning_end = end;
      break;
    }
  }
  return format;
}

std::string_view ToolFormatName(ToolFormat format) {
  for (const NamedFormat& named : kNames) {
    if (named.format == format) return named.name;
  }
  return "none";
}

std::optional<ToolFormat> ParseToolFormat(std::string_view name) {
  for (const NamedFormat& named : kNames) {
    if (named.name == name) return named.format;
  }
  return std::nullopt;
}

std::vector<std::string> ReplyMarks(const ReplyFormat& format) {
  if (format.tools == ToolFormat::kHarmony) return HarmonyMarks();
  std::vector<std::string> marks = AnswerMarks(format.tools);
  const ToolTypes no_tools({});
  if (const auto calls = MakeCallReader(format.tools, no_tools)) {
    for (std::string& mark : calls->marks()) marks.push_back(std::move(mark));
  }
  for (const std::string_view mark :
       {std::string_view(format.reasoning_begin), std::string_view(format.reasoning_end)}) {
    if (!mark.empty()) marks.emplace_back(SearchText(mark));
  }
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  return marks;
}

ReplyStart FindReplyStart(const ReplyFormat& format, std::string_view prompt_end) {
  if (format.tools == ToolFormat::kHarmony) return HarmonyStart(prompt_end);
  if (format.reasoning_end.empty()) return ReplyStart::kAnswer;
  const auto after = [&](const std::string& mark) {
    const size_t at = mark.empty() ? std::string_view::npos : prompt_end.rfind(mark);
    return at == std::string_view::npos ? 0 : at + mark.size();
  };
  const size_t begin = after(format.reasoning_begin), end = after(format.reasoning_end);
  if (begin == 0 && end == 0) return ReplyStart::kMayReason;
  // Reasoning of an earlier turn says nothing about this one.
  const std::string_view rest = prompt_end.substr(std::max(begin, end));
  for (const std::string_view mark : kTurnMarks) {
    if (Contains(rest, mark)) return ReplyStart::kMayReason;
  }
  return begin > end ? ReplyStart::kReasoning : ReplyStart::kAnswer;
}

}  // namespace shortlist
