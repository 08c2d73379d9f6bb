// Tools and reasoning, as far as a checkpoint's chat template supports them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A minimal template with tools.
const char kToolTemplate[] =
    "{% if tools %}TOOLS {{ tools | tojson }}\n{% endif %}"
    "{% if reasoning_effort %}EFFORT {{ reasoning_effort }}\n{% endif %}"
    "{% for m in messages %}"
    "{% if m.role == 'tool' %}RESULT {{ m.tool_call_id }} {{ m.content }}\n"
    "{% elif m.tool_calls %}{% for c in m.tool_calls %}"
    "CALL {{ c.function.name }} {{ c.function.arguments.city }}\n{% endfor %}"
    "{% else %}{{ m.role }}: {{ m.content }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}";
const char kPlainTemplate[] =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:";

class ToolsTest : public ServeTest {
 protected:
  void StartWith(const char* source) {
    encoder_with_template_.emplace(DemoTokenizer(),
                                   *ChatTemplate::Create({{"default", source}}, {}),
                                   **FindConversation("zero_shot"));
    Start([this](Server::Options& options) {
      options.generator.prompt_encoder = &*encoder_with_template_;
    });
  }

  /// The prompt that the engine got last.
  std::string LastPrompt() { return DemoTokenizer().Decode(engine_.arrivals().back().input_ids); }

  static json Chat() {
    const json function = {{"name", "weather"}, {"parameters", {{"type", "object"}}}};
    const json call = {{"id", "call_1"},
                       {"type", "function"},
                       {"function", {{"name", "weather"}, {"arguments", "{\"city\": \"Bonn\"}"}}}};
    return {{"messages",
             {{{"role", "user"}, {"content", "Rain?"}},
              {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}},
              {{"role", "tool"}, {"tool_call_id", "call_1"}, {"content", "dry"}},
              {{"role", "user"}, {"content", "Sure?"}}}},
            {"tools", {{{"type", "function"}, {"function", function}}}},
            {"tool_choice", "none"},
            {"max_tokens", 2}};
  }

  json Error(const json& body) {
    const HttpReply reply = Connect().Post("/v1/chat/completions", body);
    EXPECT_EQ(reply.status, 400) << body;
    return reply.Json()["error"];
  }

  std::optional<PromptEncoder> encoder_with_template_;
};

TEST_F(ToolsTest, TemplateGetsToolsCallsAndResults) {
  StartWith(kToolTemplate);
  const HttpReply reply = Connect().Post("/v1/chat/completions", Chat());
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(
      LastPrompt(),
      "TOOLS [{\"function\": {\"name\": \"weather\", \"parameters\": {\"type\": \"object\"}}, "
      "\"type\": \"function\"}]\nuser: Rain?\nCALL weather Bonn\nRESULT call_1 dry\n"
      "user: Sure?\nassistant:");
}

TEST_F(ToolsTest, MessageOfToolCallsAloneHasNoContent) {
  StartWith(
      "{% if tools %}{% endif %}{% for m in messages %}{{ m.role }} "
      "{{ 'content' in m }}{% if m.role == 'tool' %} {{ m.content }}{% endif %}{% if m.tool_calls "
      "%} {{ m.tool_calls[0].function.name }}{% endif %}|"
      "{% endfor %}");
  json body = Chat();
  for (int round = 0; round < 2; ++round) {
    const HttpReply reply = Connect().Post("/v1/chat/completions", body);
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(LastPrompt(), "user True|assistant False weather|tool True dry|user True|");
    body["messages"][1].erase("content");  // null and missing are alike
  }
  body["messages"][1].erase("tool_calls");
  ASSERT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
  EXPECT_EQ(LastPrompt(), "user True|assistant True|tool True dry|user True|");
}

TEST_F(ToolsTest, ArgumentsStayAsTheyWereSentWhereTheTemplateReadsAText) {
  StartWith(
      "{% for m in messages %}{% if m.role != 'tool' and m.tool_calls %}{{ 'call ' + "
      "m.tool_calls[0].function.arguments }}{% else %}{{ m.content }}{% endif %}|{% endfor %}"
      "{% if tools %}{% endif %}");
  json body = Chat();
  body["messages"][1]["tool_calls"][0]["function"]["arguments"] = R"({"a":  1e20, "b": "\u00e9"})";
  ASSERT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
  EXPECT_THAT(LastPrompt(), HasSubstr(R"(call {"a":  1e20, "b": "\u00e9"}|)"));
}

