// Calls whose arguments must follow a schema, in every format: what the grammar allows is read back
// as arguments that the schema accepts.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "reply_cases.h"
#include "tag_grammar.h"
#include "text/reply/reply_format.h"

namespace shortlist {
namespace {

using Json = nlohmann::ordered_json;
using enum ToolFormat;

struct ValueCase {
  const char* name;
  const char* schema;
  bool (*accepts)(const Json& value);
};

void PrintTo(const ValueCase& value_case, std::ostream* out) { *out << value_case.name; }

bool IsDigit(const Json& value) { return value.is_number_integer() && value >= 0 && value <= 9; }

bool IsColor(const Json& value) { return value == "red" || value == "dark blue"; }

bool IsPoint(const Json& value) {
  return value.is_object() && value.size() == 1 && value.contains("n") && IsDigit(value["n"]);
}

bool IsWord(const Json& value) {
  return value.is_string() &&
         std::regex_match(value.get_ref<const std::string&>(), std::regex("[ab]{2}"));
}

const ValueCase kValues[] = {
    {"ReferenceToObject", R"({"$ref": "#/$defs/Point"})", IsPoint},
    {"MixedEnum", R"({"enum": ["a b", "c", 2, null]})",
     [](const Json& value) {
       return value == "a b" || value == "c" || value == 2 || value.is_null();
     }},
    {"MixedEnumOfTypes", R"({"type": ["string", "null"], "enum": ["a b", "c"]})",
     [](const Json& value) { return value == "a b" || value == "c"; }},
    {"DigitOrNull", R"({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9},
                                  {"type": "null"}]})",
     [](const Json& value) { return IsDigit(value) || value.is_null(); }},
    {"Pattern", R"({"type": "string", "pattern": "^[ab]{2}$"})", IsWord},
    {"PatternOrNull", R"({"anyOf": [{"type": "string", "pattern": "^[ab]{2}$"},
                                    {"type": "null"}]})",
     [](const Json& value) { return IsWord(value) || value.is_null(); }},
    {"PatternOfMarks", R"({"type": "string", "pattern": "^[<>|/a-z_]{1,40}$"})",
     [](const Json& value) { return value.is_string() && !value.get<std::string>().empty(); }},
    {"Length", R"({"type": "string", "minLength": 1, "maxLength": 2})",
     [](const Json& value) {
       const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
       const auto text = value.is_string() ? value.get<std::string>() : "";
       const auto length = std::count_if(text.begin(), text.end(), is_start);
       return length >= 1 && length <= 2;
     }},
    {"Date", R"({"type": "string", "format": "date"})",
     [](const Json& value) { return value.is_string() && value.get<std::string>().size() == 10; }},
    {"List", R"({"type": "array", "items": {"$ref": "#/$defs/Digit"}, "minItems": 2,
                 "maxItems": 3})",
     [](const Json& value) {
       return value.is_array() && value.size() >= 2 && value.size() <= 3 &&
              std::all_of(value.begin(), value.end(), IsDigit);
     }},
    {"Nested", R"({"type": "object", "properties": {"p": {"$ref": "#/$defs/Point"},
                   "c": {"$ref": "#/$defs/Color"}}, "required": ["p"],
                   "additionalProperties": false})",
     [](const Json& value) {
       return value.is_object() && value.contains("p") && IsPoint(value["p"]) &&
              (value.size() == 1 || (value.contains("c") && IsColor(value["c"])));
     }},
    {"ReferenceToStrings", R"({"$ref": "#/$defs/Color"})", IsColor},
    {"StringsOrNull", R"({"anyOf": [{"$ref": "#/$defs/Color"}, {"type": "null"}]})",
     [](const Json& value) { return IsColor(value) || value.is_null(); }},
    {"ReferenceToProperty", R"({"$ref": "#/properties/other"})", IsDigit},
    {"PropertyNamedAsKeyword", R"({"type": "object", "properties": {"default":
                   {"$ref": "#/properties/other"}}, "required": ["default"],
                   "additionalProperties": false})",
     [](const Json& value) {
       return value.is_object() && IsDigit(value.value("default", Json()));
     }},
    {"Flag", R"({"type": ["boolean", "null"], "description": "d"})",
     [](const Json& value) { return value.is_boolean() || value.is_null(); }}};

