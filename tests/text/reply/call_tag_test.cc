// Texts that follow CallTag() are calls for ReplyParser.

#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "reply_cases.h"
#include "tag_grammar.h"
#include "text/reply/reply_format.h"

namespace shortlist {
namespace {

using Json = nlohmann::ordered_json;

/// Draws a text that follows a structural tag. Knows the patterns and grammars that CallTag uses.
class TagSampler {
 public:
  explicit TagSampler(std::mt19937& random) : random_(random) {}

  std::string Sample(const Json& format) {
    const std::string type = format["type"].get<std::string>();
    if (type == "structural_tag") return Sample(format["format"]);
    if (type == "const_string") return format["value"].get<std::string>();
    if (type == "json_schema") return Value(format["json_schema"], format["json_schema"]).dump();
    if (type == "any_text") return "a <b>\n{\"c\"} é";
    if (type == "regex") return Regex(format["pattern"].get<std::string>());
    if (type == "grammar") return Grammar(format["grammar"].get<std::string>());
    if (type == "sequence") return Joined(format["elements"]);
    if (type == "or") return Sample(Pick(format["elements"]));
    if (type == "optional") return Draw(2) == 0 ? "" : Sample(format["content"]);
    if (type == "repeat") return Times(format["content"], format["min"]);
    if (type == "star") return Repeated(format["content"]);
    if (type == "tag") return Tag(format);
    if (type == "tags_with_separator") return Tags(format, format["separator"].get<std::string>());
    if (type == "triggered_tags") return Sample(Pick(format["tags"]));
    ADD_FAILURE() << type;
    return "";
  }

 private:
  int Draw(int bound) { return static_cast<int>(random_() % bound); }
  const Json& Pick(const Json& list) { return list[Draw(static_cast<int>(list.size()))]; }

  std::string Joined(const Json& elements) {
    std::string text;
    for (const Json& element : elements) text += Sample(element);
    return text;
  }

  std::string Repeated(const Json& content) {
    std::string text;
    for (int i = Draw(3); i > 0; --i) text += Sample(content);
    return text;
  }

  std::string Times(const Json& content, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += Sample(content);
    return text;
  }

  std::string Tag(const Json& tag) {
    const Json& end = tag["end"];
    return tag["begin"].get<std::string>() + Sample(tag["content"]) +
           (end.is_array() ? Pick(end) : end).get<std::string>();
  }

  std::string Tags(const Json& format, const std::string& separator) {
    std::string text = Sample(Pick(format["tags"]));
    if (format["stop_after_first"] == true) return text;
    for (int i = Draw(3); i > 0; --i) text += separator + Sample(Pick(format["tags"]));
    return text;
  }

  static std::string Regex(const std::string& pattern) {
    static const std::map<std::string, std::string> kSamples = {
        {"[0-9]{1,3}", "12"},   {"[A-Za-z0-9]{9}", "abcDEF123"}, {"\\n{0,2}", "\n\n"},
        {"\\n?", "\n"},         {"[A-Za-z0-9_.-]{1,64}", "key"}, {"true|false", "true"},
        {"True|False", "False"}};
    EXPECT_TRUE(kSamples.count(pattern)) << pattern;
    return kSamples.count(pattern) ? kSamples.at(pattern) : "";
  }

  static std::string Grammar(const std::string& grammar) {
    const bool is_python = grammar.find("True") != std::string::npos;
    if (grammar.find("root ::= string") == 0) return "'it\\'s'";
    if (grammar.find("root ::= list") == 0) return is_python ? "['a', 1]" : "[1,2]";
    if (grammar.find("root ::= dict") == 0) return is_python ? "{'a': 1}" : "{a:1}";
    if (grammar.find("root ::= value") == 0) return is_python ? "[1, 2.5]" : "[1,2.5]";
    return is_python ? "k='v', n=None" : "k:[true],n:null";
  }

  Json Value(const Json& schema, const Json& root) {
    if (schema.contains("$ref")) {
      return Value(root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), root);
    }
    if (schema.contains("anyOf")) return Value(Pick(schema["anyOf"]), root);
    const std::string type = schema.value("type", "object");
    if (type == "string") return "Oslo </tool_call>";
    if (type == "integer" || type == "number") return Draw(100);
    if (type == "boolean") return Draw(2) == 0;
    if (type == "null") return nullptr;
    if (type == "array") return Json::array({1, 2});
    Json object = Json::object();
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, property] : properties.items()) object[name] = Value(property, root);
    return object;
  }

  std::mt19937& random_;
};

struct TagParam {
  ToolFormat format;
  bool is_required, is_strict;
};

void PrintTo(const TagParam& param, std::ostream* out) {
  *out << ToolFormatName(param.format) << (param.is_required ? ", required" : ", auto")
       << (param.is_strict ? ", strict" : "");
}

class CallTagTest : public testing::TestWithParam<TagParam> {};