/// The same conversation in the words of /v1/responses.
json Response() {
  return {{"input",
           {{{"role", "user"}, {"content", "Rain?"}},
            {{"type", "function_call"},
             {"call_id", "call_1"},
             {"name", "weather"},
             {"arguments", "{\"city\": \"Bonn\"}"}},
            {{"type", "function_call_output"}, {"call_id", "call_1"}, {"output", "dry"}},
            {{"role", "user"}, {"content", "Sure?"}}}},
          {"tools",
           {{{"type", "function"}, {"name", "weather"}, {"parameters", {{"type", "object"}}}}}},
          {"tool_choice", "none"},
          {"max_output_tokens", 2}};
}

TEST_F(ToolsTest, ResponsesMatchChatInTemplate) {
  StartWith(kToolTemplate);
  const HttpReply reply = Connect().Post("/v1/responses", Response());
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(LastPrompt(),
            "TOOLS [{\"type\": \"function\", \"function\": {\"name\": \"weather\", "
            "\"parameters\": {\"type\": \"object\"}}}]\nuser: Rain?\nCALL weather Bonn\n"
            "RESULT call_1 dry\nuser: Sure?\nassistant:");
  EXPECT_EQ(reply.Json()["tools"], Response()["tools"]);
  EXPECT_EQ(reply.Json()["tool_choice"], "none");
}

TEST_F(ToolsTest, CallsOfOneTurnFormOneMessage) {
  StartWith(kToolTemplate);
  json body = Response();
  json second = body["input"][1];
  second["arguments"] = "{\"city\": \"Ulm\"}";
  body["input"].insert(body["input"].begin() + 2, second);
  body["input"][3]["output"] = {{{"type", "input_text"}, {"text", "wet"}}};
  ASSERT_EQ(Connect().Post("/v1/responses", body).status, 200);
  EXPECT_THAT(LastPrompt(), HasSubstr("CALL weather Bonn\nCALL weather Ulm\nRESULT call_1 wet\n"));
}

TEST_F(ToolsTest, ResponsesToolsAreRejectedByName) {
  StartWith(kToolTemplate);
  const auto refused = [this](const json& body) {
    const HttpReply reply = Connect().Post("/v1/responses", body);
    EXPECT_EQ(reply.status, 400) << body;
    return std::string(reply.Json()["error"]["param"]);
  };
  json body = Response();
  body["tool_choice"] = {{"type", "function"}, {"name", "wether"}};
  EXPECT_EQ(refused(body), "tool_choice");
  body = Response();
  body["tools"][0]["type"] = "web_search";
  EXPECT_EQ(refused(body), "tools[0].type");
  body["tools"][0] = {{"type", "function"}};
  EXPECT_EQ(refused(body), "tools[0].name");
  body["tools"] = 1;
  EXPECT_EQ(refused(body), "tools");
  for (const char* member : {"call_id", "name"}) {
    body = Response();
    body["input"][1].erase(member);
    EXPECT_EQ(refused(body), std::string("input[1].") + member);
  }
  body = Response();
  body["input"][1]["arguments"] = "{";
  EXPECT_EQ(refused(body), "input");
  body = Response();
  body["input"][2].erase("output");
  EXPECT_EQ(refused(body), "input[2].output");
}

TEST_F(ToolsTest, ToolHistoryNeedsNoToolsInRequest) {
  StartWith(kToolTemplate);
  json body = Chat();
  body.erase("tools");
  body.erase("tool_choice");
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
  body["messages"][1]["tool_calls"][0]["function"]["arguments"] = {{"city", "Ulm"}};
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
  EXPECT_THAT(LastPrompt(), HasSubstr("CALL weather Ulm"));
  body["messages"][1]["tool_calls"][0]["function"]["arguments"] = "";
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
}

TEST_F(ToolsTest, ChoicesThatCannotBeMadeAreRejected) {
  StartWith(kToolTemplate);
  const json named = {{"type", "function"}, {"function", {{"name", "wether"}}}};
  const json unnamed = {{"type", "function"}};
  const json none_allowed = {{"type", "allowed_tools"},
                             {"allowed_tools", {{"mode", "auto"}, {"tools", json::array()}}}};
  const json no_mode = {{"type", "allowed_tools"}, {"mode", "any"}, {"tools", {named}}};
  for (const json& choice : {json("any"), json(1), named, unnamed, none_allowed, no_mode}) {
    json body = Chat();
    body["tool_choice"] = choice;
    EXPECT_EQ(Error(body)["param"], "tool_choice") << choice;
  }
  json body = Chat();
  body.erase("tools");
  body["tool_choice"] = "required";
  EXPECT_EQ(Error(body)["param"], "tool_choice");
  body = Chat();
  body["tool_choice"] = "any";
  EXPECT_THAT(std::string(Error(body)["message"]), HasSubstr("\"required\""));
}

