#include "reply_cases.h"

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace shortlist {

void PrintTo(const JoinedReply& reply, std::ostream* out) {
  *out << "content " << testing::PrintToString(reply.content) << ", reasoning "
       << testing::PrintToString(reply.reasoning);
  for (const auto& call : reply.calls) {
    *out << ", " << call.name << " " << call.arguments << " id '" << call.id << "'";
  }
}

void PrintTo(const ReplyCase& reply_case, std::ostream* out) { *out << reply_case.name; }

const nlohmann::ordered_json& TestTools() {
  static const auto tools = nlohmann::ordered_json::parse(R"([
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}, "days": {"type": "integer"},
                     "flag": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}},
      "required": ["city"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "sum", "parameters": {"type": "object",
      "properties": {"xs": {"$ref": "#/$defs/List"}}, "required": ["xs"],
      "$defs": {"List": {"type": "array", "items": {"type": "number"}}}}}},
    {"type": "function", "function": {"name": "say", "parameters": {"type": "object",
      "properties": {"text": {"type": "string"}}, "required": ["text"]}}},
    {"type": "function", "function": {"name": "any"}}])");
  return tools;
}

ReplyFormat FormatWithReasoning(ToolFormat tools) {
  switch (tools) {
    case ToolFormat::kHarmony:
      return {.tools = tools};
    case ToolFormat::kMistralArgs:
      return {.tools = tools, .reasoning_begin = "[THINK]", .reasoning_end = "[/THINK]"};
    case ToolFormat::kGemma4:
      return {
          .tools = tools, .reasoning_begin = "<|channel>thought\n", .reasoning_end = "<channel|>"};
    case ToolFormat::kCohere:
      return {.tools = tools,
              .reasoning_begin = "<|START_THINKING|>",
              .reasoning_end = "<|END_THINKING|>"};
    default:
      return {.tools = tools, .reasoning_begin = "<think>", .reasoning_end = "</think>"};
  }
}

JoinedReply ParseReply(const ReplyParser::Options& options, std::string_view text,
                       const std::vector<size_t>& cuts) {
  ReplyParser parser(options);
  std::vector<ReplyPart> parts;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    parser.Append(text.substr(begin, cut - begin), parts);
    begin = cut;
  }
  parser.Append(text.substr(begin), parts);
  parser.Finish(parts);
  JoinedReply joined;
  for (const ReplyPart& part : parts) {
    switch (part.kind) {
      case ReplyPart::Kind::kContent:
        joined.content += part.text;
        break;
      case ReplyPart::Kind::kReasoning:
        joined.reasoning += part.text;
        break;
      case ReplyPart::Kind::kCall:
        joined.calls.push_back({.name = part.text, .arguments = "", .id = part.call_id});
        break;
      case ReplyPart::Kind::kArguments:
        if (joined.calls.empty()) {
          ADD_FAILURE() << "arguments before a call";
        } else {
          joined.calls.back().arguments += part.text;
        }
    }
    EXPECT_TRUE(!part.text.empty() || part.kind == ReplyPart::Kind::kCall);
  }
  EXPECT_EQ(parser.num_calls(), static_cast<int>(joined.calls.size()));
  return joined;
}