void ExpectFitsTool(const JoinedReply::Call& call, bool is_checked) {
  bool is_known = false;
  for (const Json& tool : TestTools()) is_known |= tool["function"]["name"] == call.name;
  EXPECT_TRUE(is_known) << call.name;
  ASSERT_TRUE(Json::accept(call.arguments)) << call.arguments;
  const Json arguments = Json::parse(call.arguments);
  EXPECT_TRUE(arguments.is_object());
  if (!is_checked) return;
  if (call.name == "any") {
    EXPECT_TRUE(arguments.empty()) << arguments;
  }
  if (call.name == "weather") {
    EXPECT_TRUE(arguments.contains("city") && arguments["city"].is_string()) << arguments;
    EXPECT_TRUE(arguments.value("days", Json(0)).is_number_integer()) << arguments;
    const Json note = arguments.value("note", Json());
    EXPECT_TRUE(note.is_string() || note.is_null()) << arguments;
  }
  if (call.name == "sum") {
    EXPECT_TRUE(arguments.contains("xs") && arguments["xs"].is_array()) << arguments;
  }
}

TEST_P(CallTagTest, TextsThatFollowItAreCalls) {
  const TagParam& param = GetParam();
  const ReplyFormat format = FormatWithReasoning(param.format);
  CallRule rule{.tools = TestTools(), .is_required = param.is_required};
  for (Json& tool : rule.tools) tool["function"]["strict"] = param.is_strict;
  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const ReplyStart start :
       {ReplyStart::kAnswer, ReplyStart::kMayReason, ReplyStart::kReasoning}) {
    rule.is_parallel = start != ReplyStart::kAnswer;
    const Json tag = *CallTag(format, start, rule);
    TagGrammar grammar(tag);
    for (int i = 0; i < 40; ++i) {
      std::string text = TagSampler(random).Sample(tag);
      // A message in harmony begins with a header; after "<|start|>assistant" here.
      ReplyParser::Options options{.format = format, .start = start, .tools = TestTools()};
      options.is_call_array = param.format == ToolFormat::kNone;
      if (param.format == ToolFormat::kHarmony && start == ReplyStart::kAnswer) {
        options.start = ReplyStart::kMayReason;
      }
      SCOPED_TRACE(text);
      EXPECT_TRUE(grammar.Accepts(text));
      const JoinedReply joined = ParseReply(options, text);
      EXPECT_EQ(joined.content, "");
      ASSERT_GE(joined.calls.size(), 1u);
      if (!rule.is_parallel) {
        EXPECT_EQ(joined.calls.size(), 1u);
      }
      for (const JoinedReply::Call& call : joined.calls) {
        ExpectFitsTool(call, param.is_required || param.is_strict);
      }
    }
  }
}

std::vector<TagParam> TagParams() {
  std::vector<TagParam> params = {{ToolFormat::kNone, true, false}};
  for (int i = 1; i <= static_cast<int>(ToolFormat::kOlmo3); ++i) {
    const auto format = static_cast<ToolFormat>(i);
    params.push_back({format, true, false});
    params.push_back({format, false, true});
    params.push_back({format, false, false});
  }
  return params;
}

INSTANTIATE_TEST_SUITE_P(All, CallTagTest, testing::ValuesIn(TagParams()), [](const auto& info) {
  return std::string(ToolFormatName(info.param.format)) + (info.param.is_required ? "Required"
                                                           : info.param.is_strict ? "Strict"
                                                                                  : "Auto");
});

TEST(CallTagTest, NoFormatConstrainsOnlyRequiredCalls) {
  EXPECT_TRUE(CallTag({}, ReplyStart::kAnswer, {.tools = TestTools()})->is_null());
  EXPECT_TRUE(CallTag({.tools = ToolFormat::kHermes}, ReplyStart::kAnswer, {.tools = Json::array()})
                  ->is_null());
}

TEST(CallTagTest, HermesDocument) {
  CallRule rule{.tools = Json::array({TestTools()[2]}), .is_required = true, .is_parallel = false};
  EXPECT_EQ(*CallTag(FormatWithReasoning(ToolFormat::kHermes), ReplyStart::kReasoning, rule),
            Json::parse(R"({"type": "structural_tag", "format": {"type": "sequence", "elements": [
    {"type": "sequence", "elements": [
      {"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": "</think>"},
      {"type": "regex", "pattern": "\\n{0,2}"}]},
    {"type": "tags_with_separator", "tags": [
       {"type": "tag", "begin": "<tool_call>\n{\"name\": \"say\", \"arguments\": ",
        "content": {"type": "json_schema", "json_schema": {"type": "object",
           "properties": {"text": {"type": "string"}}, "required": ["text"]}},
        "end": "}\n</tool_call>"}],
     "separator": "\n", "at_least_one": true, "stop_after_first": true}]}})"));
}

TEST(AnswerTagTest, AnswerFollowsReasoning) {
  const Json answer = {{"type", "regex"}, {"pattern", "yes|no"}};
  EXPECT_EQ(AnswerTag({}, ReplyStart::kMayReason, answer),
            Json({{"type", "structural_tag"}, {"format", answer}}));
  const Json harmony = AnswerTag({.tools = ToolFormat::kHarmony}, ReplyStart::kMayReason, answer);
  EXPECT_EQ(harmony["format"]["elements"][0]["type"], "optional");
  EXPECT_EQ(harmony["format"]["elements"][1]["elements"][0]["value"],
            "<|channel|>final<|message|>");
}

}  // namespace
}  // namespace shortlist