TEST_F(ToolsTest, SchemasOfNoObjectAreRejectedWhereArgumentsFollowThem) {
  StartWith(kToolTemplate);
  json body = Chat();
  json text_tool = body["tools"][0];
  text_tool["function"]["name"] = "say";
  text_tool["function"]["parameters"] = {{"type", "string"}};
  body["tools"].push_back(text_tool);
  for (const json& parameters :
       {json{{"type", "array"}}, json{{"type", {"string", "null"}}},
        json{{"$ref", "#/$defs/a"}, {"$defs", {{"a", {{"type", "integer"}}}}}}}) {
    body["tools"][1]["function"]["parameters"] = parameters;
    body["tool_choice"] = "required";
    EXPECT_EQ(Error(body)["param"], "tools[1].function.parameters") << parameters;
    body["tool_choice"] = {{"type", "function"}, {"function", {{"name", "say"}}}};
    EXPECT_EQ(Error(body)["param"], "tools[1].function.parameters");
    body["tool_choice"]["function"]["name"] = "weather";
    EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
    body["tool_choice"] = "auto";
    EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
  }
  body["tools"][1]["function"]["strict"] = true;
  EXPECT_EQ(Error(body)["param"], "tools[1].function.parameters");
}

TEST_F(ToolsTest, ToolsOfOneNameAreRejected) {
  StartWith(kToolTemplate);
  json body = Chat();
  body["tools"].push_back(body["tools"][0]);
  body["tool_choice"] = "auto";
  EXPECT_EQ(Error(body)["param"], "tools[1].function.name");
  EXPECT_THAT(std::string(Error(body)["message"]), HasSubstr("tools[0]"));
  body["tools"][1]["function"].erase("name");
  EXPECT_THAT(std::string(Error(body)["message"]), HasSubstr("missing"));
}

TEST_F(ToolsTest, ToolsThatCannotBeCalledAreRejectedByName) {
  StartWith(kToolTemplate);
  const std::pair<const char*, json> tools[] = {
      {"tools[0].type", {{"type", "custom"}, {"custom", {{"name", "f"}}}}},
      {"tools[0].function", {{"type", "function"}}},
      {"tools[0].function", {{"type", "function"}, {"function", "s"}}},
      {"tools[0].function.name", {{"type", "function"}, {"function", {{"name", "a b"}}}}},
      {"tools[0].function.name", {{"type", "function"}, {"function", {{"name", ""}}}}},
      {"tools[0].function.parameters",
       {{"type", "function"}, {"function", {{"name", "f"}, {"parameters", 1}}}}}};
  for (const auto& [param, tool] : tools) {
    json body = Chat();
    body["tools"] = {tool};
    for (const json& choice :
         {json("auto"), json("required"), json{{"type", "function"}, {"name", "f"}},
          json{{"type", "function"}, {"function", {{"name", "f"}}}}}) {
      body["tool_choice"] = choice;
      EXPECT_EQ(Error(body)["param"], param) << tool << choice;
    }
  }
}

