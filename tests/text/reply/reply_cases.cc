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
                     "flag": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
                     "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
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
      // Named calls.
      {"DeepSeekR1",
       kDeepSeekR1,
       kReasoning,
       "Hm.\n</"
       "think>\n\nYes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n"
       "```json\n" +
           weather +
           "\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>sum\n"
           "```json\n{\"xs\": [1, 2.50]}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       {"Yes.", "Hm.", {weather_call, sum_call}}},
      {"DeepSeekR1WithoutOuterMark",
       kDeepSeekR1,
       kMayReason,
       "<｜tool▁call▁begin｜>function<｜tool▁sep｜>any\n```json\n{}\n```<｜tool▁call▁end｜>",
       {"", "", {{"any", "{}", ""}}}},
      {"DeepSeekV31",
       kDeepSeekV31,
       kAnswer,
       "Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>" + weather +
           "<｜tool▁call▁end｜><｜tool▁call▁begin｜>sum<｜tool▁sep｜>{\"xs\": [1, 2.50]}"
           "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       {"Yes.", "", {weather_call, sum_call}}},
      {"DeepSeekProse",
       kDeepSeekV31,
       kAnswer,
       "a｜<｜tool<｜tool▁call▁begin｜>f g<｜",
       {"a｜<｜tool<｜tool▁call▁begin｜>f g<｜", "", {}}},
      {"Kimi",
       kKimiK2,
       kMayReason,
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
       "<|tool_call_argument_begin|>" +
           weather +
           "<|tool_call_end|><|tool_call_begin|>"
           "functions.sum:1<|tool_call_argument_begin|>{\"xs\": [1, 2.50]}<|tool_call_end|>"
           "<|tool_calls_section_end|>",
       {"",
        "",
        {{"weather", weather, "functions.weather:0"},
         {"sum", R"({"xs": [1, 2.50]})", "functions.sum:1"}}}},
      {"KimiMarkInsideString",
       kKimiK2,
       kMayReason,
       "<|tool_call_begin|>functions.a.say:12<|tool_call_argument_begin|>"
       "{\"text\": \"<|tool_call_end|>\"}<|tool_call_end|>",
       {"", "", {{"a.say", R"({"text": "<|tool_call_end|>"})", "functions.a.say:12"}}}},
      {"KimiCutBeforeArguments",
       kKimiK2,
       kMayReason,
       "<|tool_call_begin|>functions.any:0<|tool_call_argument_begin|>",
       {"", "", {{"any", "", "functions.any:0"}}}},
      // Marks around parameters.
      {"Glm",
       kGlm,
       kMayReason,
       "<think></think>\nYes.\n<tool_call>weather\n<arg_key>city</arg_key>\n"
       "<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n"
       "</tool_call>\n<tool_call>sum<arg_key>xs</arg_key><arg_value>[1, 2.50]</arg_value>"
       "</tool_call>",
       {"Yes.", "", {weather_call, sum_call}}},
      {"GlmNoParameters",
       kGlm,
       kMayReason,
       "<tool_call>any\n</tool_call>",
       {"", "", {{"any", "{}", ""}}}},
      {"GlmProse",
       kGlm,
       kMayReason,
       "<tool_call>is a <tool_call></tool_call>",
       {"<tool_call>is a <tool_call></tool_call>", "", {}}},
      {"MiniMax",
       kMiniMaxM2,
       kReasoning,
       "Hm.</think>\n\n<minimax:tool_call>\n<invoke name=\"weather\">\n"
       "<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">2</parameter>\n"
       "</invoke>\n<invoke name=\"sum\">\n<parameter name=\"xs\">[1, 2.50]</parameter>\n"
       "</invoke>\n</minimax:tool_call>",
       {"", "Hm.", {weather_call, sum_call}}},
      {"DeepSeekV32",
       kDeepSeekV32,
       kAnswer,
       "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n<｜DSML｜parameter "
       "name=\"city\" "
       "string=\"true\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" "
       "string=\"false\">2"
       "</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"x\">\n<｜DSML｜parameter "
       "name=\"a\" string=\"true\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n"
       "</｜DSML｜function_calls>",
       {"", "", {weather_call, {"x", R"({"a": "1"})", ""}}}},
      // Harmony.
      {"HarmonyCall",
       kHarmony,
       kMayReason,
       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
       "<|message|>Wait.<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
       "<|constrain|>json<|message|>" +
           weather + "<|call|>",
       {"Wait.", "Hm.", {weather_call}}},
      {"HarmonyRecipientFirst",
       kHarmony,
       kMayReason,
       " to=functions.weather<|channel|>commentary json<|message|>" + weather + "<|call|>",
       {"", "", {weather_call}}},
      {"HarmonyRecipientFirstInLaterMessage",
       kHarmony,
       kReasoning,
       "Hm.<|end|><|start|>assistant to=functions.any<|channel|>commentary json<|message|><|call|>",
       {"", "Hm.", {{"any", "{}", ""}}}},
      {"HarmonyAnswer",
       kHarmony,
       kMayReason,
       "<|channel|>final<|message|>a < b <|x|>\n<|return|>",
       {"a < b <|x|>\n", "", {}}},
      {"HarmonyNoMarks", kHarmony, kMayReason, " to be", {" to be", "", {}}},
      {"HarmonyOnlyRecipient", kHarmony, kMayReason, " to=x y", {" to=x y", "", {}}},
      {"HarmonyCallThatIsNoJson",
       kHarmony,
       kMayReason,
       "<|channel|>commentary to=functions.any<|message|>print(1)<|call|>",
       {"print(1)", "", {}}},
      {"HarmonyUnknownRecipientInAnalysis",
       kHarmony,
       kMayReason,
       "<|channel|>analysis to=python code<|message|>print(1)<|call|>",
       {"", "print(1)", {}}},
      // JSON calls between other marks.
      {"Phi",
       kPhi4,
       kMayReason,
       "functools[{\"name\": \"weather\", \"arguments\": " + weather +
           "}, {\"name\": \"sum\", \"arguments\": {\"xs\": [1, 2.50]}}]",
       {"", "", {weather_call, sum_call}}},
      {"PhiTags",
       kPhi4,
       kMayReason,
       "<|tool_call|>[{\"name\": \"weather\", \"arguments\": " + weather + "}]<|/tool_call|>\nOk",
       {"Ok", "", {weather_call}}},
      {"PhiProse", kPhi4, kMayReason, "Use functools.reduce", {"Use functools.reduce", "", {}}},
      {"Granite",
       kGranite,
       kMayReason,
       "<tool_call>[{\"name\": \"weather\", \"arguments\": " + weather + "}]",
       {"", "", {weather_call}}},
      {"GraniteFunctionCalls",
       kGranite,
       kMayReason,
       "<function_call> {\"name\": \"weather\", \"arguments\": " + weather +
           "} <function_call> {\"name\": \"sum\", \"arguments\": {\"xs\": [1, 2.50]}}",
       {"", "", {weather_call, sum_call}}},
      {"Cohere",
       kCohere,
       kMayReason,
       "<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", "
       "\"tool_name\": \"weather\", \"parameters\": " +
           weather + "}\n]<|END_ACTION|>",
       {"", "Hm.", {weather_call}}},
      {"CohereAnswer",
       kCohere,
       kMayReason,
       "<|START_RESPONSE|>Yes.<|END_RESPONSE|>",
       {"Yes.", "", {}}},
      // Literals.
      {"PythonicBare",
       kLlama4Pythonic,
       kMayReason,
       "[weather(city=\"Oslo\", days=2), any()]",
       {"", "", {weather_call, {"any", "{}", ""}}}},
      {"PythonicLiterals",
       kLlama4Pythonic,
       kMayReason,
       R"(<|python_start|>[f(a='x\'y\x41\u00e9\101\q"', b=True, c=None, d=(1, -2.5e3,), e={'k': [], 1: {}}, f = [ ] )]<|python_end|>)",
       {"",
        "",
        {{"f",
          R"({"a": "x'yAéA\\q\"", "b": true, "c": null, "d": [1, -2.5e3], "e": {"k": [], "1": {}}, "f": []})",
          ""}}}},
      {"PythonicBareNeedsKnownTool", kLlama4Pythonic, kMayReason, "[f(a=1)]", {"[f(a=1)]", "", {}}},
      {"PythonicProse",
       kLlama4Pythonic,
       kMayReason,
       "[a link](weather) [1, 2]",
       {"[a link](weather) [1, 2]", "", {}}},
      {"PythonicPositional", kLlama4Pythonic, kMayReason, "[any(1)]", {"[any(1)]", "", {}}},
      {"PythonicCutInString",
       kLlama4Pythonic,
       kMayReason,
       "[weather(city='Os\\",
       {"", "", {{"weather", R"({"city": "Os)", ""}}}},
      {"Lfm",
       kLfm2,
       kMayReason,
       "<|tool_call_start|>[weather(city=\"Oslo\", days=2)]<|tool_call_end|>Ok",
       {"Ok", "", {weather_call}}},
      {"LfmJson",
       kLfm2,
       kMayReason,
       "<|tool_call_start|>[{\"name\": \"weather\", \"arguments\": " + weather +
           "}]<|tool_call_end|>Ok",
       {"Ok", "", {weather_call}}},
      {"Olmo",
       kOlmo3,
       kMayReason,
       "<function_calls>\nweather(city=\"Oslo\", days=2)\nany()\n</function_calls>",
       {"", "", {weather_call, {"any", "{}", ""}}}},
      {"Gemma4",
       kGemma4,
       kMayReason,
       "<|channel>thought\nHm.<channel|><|tool_call>call:weather{city:<|\"|>Oslo<|\"|>,days:2}"
       "<tool_call|><|tool_call>call:f{o:{k:<|\"|>a,b}\"<|\"|>},xs:[1,true,word,[]]}<tool_call|>",
       {"",
        "Hm.",
        {weather_call, {"f", R"({"o": {"k": "a,b}\""}, "xs": [1, true, "word", []]})", ""}}}},
      {"FunctionGemma",
       kFunctionGemma,
       kMayReason,
       "<start_function_call>call:weather{city:<escape>Oslo<escape>,days:2}<end_function_call>",
       {"", "", {weather_call}}},
      {"GemmaProse",
       kFunctionGemma,
       kMayReason,
       "<start_function_call>calls: {",
       {"<start_function_call>calls: {", "", {}}},
      // Without tools.
      {"NoFormat", kNone, kMayReason, "Plain <tool_call> text", {"Plain <tool_call> text", "", {}}},
  };
  return kCases;
}

}  // namespace shortlist