Json Tools(const Json& schema) {
  Json parameters = Json::parse(R"({"properties": {}, "required": ["v"],
    "$defs": {"Point": {"type": "object", "properties": {"n": {"$ref": "#/$defs/Digit"}},
                        "required": ["n"], "additionalProperties": false},
              "Digit": {"type": "integer", "minimum": 0, "maximum": 9},
              "Color": {"type": "string", "enum": ["red", "dark blue"]}}})");
  parameters["properties"]["v"] = schema;
  parameters["properties"]["other"] = {{"type", "integer"}, {"minimum", 0}, {"maximum", 9}};
  return Json::array({{{"type", "function"},
                       {"function", {{"name", "f"}, {"parameters", std::move(parameters)}}}}});
}

class ArgumentSchemasTest : public testing::TestWithParam<ValueCase> {};

TEST_P(ArgumentSchemasTest, RequiredCallsFollowThem) {
  const ValueCase& value = GetParam();
  const CallRule rule{
      .tools = Tools(Json::parse(value.schema)), .is_required = true, .is_parallel = false};
  std::mt19937 random(20);
  for (int i = 1; i <= static_cast<int>(kOlmo3); ++i) {
    const ReplyFormat format{.tools = static_cast<ToolFormat>(i)};
    SCOPED_TRACE(ToolFormatName(format.tools));
    const auto tag = CallTag(format, ReplyStart::kAnswer, rule);
    ASSERT_TRUE(tag.ok()) << tag.status();
    TagGrammar grammar(*tag);
    for (int draw = 0; draw < 30; ++draw) {
      const std::string text = grammar.Draw(random);
      if (text.empty()) continue;  // a number or white space that went on
      const ReplyStart start =
          format.tools == kHarmony ? ReplyStart::kMayReason : ReplyStart::kAnswer;
      const JoinedReply reply =
          ParseReply({.format = format, .start = start, .tools = rule.tools}, text);
      ASSERT_EQ(reply.calls.size(), 1u) << text;
      ASSERT_TRUE(Json::accept(reply.calls[0].arguments)) << text;
      const Json arguments = Json::parse(reply.calls[0].arguments);
      ASSERT_TRUE(arguments.contains("v")) << text;
      EXPECT_TRUE(value.accepts(arguments["v"])) << arguments << "\n" << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ArgumentSchemasTest, testing::ValuesIn(kValues),
                         [](const auto& info) { return std::string(info.param.name); });

bool IsAllowed(ToolFormat format, const std::string& text, const char* schema) {
  const CallRule rule{
      .tools = Tools(Json::parse(schema)), .is_required = true, .is_parallel = false};
  return TagGrammar(*CallTag({.tools = format}, ReplyStart::kAnswer, rule)).Accepts(text);
}

TEST(ArgumentSchemasTest, UsualSpellingsAreAllowed) {
  const auto olmo = [](const std::string& value) {
    return "<function_calls>\nf(v=" + value + ")\n</function_calls>";
  };
  EXPECT_TRUE(IsAllowed(kOlmo3, olmo("None"), kValues[3].schema));
  EXPECT_TRUE(IsAllowed(kOlmo3, olmo("7"), kValues[3].schema));
  EXPECT_TRUE(IsAllowed(kOlmo3, olmo("True"), R"({"type": ["boolean", "null"]})"));
  EXPECT_TRUE(IsAllowed(kOlmo3, olmo("'it\\'s'"), R"({"type": "string"})"));
  EXPECT_TRUE(IsAllowed(kOlmo3, olmo("['a', {'b': None}]"), R"({"type": "array"})"));
  EXPECT_FALSE(IsAllowed(kOlmo3, olmo("{'b': None}"), R"({"type": "array"})"));
  const auto coder = [](const std::string& value) {
    return "<tool_call>\n<function=f>\n<parameter=v>\n" + value +
           "\n</parameter>\n</function>\n</tool_call>";
  };
  EXPECT_TRUE(IsAllowed(kQwen3Coder, coder("dark blue"),
                        R"({"anyOf": [{"$ref": "#/$defs/Color"}, {"type": "null"}]})"));
  EXPECT_TRUE(IsAllowed(kQwen3Coder, coder("a b"), kValues[1].schema));
  EXPECT_TRUE(IsAllowed(kQwen3Coder, coder("ab"), kValues[5].schema));
  EXPECT_TRUE(IsAllowed(kQwen3Coder, coder("a \"b\"\nc"), R"({"type": ["string", "null"]})"));
  EXPECT_TRUE(IsAllowed(kQwen3Coder, coder("\"\n"), R"({"type": "string", "maxLength": 2})"));
  EXPECT_FALSE(IsAllowed(kQwen3Coder, coder("20"), kValues[3].schema));
}

TEST(ArgumentSchemasTest, KeywordsOfAllArgumentsAreRejectedOutsideOfJson) {
  CallRule rule{.tools = Tools(Json::parse(R"({"type": "integer"})")), .is_required = true};
  rule.tools[0]["function"]["parameters"]["minProperties"] = 2;
  for (const ToolFormat format : {kQwen3Coder, kMiniMaxM2, kOlmo3, kGemma4}) {
    const absl::Status status = CallTag({.tools = format}, ReplyStart::kAnswer, rule).status();
    EXPECT_NE(status.message().find("tool `f`"), std::string::npos) << status;
    EXPECT_NE(status.message().find("minProperties"), std::string::npos) << status;
  }
  EXPECT_TRUE(CallTag({.tools = kHermes}, ReplyStart::kAnswer, rule).ok());
}

TEST(ArgumentSchemasTest, SchemasThatGemmaCannotWriteAreRejected) {
  const CallRule rule{.tools = Tools(Json::parse(R"({"type": "array", "uniqueItems": true})")),
                      .is_required = true};
  const absl::Status status = CallTag({.tools = kGemma4}, ReplyStart::kAnswer, rule).status();
  EXPECT_NE(status.message().find("property `v`"), std::string::npos) << status;
}

TEST(ArgumentSchemasTest, HostileSchemasEndInErrors) {
  Json properties = Json::object();
  for (int i = 0; i < 2'000; ++i) {
    properties["p" + std::to_string(i)] = {{"$ref", "#/$defs/Large"}};
  }
  Json tools = Tools(Json::object());
  tools[0]["function"]["parameters"]["properties"] = properties;
  tools[0]["function"]["parameters"]["$defs"]["Large"] = {
      {"type", "integer"}, {"description", std::string(100'000, 'x')}};
  Json loop = Tools(Json::parse(R"({"$ref": "#/$defs/Loop"})"));
  loop[0]["function"]["parameters"]["$defs"]["Loop"] = Json::parse(
      R"({"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "array",
          "items": {"$ref": "#/$defs/Loop"}}, {"type": "string"}]})");
  Json malformed = Tools(Json::parse(R"([{"$ref": "#/properties/v"}])"));
  malformed[0]["function"]["parameters"]["properties"]["a"] = {{"$ref", "#/properties/v"}};
  malformed[0]["function"]["parameters"]["properties"]["default"] = {{"anyOf", {1, "a"}}};
  Json unlisted = Tools(Json::object());
  for (int i = 0; i < 20'000; ++i) {
    unlisted[0]["function"]["parameters"]["required"].push_back("r" + std::to_string(i));
  }
  for (const ToolFormat format : {kQwen3Coder, kDeepSeekV32, kOlmo3, kGemma4}) {
    for (const Json& odd : {malformed, loop}) {
      (void)CallTag({.tools = format}, ReplyStart::kAnswer, {.tools = odd, .is_required = true});
    }
    EXPECT_FALSE(
        CallTag({.tools = format}, ReplyStart::kAnswer, {.tools = unlisted, .is_required = true})
            .ok());
    EXPECT_FALSE(
        CallTag({.tools = format}, ReplyStart::kAnswer, {.tools = tools, .is_required = true})
            .ok());
  }
}

}  // namespace
}  // namespace shortlist