TEST_F(ToolsTest, ErrorShowsBeginningOfLongName) {
  StartWith(kToolTemplate);
  json body = Chat();
  body["tool_choice"] = {{"type", "function"}, {"name", std::string(100'000, 'x')}};
  const std::string message = Error(body)["message"];
  EXPECT_THAT(message, HasSubstr("no tool has the name `xxx"));
  EXPECT_LT(message.size(), 300u);
}

/// Calls are looked for only in a format that is known.
TEST_F(ToolsTest, ToolsAreReportedIgnoredWithoutKnownFormat) {
  StartWith(kToolTemplate);
  json body = Chat();
  body["tool_choice"] = "auto";
  const HttpReply reply = Connect().Post("/v1/chat/completions", body);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.headers.at("x-ignored-fields"), "tools");
  body["tool_choice"] = "none";
  EXPECT_FALSE(Connect().Post("/v1/chat/completions", body).headers.contains("x-ignored-fields"));
}

TEST_F(ToolsTest, MalformedToolsAndCallsAreRejectedByName) {
  StartWith(kToolTemplate);
  const std::pair<const char*, json> calls[] = {
      {"messages[1].tool_calls", {{"a", 1}}},
      {"messages[1].tool_calls[0].function", {1}},
      {"messages[1].tool_calls[0].function", {{{"id", "a"}}}},
      {"messages[1].tool_calls[0].function", {{{"function", {{"name", 5}}}}}},
      {"messages[1].tool_calls[0].function.arguments",
       {{{"function", {{"name", "a"}, {"arguments", "{"}}}}}},
      {"messages[1].tool_calls[0].function.arguments",
       {{{"function", {{"name", "a"}, {"arguments", "[1]"}}}}}},
      {"messages[1].tool_calls[0].function.arguments",
       {{{"function", {{"name", "a"}, {"arguments", 5}}}}}}};
  for (const auto& [param, value] : calls) {
    json body = Chat();
    body["messages"][1]["tool_calls"] = value;
    EXPECT_EQ(Error(body)["param"], param) << value;
  }
  for (const json& tools :
       {json(1), json{1}, json{{"a", 1}}, json(std::vector<json>(129, json::object()))}) {
    json body = Chat();
    body["tools"] = tools;
    EXPECT_EQ(Error(body)["param"], "tools");
  }
  json body = Chat();
  body["messages"][0]["tool_calls"] = body["messages"][1]["tool_calls"];
  EXPECT_EQ(Error(body)["param"], "messages[0].tool_calls");
}

TEST_F(ToolsTest, TemplateWithoutToolsRejectsThemByName) {
  StartWith(kPlainTemplate);
  json body = Chat();
  EXPECT_EQ(Error(body)["param"], "messages[1].tool_calls");
  body["messages"].erase(1);
  EXPECT_EQ(Error(body)["param"], "tools");
  body.erase("tools");
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
  // It writes whatever role there is.
  EXPECT_EQ(LastPrompt(), "user: Rain?\ntool: dry\nuser: Sure?\nassistant:");
}

TEST_F(ToolsTest, TemplateWithoutToolRoleRejectsItByName) {
  StartWith(
      "{% for m in messages %}{% if m.role in ['user', 'assistant'] %}{{ m.content }}\n"
      "{% endif %}{% endfor %}");
  json body = Chat();
  body["messages"].erase(1);
  EXPECT_EQ(Error(body)["param"], "messages[1].role");
  body["messages"].erase(1);
  body.erase("tools");
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
}

TEST_F(ToolsTest, ConversationTemplateRejectsToolsByName) {
  Start();
  EXPECT_EQ(Error(Chat())["param"], "messages[1].tool_calls");
}

TEST_F(ToolsTest, ReasoningEffortReachesTemplate) {
  StartWith(kToolTemplate);
  const json messages = {{{"role", "user"}, {"content", "Hello"}}};
  json body = {{"messages", messages}, {"max_tokens", 1}, {"reasoning_effort", "high"}};
  HttpReply reply = Connect().Post("/v1/chat/completions", body);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_FALSE(reply.headers.contains("x-ignored-fields"));
  EXPECT_THAT(LastPrompt(), HasSubstr("EFFORT high\n"));
  body["chat_template_kwargs"] = {{"reasoning_effort", "low"}};
  EXPECT_EQ(Error(body)["param"], "reasoning_effort");
  reply = Connect().Post("/v1/responses",
                         json{{"input", "Hello"}, {"reasoning", {{"effort", "medium"}}}});
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(LastPrompt(), HasSubstr("EFFORT medium\n"));
}

TEST_F(ToolsTest, UnreadReasoningEffortIsIgnoredAndReported) {
  StartWith(kPlainTemplate);
  const json messages = {{{"role", "user"}, {"content", "Hello"}}};
  HttpReply reply =
      Connect().Post("/v1/chat/completions",
                     json{{"messages", messages}, {"max_tokens", 1}, {"reasoning_effort", "low"}});
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.headers.at("x-ignored-fields"), "reasoning_effort");
  reply =
      Connect().Post("/v1/responses", json{{"input", "Hello"}, {"reasoning", {{"effort", "low"}}}});
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.headers.at("x-ignored-fields"), "reasoning.effort");
}

TEST_F(ToolsTest, EmptyReasoningIsAccepted) {
  Start();
  for (const json& reasoning :
       {json(nullptr), json::object(), json{{"effort", nullptr}}, json{{"summary", nullptr}},
        json{{"effort", nullptr}, {"summary", nullptr}, {"generate_summary", nullptr}}}) {
    const json body = {{"input", "hi"}, {"max_output_tokens", 4}, {"reasoning", reasoning}};
    const HttpReply reply = Connect().Post("/v1/responses", body);
    EXPECT_EQ(reply.status, 200) << body << reply.body;
    EXPECT_FALSE(reply.headers.contains("x-ignored-fields"));
  }
  const std::pair<const char*, json> refused[] = {{"reasoning", 5},
                                                  {"reasoning.effort", {{"effort", 5}}},
                                                  {"reasoning.summary", {{"summary", "auto"}}},
                                                  {"reasoning.efort", {{"efort", "low"}}}};
  for (const auto& [param, reasoning] : refused) {
    const json body = {{"input", "hi"}, {"reasoning", reasoning}};
    EXPECT_EQ(Connect().Post("/v1/responses", body).Json()["error"]["param"], param);
  }
}

}  // namespace
}  // namespace shortlist
