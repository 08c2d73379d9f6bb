// Calls that a request requires or constrains, and calls that are cut.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/serve/openai/tool_calls_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;

class ConstrainedCallsTest : public ToolCallsTest {};

TEST_F(ConstrainedCallsTest, CallCutByStopStringIsNotFinished) {
  StartWith();
  engine_.Say(kTwoQwenCalls);
  json body = Chat();
  const auto expect = [&](const char* stop, const char* finish, size_t num_calls,
                          const char* arguments) {
    body["stop"] = stop;
    const json choice = Choice(body);
    EXPECT_EQ(choice["finish_reason"], finish) << stop;
    const json calls = choice["message"].value("tool_calls", json::array());
    ASSERT_EQ(calls.size(), num_calls) << stop;
    if (num_calls > 0) {
      EXPECT_EQ(calls.back()["function"]["arguments"], arguments);
    }
    std::string streamed;
    for (const json& event : Events("/v1/chat/completions", body)) {
      if (!event["choices"][0]["finish_reason"].is_null()) {
        streamed = event["choices"][0]["finish_reason"];
      }
    }
    EXPECT_EQ(streamed, finish) << stop;
  };
  expect("Brest", "stop", 1, "{\"port\": \"");
  expect("\"tide", "stop", 0, "");
  expect("</tool_call>", "tool_calls", 1, "{\"port\": \"Brest\"}");
  expect("2}", "stop", 2, "{\"a\": ");
}

TEST_F(ConstrainedCallsTest, RequiredCallsLeaveNoMarkInContent) {
  StartWith();
  engine_.Say("<tool_call>\n{\"name\": \"tide\", \"arguments\": {}}\n</tool_call>");
  json body = Chat();
  for (const char* stop : {"\n", "{", "tide", "call"}) {
    body["stop"] = stop;
    body["tool_choice"] = "required";
    const json choice = Choice(body);
    EXPECT_EQ(choice["message"]["content"], "") << stop;
    EXPECT_FALSE(choice["message"].contains("tool_calls")) << stop;
    EXPECT_EQ(choice["finish_reason"], "stop") << stop;
    body["tool_choice"] = "auto";
    EXPECT_TRUE(Choice(body)["message"]["content"].get<std::string>().starts_with("<tool_"));
  }
}

TEST_F(ConstrainedCallsTest, FormatHasNoEffectOnRequiredCalls) {
  StartWith();
  engine_.Say("<tool_call>\n{\"name\": \"tide\", \"arguments\": {}}\n</tool_call>");
  json body = Chat();
  body["response_format"] = {
      {"type", "json_schema"},
      {"json_schema", {{"name", "s"}, {"schema", {{"type", "array"}, {"uniqueItems", true}}}}}};
  for (const json& choice : {json("required"), json{{"type", "function"}, {"name", "tide"}}}) {
    body["tool_choice"] = choice;
    EXPECT_EQ(Choice(body)["message"]["tool_calls"].size(), 1u);
  }
  const HttpReply noted = Connect().Post("/v1/chat/completions", body);
  EXPECT_EQ(noted.headers.at("x-ignored-fields"), "response_format");
  const json response = {
      {"input", "Tide?"},
      {"tools", {{{"type", "function"}, {"name", "tide"}, {"parameters", json::object()}}}},
      {"tool_choice", {{"type", "function"}, {"name", "tide"}}},
      {"text",
       {{"format", {{"type", "json_schema"}, {"name", "s"}, {"schema", {{"type", "object"}}}}}}}};
  const HttpReply reply = Connect().Post("/v1/responses", response);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.Json()["output"][0]["type"], "function_call");
}

TEST_F(ConstrainedCallsTest, SchemasThatCannotBeFollowedAreRejectedByTool) {
  const std::string coder =
      "{% if tools %}{% endif %}{# <function= <parameter= #}{{ messages[0].content }}";
  json body = Chat();
  body["tool_choice"] = {{"type", "function"}, {"name", "add"}};
  body["tools"][1]["function"]["parameters"]["properties"]["port"] = {{"type", "array"},
                                                                      {"uniqueItems", true}};
  for (const bool is_json : {true, false}) {
    StartWith(is_json ? kQwenTemplate : coder.c_str());
    const HttpReply reply = Connect().Post("/v1/chat/completions", body);
    ASSERT_EQ(reply.status, 400) << reply.body;
    const json error = reply.Json()["error"];
    EXPECT_EQ(error["param"],
              std::string("tools[1].function.parameters") + (is_json ? "" : ".properties.port"));
    EXPECT_THAT(std::string(error["message"]), testing::HasSubstr("uniqueItems"));
    EXPECT_THAT(std::string(error["message"]), testing::Not(testing::HasSubstr("#/format")));
    if (is_json) Stop();
  }
}

TEST_F(ConstrainedCallsTest, PropertiesThatTheFormatCannotNameAreRejected) {
  StartWith("{% if tools %}{% endif %}{# <function= <parameter= #}{{ messages[0].content }}");
  json body = Chat();
  body["tools"][0]["function"]["parameters"]["properties"]["a>b"] = {{"type", "string"}};
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
  body["tool_choice"] = "required";
  HttpReply reply = Connect().Post("/v1/chat/completions", body);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.Json()["error"]["param"], "tools");
  EXPECT_THAT(std::string(reply.Json()["error"]["message"]), testing::HasSubstr("`a>b`"));
  body["tool_choice"] = "auto";
  body["response_format"] = {{"type", "json_object"}};
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 400);
}

}  // namespace
}  // namespace shortlist
