#include "text/reply/reply_format.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "reply_cases.h"

namespace shortlist {
namespace {

TEST(ReplyFormatTest, NamesAreInverse) {
  for (int i = 0; i <= static_cast<int>(ToolFormat::kOlmo3); ++i) {
    const auto format = static_cast<ToolFormat>(i);
    EXPECT_EQ(ParseToolFormat(ToolFormatName(format)), format);
  }
  EXPECT_EQ(ParseToolFormat("Hermes"), std::nullopt);
}

TEST(ReplyFormatTest, TemplatesTellTheToolFormat) {
  using enum ToolFormat;
  const std::vector<std::pair<std::string_view, ToolFormat>> kTemplates = {
      {"{{ messages }}", kNone},
      {"<|start|>assistant<|channel|>final<|message|>", kHarmony},
      {"'<|tool_call>call:' + name", kGemma4},
      {"<start_function_call>call:", kFunctionGemma},
      {"<|tool_calls_section_begin|>", kKimiK2},
      {"<minimax:tool_call><invoke name=", kMiniMaxM2},
      {"[TOOL_CALLS] [{\"name\"", kMistral},
      {"[TOOL_CALLS]name[ARGS]", kMistralArgs},
      {"[TOOL_CALLS]name[CALL_ID]id[ARGS]", kMistralArgs},
      {"'<｜' + dsml + '｜' DSML <｜tool▁call▁begin｜>", kDeepSeekV32},
      {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>\n```json\n", kDeepSeekR1},
      {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", kDeepSeekV31},
      {"<|tool_list_start|>", kLfm2},
      {"<tool_call>{{ name }}<arg_key>{{ k | tojson }}", kGlm},
      {"<tool_call><function=f><parameter=x> tojson", kQwen3Coder},
      {"<tool_call>{\"name\": n, \"arguments\": a}", kHermes},
      {"<tool_call> {{ tool_call | tojson }}", kHermes},
      {"<tool_call> in prose", kNone},
      {"<|tool_call|> {{ tools | tojson }}", kGranite},
      {"<function_call>", kGranite},
      {"<|tool_call|>x<|/tool_call|>", kPhi4},
      {"functools[{", kPhi4},
      {"<|START_ACTION|>", kCohere},
      {"[func_name1(params_name1=params_value1)]<|python_tag|>", kLlama4Pythonic},
      {"{\"name\": function name, \"parameters\": dictionary of argument name and its value}",
       kLlama3Json},
      {"<function_calls>", kOlmo3}};
  for (const auto& [source, format] : kTemplates) {
    EXPECT_EQ(ToolFormatName(FindReplyFormat(source).tools), ToolFormatName(format)) << source;
  }
}

TEST(ReplyFormatTest, TemplatesTellTheMarksOfReasoning) {
  const auto end = [](std::string_view source) { return FindReplyFormat(source).reasoning_end; };
  EXPECT_EQ(end("<tool_call> tojson"), "");
  EXPECT_EQ(end("content.split('</think>')[-1]"), "</think>");
  EXPECT_EQ(FindReplyFormat("content.split('</think>')").reasoning_begin, "<think>");
  EXPECT_EQ(end("[THINK] or <think>"), "[/THINK]");
  EXPECT_EQ(end("◁think▷"), "◁/think▷");
  EXPECT_EQ(end("<|START_THINKING|>"), "<|END_THINKING|>");
  EXPECT_EQ(end("<mm:think>"), "</mm:think>");
  EXPECT_EQ(FindReplyFormat("'<|channel>thought\\n'").reasoning_begin, "<|channel>thought\n");
  const ReplyFormat harmony = FindReplyFormat("<|channel|>analysis <think>");
  EXPECT_EQ(harmony.reasoning_end, "");
  EXPECT_TRUE(harmony.has_reasoning());
}

TEST(ReplyFormatTest, MarksIncludeControlTokens) {
  const auto has = [](ToolFormat format, const char* mark) {
    const std::vector<std::string> marks = ReplyMarks(FormatWithReasoning(format));
    return std::find(marks.begin(), marks.end(), mark) != marks.end();
  };
  EXPECT_TRUE(has(ToolFormat::kHarmony, "<|call|>"));
  EXPECT_TRUE(has(ToolFormat::kHermes, "</tool_call>"));
  EXPECT_TRUE(has(ToolFormat::kHermes, "<think>"));
  EXPECT_TRUE(has(ToolFormat::kGemma4, "<|channel>"));
  EXPECT_TRUE(has(ToolFormat::kGemma4, "<|\"|>"));
  EXPECT_TRUE(has(ToolFormat::kCohere, "<|END_RESPONSE|>"));
  EXPECT_TRUE(has(ToolFormat::kMistralArgs, "[CALL_ID]"));
  EXPECT_TRUE(has(ToolFormat::kDeepSeekR1, "<｜tool▁calls▁end｜>"));
  EXPECT_TRUE(has(ToolFormat::kDeepSeekV32, "｜DSML｜"));
  EXPECT_TRUE(has(ToolFormat::kGlm, "</arg_value>"));
  EXPECT_TRUE(has(ToolFormat::kKimiK2, "<|tool_call_argument_begin|>"));
  EXPECT_TRUE(ReplyMarks({}).empty());
}

TEST(ReplyStartTest, TheLastMarkOfTheTurnCounts) {
  const ReplyFormat think = FormatWithReasoning(ToolFormat::kHermes);
  const auto start = [&](std::string_view prompt) { return FindReplyStart(think, prompt); };
  EXPECT_EQ(start(""), ReplyStart::kMayReason);
  EXPECT_EQ(start("<|im_start|>assistant\n"), ReplyStart::kMayReason);
  EXPECT_EQ(start("<|im_start|>assistant\n<think>\n"), ReplyStart::kReasoning);
  EXPECT_EQ(start("<|im_start|>assistant\n<think>\nI go on"), ReplyStart::kReasoning);
  EXPECT_EQ(start("<|im_start|>assistant\n<think>\n\n</think>\n\n"), ReplyStart::kAnswer);
  EXPECT_EQ(start("<｜Assistant｜></think>"), ReplyStart::kAnswer);
  // An earlier turn's, and a user's.
  EXPECT_EQ(start("<think>\na\n</think>\n\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n"
                  "<|im_start|>assistant\n"),
            ReplyStart::kMayReason);
  EXPECT_EQ(start("user: what is <think>?[/INST]"), ReplyStart::kMayReason);
  EXPECT_EQ(FindReplyStart({.tools = ToolFormat::kHermes}, "<think>"), ReplyStart::kAnswer);
  EXPECT_EQ(FindReplyStart(FormatWithReasoning(ToolFormat::kGemma4),
                           "<|turn>model\n<|channel>thought\n<channel|>"),
            ReplyStart::kAnswer);
}

TEST(ReplyStartTest, HarmonyChannels) {
  const auto start = [](std::string_view prompt) {
    return FindReplyStart({.tools = ToolFormat::kHarmony}, prompt);
  };
  EXPECT_EQ(start("<|channel|>analysis<|message|>a<|end|><|start|>assistant"),
            ReplyStart::kMayReason);
  EXPECT_EQ(start("<|start|>assistant<|channel|>analysis<|message|>Hm"), ReplyStart::kReasoning);
  EXPECT_EQ(start("<|start|>assistant<|channel|>final<|message|>{"), ReplyStart::kAnswer);
}

}  // namespace
}  // namespace shortlist
