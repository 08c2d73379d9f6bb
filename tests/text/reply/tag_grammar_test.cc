// The grammars of CallTag() and AnswerTag(): which replies a model may write.

#include "tag_grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "reply_cases.h"
#include "text/reply/reply_format.h"

namespace shortlist {
namespace {

using Json = nlohmann::ordered_json;

TagGrammar CallGrammar(ToolFormat format, ReplyStart start, const CallRule& rule) {
  return TagGrammar(*CallTag(FormatWithReasoning(format), start, rule));
}

// These are replies as the models' templates write them.
TEST(TagGrammarTest, UsualRepliesFollowTheTags) {
  const std::set<std::string_view> usual = {"HermesTextAndTwoCalls",
                                            "HermesReasoning",
                                            "HermesOpenedReasoning",
                                            "LlamaBare",
                                            "LlamaTwoCalls",
                                            "LlamaJsonAnswer",
                                            "MistralArgs",
                                            "QwenCoderTwoCalls",
                                            "QwenCoderKeepsText",
                                            "QwenCoderNoParameters",
                                            "DeepSeekR1",
                                            "DeepSeekV31",
                                            "Kimi",
                                            "Glm",
                                            "MiniMax",
                                            "HarmonyCall",
                                            "HarmonyAnswer",
                                            "Phi",
                                            "PhiTags",
                                            "Granite",
                                            "Cohere",
                                            "CohereAnswer",
                                            "PythonicBare",
                                            "Lfm",
                                            "Olmo",
                                            "FunctionGemma"};
  size_t num_replies = 0;
  for (const ReplyCase& reply : ReplyCases()) {
    if (!usual.contains(reply.name)) continue;
    ++num_replies;
    TagGrammar grammar = CallGrammar(reply.format, reply.start, {.tools = TestTools()});
    EXPECT_TRUE(grammar.Accepts(reply.text)) << reply.name;
  }
  EXPECT_EQ(num_replies, usual.size());
}

TEST(TagGrammarTest, GemmaStringsMayContainPartsOfTheirMark) {
  const std::pair<ToolFormat, std::string> formats[] = {{ToolFormat::kGemma4, "<|\"|>"},
                                                        {ToolFormat::kFunctionGemma, "<escape>"}};
  for (const auto& [format, mark] : formats) {
    const std::string begin =
        format == ToolFormat::kGemma4 ? "<|tool_call>call:" : "<start_function_call>call:";
    const std::string end = format == ToolFormat::kGemma4 ? "<tool_call|>" : "<end_function_call>";
    CallRule rule{.tools = TestTools()};
    TagGrammar any = CallGrammar(format, ReplyStart::kAnswer, rule);
    rule.is_required = true;
    TagGrammar checked = CallGrammar(format, ReplyStart::kAnswer, rule);
    std::vector<std::string> texts = {"", "<html>", "a<", "<<", "<|<|", "a<b<<c", "\"|>", "é😀"};
    for (size_t i = 1; i < mark.size(); ++i) {
      texts.push_back(mark.substr(0, i));
      texts.push_back(mark.substr(0, i) + mark.substr(0, i) + "x");
    }
    for (const std::string& text : texts) {
      const std::string quoted = mark + text + mark;
      const std::string call = begin + "say{text:" + quoted + "}" + end;
      EXPECT_TRUE(any.Accepts(call)) << call;
      EXPECT_TRUE(checked.Accepts(call)) << call;
      EXPECT_FALSE(checked.Accepts(begin + "sum{xs:[" + quoted + ",1]}" + end)) << call;
      const JoinedReply joined =
          ParseReply({.format = FormatWithReasoning(format), .tools = TestTools()}, call);
      ASSERT_EQ(joined.calls.size(), 1u) << call;
      EXPECT_EQ(Json::parse(joined.calls[0].arguments), Json({{"text", text}})) << call;
    }
    EXPECT_FALSE(any.Accepts(begin + "say{text:" + mark + "a" + mark + "b" + mark + "}" + end));
  }
}

TEST(TagGrammarTest, CallsTakeThePlaceOfAnAnswer) {
  const Json answer = {{"type", "regex"}, {"pattern", "yes|no"}};
  const CallRule rule{.tools = TestTools(), .is_required = true};
  const auto grammar = [&](ToolFormat tools) {
    const ReplyFormat format = FormatWithReasoning(tools);
    const Json calls = (*CallTag(format, ReplyStart::kAnswer, rule))["format"];
    return TagGrammar(AnswerTag(format, ReplyStart::kMayReason, answer, calls));
  };
  TagGrammar harmony = grammar(ToolFormat::kHarmony);
  const std::string analysis = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
  const std::string harmony_call =
      "<|channel|>commentary to=functions.say <|constrain|>json<|message|>{\"text\": \"a\"}";
  EXPECT_TRUE(harmony.Accepts(analysis + harmony_call));
  EXPECT_TRUE(harmony.Accepts(harmony_call + "<|call|>"));
  EXPECT_TRUE(harmony.Accepts(analysis + "<|channel|>final<|message|>yes"));
  EXPECT_FALSE(harmony.Accepts("<|channel|>final<|message|>" + harmony_call));
  EXPECT_FALSE(harmony.Accepts("yes"));

  TagGrammar cohere = grammar(ToolFormat::kCohere);
  const std::string cohere_call =
      "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"say\", \"parameters\": "
      "{\"text\": \"a\"}}\n]<|END_ACTION|>";
  EXPECT_TRUE(cohere.Accepts("<|START_THINKING|>Hm.<|END_THINKING|>" + cohere_call));
  EXPECT_TRUE(cohere.Accepts("<|START_RESPONSE|>no<|END_RESPONSE|>"));
  EXPECT_FALSE(cohere.Accepts("<|START_RESPONSE|>" + cohere_call + "<|END_RESPONSE|>"));

  TagGrammar hermes = grammar(ToolFormat::kHermes);
  EXPECT_TRUE(hermes.Accepts("<think>a</think>\n\nyes"));
  EXPECT_TRUE(hermes.Accepts(
      "<tool_call>\n{\"name\": \"say\", \"arguments\": {\"text\": \"a\"}}\n</tool_call>"));
  EXPECT_FALSE(hermes.Accepts("maybe"));
}

TEST(TagGrammarTest, MarksEndTheReasoningOfHarmony) {
  const Json answer = {{"type", "regex"}, {"pattern", "yes|no"}};
  const ReplyFormat format{.tools = ToolFormat::kHarmony};
  for (const ReplyStart start : {ReplyStart::kMayReason, ReplyStart::kReasoning}) {
    TagGrammar grammar(AnswerTag(format, start, answer));
    const std::string begin =
        start == ReplyStart::kReasoning ? "" : "<|channel|>analysis<|message|>";
    const auto reply = [&](const std::string& text) {
      return begin + text + "<|end|><|start|>assistant<|channel|>final<|message|>yes";
    };
    EXPECT_TRUE(grammar.Accepts(reply("Hm <|x|> <|call")));
    for (const char* mark : {"<|call|>", "<|constrain|>", "<|message|>", "<|channel|>", "<|start|>",
                             "<|return|>", "<|end|>"}) {
      EXPECT_FALSE(grammar.Accepts(reply(std::string("Hm ") + mark + "a"))) << mark;
    }
    const JoinedReply joined = ParseReply({.format = format, .start = start}, reply("Hm <|x|>"));
    EXPECT_EQ(joined.reasoning, "Hm <|x|>");
    EXPECT_EQ(joined.content, "yes");
  }
}

CallRule RuleWithProperty(const std::string& name, bool is_strict) {
  const Json function = {
      {"name", "f"},
      {"strict", is_strict},
      {"parameters", {{"type", "object"}, {"properties", {{name, {{"type", "string"}}}}}}}};
  return {.tools = Json::array({{{"type", "function"}, {"function", function}}})};
}

TEST(TagGrammarTest, NamesThatAFormatCannotWriteAreRejected) {
  using enum ToolFormat;
  const std::pair<std::string, std::vector<ToolFormat>> names[] = {
      {"first name", {kLlama4Pythonic, kOlmo3}},
      {"a>b", {kLlama4Pythonic, kOlmo3, kQwen3Coder}},
      {"a\"", {kLlama4Pythonic, kOlmo3, kDeepSeekV32}},
      {"a\">", {kLlama4Pythonic, kOlmo3, kQwen3Coder, kDeepSeekV32, kMiniMaxM2}},
      {"a\nb", {kLlama4Pythonic, kOlmo3, kQwen3Coder, kDeepSeekV32, kMiniMaxM2, kGlm}},
      {"</arg_key>", {kLlama4Pythonic, kOlmo3, kQwen3Coder, kGlm, kGemma4, kFunctionGemma}},
      {" a", {kLlama4Pythonic, kOlmo3, kGemma4, kFunctionGemma}},
      {"a:b", {kLlama4Pythonic, kOlmo3, kGemma4, kFunctionGemma}},
      {"größe_2.x-y", {}}};
  for (const auto& [name, formats] : names) {
    for (int i = 1; i <= static_cast<int>(kOlmo3); ++i) {
      const ReplyFormat format{.tools = static_cast<ToolFormat>(i)};
      const bool is_writable =
          std::find(formats.begin(), formats.end(), format.tools) == formats.end();
      CallRule rule = RuleWithProperty(name, /*is_strict=*/true);
      const absl::Status status = CallTag(format, ReplyStart::kAnswer, rule).status();
      EXPECT_EQ(status.ok(), is_writable) << name << " " << ToolFormatName(format.tools);
      if (!is_writable) {
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_NE(status.message().find("tool `f`"), std::string::npos) << status;
        EXPECT_NE(status.message().find("the property"), std::string::npos) << status;
      }
      rule = RuleWithProperty(name, /*is_strict=*/false);
      EXPECT_TRUE(CallTag(format, ReplyStart::kAnswer, rule).ok());
      rule.is_required = true;
      EXPECT_EQ(CallTag(format, ReplyStart::kAnswer, rule).ok(), is_writable);
    }
  }
}

}  // namespace
}  // namespace shortlist
