#include "text/reply/reply_parser.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "reply_cases.h"

namespace shortlist {
namespace {

ReplyParser::Options OptionsOf(ToolFormat format, ReplyStart start) {
  return {.format = FormatWithReasoning(format), .start = start, .tools = TestTools()};
}

class ReplyCaseTest : public testing::TestWithParam<ReplyCase> {};

TEST_P(ReplyCaseTest, PartsAreTheSameForAnyCuts) {
  const ReplyCase& reply = GetParam();
  const ReplyParser::Options options = OptionsOf(reply.format, reply.start);
  EXPECT_EQ(ParseReply(options, reply.text), reply.expected);

  std::vector<size_t> cuts(reply.text.size());
  std::iota(cuts.begin(), cuts.end(), 0);
  EXPECT_EQ(ParseReply(options, reply.text, cuts), reply.expected) << "byte by byte";

  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 50; ++i) {
    cuts.resize(random() % 8);
    for (size_t& cut : cuts) cut = random() % (reply.text.size() + 1);
    std::sort(cuts.begin(), cuts.end());
    ASSERT_EQ(ParseReply(options, reply.text, cuts), reply.expected)
        << testing::PrintToString(cuts);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReplyCaseTest, testing::ValuesIn(ReplyCases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ReplyParserTest, WithoutToolsCallsAreContent) {
  ReplyParser::Options options = OptionsOf(ToolFormat::kHermes, ReplyStart::kMayReason);
  options.tools = nullptr;
  const std::string call = "<tool_call>{\"name\": \"any\"}</tool_call>";
  EXPECT_EQ(ParseReply(options, "<think>a</think>" + call), (JoinedReply{call, "a", {}}));
  options.format = {.tools = ToolFormat::kHarmony};
  EXPECT_EQ(ParseReply(options, "<|channel|>commentary to=functions.any<|message|>{}<|call|>"),
            (JoinedReply{"{}", "", {}}));
}

TEST(ReplyParserTest, SingleDropsFurtherCalls) {
  ReplyParser::Options options = OptionsOf(ToolFormat::kHermes, ReplyStart::kAnswer);
  options.is_single = true;
  const std::string call = "<tool_call>{\"name\": \"any\"}</tool_call>";
  EXPECT_EQ(ParseReply(options, call + call + "a" + call),
            (JoinedReply{"a", "", {{"any", "{}", ""}}}));
}

TEST(ReplyParserTest, LongNamesAreContent) {
  const std::string longest(256, 'n');
  const auto is_call = [](ToolFormat format, const std::string& text) {
    const JoinedReply joined = ParseReply(OptionsOf(format, ReplyStart::kMayReason), text);
    return joined.calls.size() == 1 && joined.content.empty();
  };
  for (const bool fits : {true, false}) {
    const std::string name = longest + (fits ? "" : "n");
    EXPECT_EQ(is_call(ToolFormat::kHermes, "<tool_call>{\"name\": \"" + name + "\"}</tool_call>"),
              fits);
    EXPECT_EQ(is_call(ToolFormat::kHermes,
                      "<tool_call>{\"id\": \"" + name + "\", \"name\": \"any\"}</tool_call>"),
              fits);
    EXPECT_EQ(is_call(ToolFormat::kHarmony, "<|channel|>commentary to=functions." + name +
                                                " <|constrain|>json<|message|>{}<|call|>"),
              fits);
    EXPECT_EQ(is_call(ToolFormat::kMistralArgs, "[TOOL_CALLS]" + name + "[ARGS]{}"), fits);
    EXPECT_EQ(is_call(ToolFormat::kQwen3Coder, "<function=" + name + ">\n</function>"), fits);
    EXPECT_EQ(is_call(ToolFormat::kOlmo3, "<function_calls>" + name + "()</function_calls>"), fits);
  }
}

TEST(ReplyParserTest, LastIdBeforeArgumentsCounts) {
  const ReplyParser::Options options = OptionsOf(ToolFormat::kHermes, ReplyStart::kMayReason);
  EXPECT_EQ(ParseReply(options, R"(<tool_call>{"id": "a", "name": "any", "id": "b",)"
                                R"("arguments": {}, "id": "c"}</tool_call>)"),
            (JoinedReply{"", "", {{"any", "{}", "b"}}}));
}

TEST(ReplyParserTest, PythonEscapesJoinSurrogates) {
  const ReplyParser::Options options = OptionsOf(ToolFormat::kOlmo3, ReplyStart::kMayReason);
  const auto argument = [&](const std::string& text) {
    const std::string reply = "<function_calls>\nsay(text='" + text + "')\n</function_calls>";
    const JoinedReply joined = ParseReply(options, reply);
    std::vector<size_t> cuts(reply.size());
    std::iota(cuts.begin(), cuts.end(), 0);
    EXPECT_EQ(ParseReply(options, reply, cuts), joined);
    return joined.calls.size() == 1 ? joined.calls[0].arguments : "no call";
  };
  EXPECT_EQ(argument(R"(\ud83d\ude00)"), R"({"text": "😀"})");
  EXPECT_EQ(argument(R"(\U0001f600)"), R"({"text": "😀"})");
  EXPECT_EQ(argument(R"(\ud83d)"), R"({"text": "�"})");
  EXPECT_EQ(argument(R"(\ud83dx\ude00)"), R"({"text": "�x�"})");
  EXPECT_EQ(argument(R"(\ud83d\n\ude00)"), R"({"text": "�\n�"})");
  EXPECT_EQ(argument(R"(\ud83d\ud83d\ude00)"), R"({"text": "�😀"})");
}

TEST(ReplyParserTest, ReasoningMayBeContent) {
  ReplyParser::Options options = OptionsOf(ToolFormat::kHermes, ReplyStart::kMayReason);
  options.reasoning_is_content = true;
  const std::string call = "<tool_call>{\"name\": \"any\"}</tool_call>";
  EXPECT_EQ(ParseReply(options, "<think>\nHm.</think>\n\nYes. " + call),
            (JoinedReply{"<think>\nHm.</think>\n\nYes.", "", {{"any", "{}", ""}}}));
  options.start = ReplyStart::kReasoning;
  EXPECT_EQ(ParseReply(options, "Hm.</think>Yes."), (JoinedReply{"Hm.</think>Yes.", "", {}}));

  options.format = {.tools = ToolFormat::kHarmony};
  EXPECT_EQ(ParseReply(options, "Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes."),
            (JoinedReply{"Hm.<|end|>Yes.", "", {}}));
  options.start = ReplyStart::kMayReason;
  const std::string reasoning = "<|channel|>analysis<|message|>Hm.<|end|>";
  EXPECT_EQ(
      ParseReply(options, reasoning + "<|start|>assistant<|channel|>commentary "
                                      "to=functions.any <|constrain|>json<|message|>{}<|call|>"),
      (JoinedReply{reasoning, "", {{"any", "{}", ""}}}));
}

TEST(ReplyParserTest, CallArray) {
  ReplyParser::Options options = OptionsOf(ToolFormat::kNone, ReplyStart::kMayReason);
  options.is_call_array = true;
  EXPECT_EQ(ParseReply(options,
                       "<think>a</think>\n\n[{\"name\": \"any\", \"parameters\": {}}, "
                       "{\"name\": \"say\", \"parameters\": {\"text\": \"]\"}}]"),
            (JoinedReply{"", "a", {{"any", "{}", ""}, {"say", R"({"text": "]"})", ""}}}));
}

TEST(ReplyParserTest, PiecesComeAsSoonAsTheyAreCertain) {
  using Kind = ReplyPart::Kind;
  ReplyParser parser(OptionsOf(ToolFormat::kHermes, ReplyStart::kReasoning));
  const auto append = [&](std::string_view text) {
    std::vector<ReplyPart> parts;
    parser.Append(text, parts);
    return parts;
  };
  EXPECT_EQ(append("Hm"), (std::vector<ReplyPart>{{Kind::kReasoning, "Hm", ""}}));
  EXPECT_EQ(append("\n</th"), std::vector<ReplyPart>{});
  EXPECT_EQ(append("ink>\n\nYes"), (std::vector<ReplyPart>{{Kind::kContent, "Yes", ""}}));
  EXPECT_EQ(append(" <tool_call>{\"name\": \"any\", \"arg"), std::vector<ReplyPart>{});
  EXPECT_EQ(append("uments\": {"),
            (std::vector<ReplyPart>{{Kind::kCall, "any", ""}, {Kind::kArguments, "{", ""}}));
  EXPECT_EQ(append("\"a"), (std::vector<ReplyPart>{{Kind::kArguments, "\"a", ""}}));
  EXPECT_EQ(parser.num_calls(), 1);

  ReplyParser coder(OptionsOf(ToolFormat::kQwen3Coder, ReplyStart::kAnswer));
  std::vector<ReplyPart> parts;
  coder.Append("<tool_call>\n<function=say>\n<parameter=text>\na\"b\n", parts);
  EXPECT_EQ(parts, (std::vector<ReplyPart>{{Kind::kCall, "say", ""},
                                           {Kind::kArguments, "{\"text\": \"a\\\"b", ""}}));
}

}  // namespace
}  // namespace shortlist