const std::vector<ReplyCase>& ReplyCases() {
  using enum ToolFormat;
  using enum ReplyStart;
  const std::string weather = R"({"city": "Oslo", "days": 2})";
  const JoinedReply::Call weather_call = {"weather", weather, ""};
  const JoinedReply::Call sum_call = {"sum", R"({"xs": [1, 2.50]})", ""};
  static const std::vector<ReplyCase> kCases = {
      // Hermes.
      {"HermesTextAndTwoCalls",
       kHermes,
       kMayReason,
       "Wait.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": " + weather +
           "}\n</tool_call>\n<tool_call>\n{\"name\": \"sum\", \"arguments\": {\"xs\": [1, 2.50]}}"
           "\n</tool_call>",
       {"Wait.", "", {weather_call, sum_call}}},
      {"HermesReasoning",
       kHermes,
       kMayReason,
       "<think>\nIn <Oslo>,\n\nthen.\n</think>\n\n<tool_call>\n{\"name\": \"weather\", "
       "\"arguments\": " +
           weather + "}\n</tool_call>",
       {"", "In <Oslo>,\n\nthen.", {weather_call}}},
      {"HermesOpenedReasoning",
       kHermes,
       kReasoning,
       "\nHm.\n</think>\n\nYes.\n",
       {"Yes.\n", "Hm.", {}}},
      {"HermesReasoningIsNotOpenedInAnAnswer",
       kHermes,
       kAnswer,
       "<think>no</think>",
       {"<think>no</think>", "", {}}},
      {"HermesReasoningOnlyBeforeContent",
       kHermes,
       kMayReason,
       "Say <think> and </think>",
       {"Say <think> and </think>", "", {}}},
      {"HermesCallEndsReasoning",
       kHermes,
       kReasoning,
       "So:\n<tool_call>{\"name\": \"any\"}</tool_call></think>\nDone.",
       {"Done.", "So:", {{"any", "{}", ""}}}},
      {"HermesUnknownCallInReasoning",
       kHermes,
       kReasoning,
       "<tool_call>{\"name\": \"x\", \"arguments\": {}}</tool_call></think>Done.",
       {"Done.", "<tool_call>{\"name\": \"x\", \"arguments\": {}}</tool_call>", {}}},
      {"HermesUnknownTool",
       kHermes,
       kMayReason,
       "<tool_call>{\"name\": \"x\", \"arguments\": {\"a\": [{}]}}</tool_call>",
       {"", "", {{"x", "{\"a\": [{}]}", ""}}}},
      {"HermesArgumentsFirst",
       kHermes,
       kMayReason,
       "<tool_call>{\"arguments\": {\"a\": \"}\\\"\"}, \"name\": \"x\"}</tool_call>",
       {"", "", {{"x", "{\"a\": \"}\\\"\"}", ""}}}},
      {"HermesQuotedArguments",
       kHermes,
       kMayReason,
       R"(<tool_call>{"name": "x", "arguments": "{\"a\": \"\\u00e9\\n\", \"b\": \"\u00e9\"}"}</tool_call>)",
       {"", "", {{"x", R"({"a": "\u00e9\n", "b": "é"})", ""}}}},
      {"HermesNullArguments",
       kHermes,
       kMayReason,
       R"(<tool_call>{"name": "x", "arguments": null}</tool_call>)",
       {"", "", {{"x", "{}", ""}}}},
      {"HermesEmptyQuotedArguments",
       kHermes,
       kMayReason,
       R"(<tool_call>{"name": "x", "arguments": ""}</tool_call>)",
       {"", "", {{"x", "{}", ""}}}},
      {"HermesArgumentsThatAreNoObject",
       kHermes,
       kMayReason,
       R"(<tool_call>{"name": "any", "arguments": [1]}</tool_call>)",
       {R"(<tool_call>{"name": "any", "arguments": [1]}</tool_call>)", "", {}}},
      {"HermesMarkInsideString",
       kHermes,
       kMayReason,
       R"(<tool_call>{"name": "say", "arguments": {"text": "a</tool_call>b"}}</tool_call>)",
       {"", "", {{"say", R"({"text": "a</tool_call>b"})", ""}}}},
      {"HermesLineFeedInString",
       kHermes,
       kMayReason,
       "<tool_call>{\"name\": \"say\", \"arguments\": {\"text\": \"a\nb\"}}</tool_call>",
       {"", "", {{"say", R"({"text": "a\nb"})", ""}}}},
      {"HermesOwnBytesStay",
       kHermes,
       kMayReason,
       R"(<tool_call>{"name": "sum", "arguments":  {"xs" :[1.0,1e5, -0]} }</tool_call>)",
       {"", "", {{"sum", R"({"xs" :[1.0,1e5, -0]})", ""}}}},
      {"HermesNestedCallInTag",
       kHermes,
       kMayReason,
       "<tool_call><tool_call>{\"name\": \"any\"}",
       {"<tool_call>", "", {{"any", "{}", ""}}}},
      {"HermesProse",
       kHermes,
       kMayReason,
       "The tag <tool_call> begins <tool",
       {"The tag <tool_call> begins <tool", "", {}}},
      {"HermesTextAfterCall",
       kHermes,
       kMayReason,
       "A\n<tool_call>{\"name\": \"any\"}</tool_call>\nB\n",
       {"A\n\nB\n", "", {{"any", "{}", ""}}}},
      {"HermesCutInArguments",
       kHermes,
       kMayReason,
       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Os",
       {"", "", {{"weather", "{\"city\": \"Os", ""}}}},
      {"HermesCutInName",
       kHermes,
       kMayReason,
       "<tool_call>\n{\"name\": \"wea",
       {"<tool_call>\n{\"name\": \"wea", "", {}}},
      {"HermesCutInEnd",
       kHermes,
       kMayReason,
       "<tool_call>{\"name\": \"any\"}</tool_",
       {"", "", {{"any", "{}", ""}}}},
      // Llama 3.
      {"LlamaBare",
       kLlama3Json,
       kMayReason,
       R"({"name": "weather", "parameters": )" + weather + "}",
       {"", "", {weather_call}}},
      {"LlamaTypeFirst",
       kLlama3Json,
       kMayReason,
       R"({"type": "function", "name": "weather", "parameters": )" + weather + "}",
       {"", "", {weather_call}}},
      {"LlamaTwoCalls",
       kLlama3Json,
       kMayReason,
       R"(<|python_tag|>{"name": "weather", "parameters": )" + weather +
           R"(}; {"name": "sum", "parameters": {"xs": [1, 2.50]}})",
       {"", "", {weather_call, sum_call}}},
      {"LlamaJsonAnswer",
       kLlama3Json,
       kMayReason,
       R"({"city": "Oslo"} it is.)",
       {R"({"city": "Oslo"} it is.)", "", {}}},
      {"LlamaJsonAnswerWithName",
       kLlama3Json,
       kMayReason,
       R"({"name": "Ann", "age": 3})",
       {R"({"name": "Ann", "age": 3})", "", {}}},
      {"LlamaBareCallNeedsKnownTool",
       kLlama3Json,
       kMayReason,
       R"({"name": "x", "parameters": {}})",
       {R"({"name": "x", "parameters": {}})", "", {}}},
      {"LlamaCallAfterTextIsText",
       kLlama3Json,
       kMayReason,
       R"(Use {"name": "any"})",
       {R"(Use {"name": "any"})", "", {}}},
      {"LlamaPythonCode",
       kLlama3Json,
       kMayReason,
       "<|python_tag|>print(1)",
       {"<|python_tag|>print(1)", "", {}}},
      // Mistral.
      {"MistralArray",
       kMistral,
       kMayReason,
       R"([TOOL_CALLS] [{"name": "weather", "arguments": )" + weather +
           R"(}, {"name": "sum", "arguments": {"xs": [1, 2.50]}, "id": "late"}])",
       {"", "", {weather_call, sum_call}}},
      {"MistralIdFirst",
       kMistral,
       kMayReason,
       R"([TOOL_CALLS][{"id": "abcdefghi", "name": "any", "arguments": {}}])",
       {"", "", {{"any", "{}", "abcdefghi"}}}},
      {"MistralArgs",
       kMistralArgs,
       kMayReason,
       "[THINK]Hm.[/THINK]Yes[TOOL_CALLS]weather[ARGS]" + weather +
           "[TOOL_CALLS]sum[CALL_ID]123456789[ARGS]{\"xs\": [1, 2.50]}",
       {"Yes", "Hm.", {weather_call, {"sum", R"({"xs": [1, 2.50]})", "123456789"}}}},
      {"MistralProse",
       kMistralArgs,
       kMayReason,
       "[TOOL_CALLS] and [ARGS] are marks",
       {"[TOOL_CALLS] and [ARGS] are marks", "", {}}},
      // Qwen3-Coder.
      {"QwenCoderTwoCalls",
       kQwen3Coder,
       kMayReason,
       "Yes.\n<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n"
       "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=sum>\n"
       "<parameter=xs>\n[1, 2.50]\n</parameter>\n</function>\n</tool_call>",
       {"Yes.", "", {weather_call, sum_call}}},
      {"QwenCoderKeepsText",
       kQwen3Coder,
       kMayReason,
       "<tool_call>\n<function=say>\n<parameter=text>\n\n a\\\"<b></param> \n\n</parameter>\n"
       "</function>\n</tool_call>",
       {"", "", {{"say", R"({"text": "\n a\\\"<b></param> \n"})", ""}}}},
      {"QwenCoderNumberAsText",
       kQwen3Coder,
       kMayReason,
       "<function=say>\n<parameter=text>\n42\n</parameter>\n</function>\n</tool_call> Done.",
       {"Done.", "", {{"say", R"({"text": "42"})", ""}}}},
      {"QwenCoderWords",
       kQwen3Coder,
       kMayReason,
       "<function=weather>\n<parameter=flag>\nTrue\n</parameter>\n<parameter=days>\nmany\n"
       "</parameter>\n<parameter=other>\n{\"a\": 1}\n</parameter>\n</function>",
       {"", "", {{"weather", R"({"flag": true, "days": "many", "other": {"a": 1}})", ""}}}},
      {"QwenCoderNoParameters",
       kQwen3Coder,
       kMayReason,
       "<tool_call>\n<function=any>\n</function>\n</tool_call>",
       {"", "", {{"any", "{}", ""}}}},
      {"QwenCoderForgetsCallEnd",
       kQwen3Coder,
       kMayReason,
       "<tool_call>\n<function=say>\n<parameter=text>\na\n</parameter>\n</tool_call>",
       {"", "", {{"say", R"({"text": "a"})", ""}}}},
      {"QwenCoderProse",
       kQwen3Coder,
       kMayReason,
       "<tool_call> is a tag, <function=x y> too",
       {"<tool_call> is a tag, <function=x y> too", "", {}}},
      {"QwenCoderCutInString",
       kQwen3Coder,
       kMayReason,
       "<tool_call>\n<function=say>\n<parameter=text>\nab\n</para",
       {"", "", {{"say", R"({"text": "ab)", ""}}}},
      // Without tools.
      {"NoFormat", kNone, kMayReason, "Plain <tool_call> text", {"Plain <tool_call> text", "", {}}},
  };
  return kCases;
}

}  // namespace shortlist
