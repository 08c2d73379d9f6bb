#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "serve/openai/response_writer.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ResponsesTest : public ServeTest {
 protected:
  static json Message(const std::string& role, const json& content) {
    return {{"role", role}, {"content", content}};
  }
  /// Returns the reply of the chat route to `messages`.
  std::string ChatText(const json& messages, int64_t max_tokens) {
    const json body = {{"messages", messages}, {"temperature", 0}, {"max_tokens", max_tokens}};
    const json reply = Connect().Post("/v1/chat/completions", body).Json();
    return reply["choices"][0]["message"]["content"];
  }
  json Respond(json body) {
    body["temperature"] = 0;
    body["max_output_tokens"] = 12;
    const HttpReply reply = Connect().Post("/v1/responses", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.Json();
  }
};

TEST_F(ResponsesTest, ValuesOfIncludeAreRejectedWithReason) {
  Start();
  for (const char* value : {"message.output_text.logprobs", "reasoning.encrypted_content"}) {
    const HttpReply reply =
        Connect().Post("/v1/responses", json{{"input", "hi"}, {"include", {value}}});
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(reply.Json()["error"]["param"], "include");
    EXPECT_NE(reply.body.find("no value is supported"), std::string::npos) << reply.body;
  }
  const json body = {{"input", "hi"}, {"max_output_tokens", 1}, {"include", json::array()}};
  EXPECT_EQ(Connect().Post("/v1/responses", body).status, 200);
}

TEST_F(ResponsesTest, TextMatchesChatRoute) {
  Start();
  const json response = Respond({{"model", "demo"}, {"input", "Hello"}});
  EXPECT_EQ(response["object"], "response");
  EXPECT_EQ(response["model"], "demo");
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(response["max_output_tokens"], 12);
  const json item = response["output"][0];
  EXPECT_EQ(item["role"], "assistant");
  EXPECT_EQ(item["content"][0]["type"], "output_text");
  EXPECT_EQ(item["content"][0]["text"], ChatText(json::array({Message("user", "Hello")}), 12));
  EXPECT_EQ(response["usage"]["output_tokens"], 12);
  EXPECT_EQ(response["usage"]["total_tokens"],
            response["usage"]["input_tokens"].get<int64_t>() + 12);
}

TEST_F(ResponsesTest, ItemsAndInstructionsFormConversation) {
  Start();
  const json parts = {{{"type", "input_text"}, {"text", "Hello"}}};
  const json spoken = {{{"type", "output_text"}, {"text", "Hi"}, {"annotations", json::array()}}};
  json assistant = Message("assistant", spoken);
  assistant["type"] = "message";
  assistant["id"] = "msg_1";
  const json input = {Message("developer", "Be kind"), Message("user", parts), assistant,
                      Message("user", "Again")};
  const json response = Respond({{"instructions", "Be short"}, {"input", input}});
  const json messages = {Message("system", "Be short"), Message("system", "Be kind"),
                         Message("user", "Hello"), Message("assistant", "Hi"),
                         Message("user", "Again")};
  EXPECT_EQ(response["output"][0]["content"][0]["text"], ChatText(messages, 12));
  EXPECT_EQ(response["instructions"], "Be short");
}

TEST_F(ResponsesTest, StreamSendsTypedEventsInOrder) {
  Start();
  const json body = {
      {"input", "Hello"}, {"stream", true}, {"temperature", 0}, {"max_output_tokens", 12}};
  const HttpReply stream = Connect().Post("/v1/responses", body);
  EXPECT_EQ(stream.status, 200);
  std::vector<std::string> types;
  std::string text;
  int64_t number = 0;
  json last;
  for (const std::string& event : stream.Events()) {
    last = json::parse(event);
    const std::string type = last["type"];
    EXPECT_THAT(stream.body, HasSubstr("event: " + type + "\n"));
    EXPECT_EQ(last["sequence_number"], number++);
    if (type == "response.output_text.delta") text += last["delta"];
    if (types.empty() || types.back() != type) types.push_back(type);
  }
  EXPECT_THAT(types, testing::ElementsAre(
                         "response.created", "response.in_progress", "response.output_item.added",
                         "response.content_part.added", "response.output_text.delta",
                         "response.output_text.done", "response.content_part.done",
                         "response.output_item.done", "response.incomplete"));
  EXPECT_EQ(text, ChatText(json::array({Message("user", "Hello")}), 12));
  EXPECT_EQ(last["response"]["output"][0]["content"][0]["text"], text);
  EXPECT_EQ(last["response"]["usage"]["output_tokens"], 12);
}

TEST(ResponseWriterTest, LastItemOfFailedResponseIsIncomplete) {
  const ReplyPlan plan;
  ResponseWriter writer(plan, {.rid = "1", .model = "demo", .echoed = json::object()});
  std::string events = writer.Events({.text = "Hel", .tokens = {{.text = "Hel"}}});
  EXPECT_THAT(events, HasSubstr("\"status\":\"in_progress\""));
  events = writer.Events({.finished = true, .status = absl::InternalError("broken")});
  EXPECT_THAT(events, testing::Not(HasSubstr("response.output_item.done")));
  const size_t at = events.find("data: ");
  ASSERT_NE(at, std::string::npos);
  const json last = json::parse(events.substr(at + 6));
  EXPECT_EQ(last["type"], "response.failed");
  EXPECT_EQ(last["response"]["error"]["message"], "broken");
  ASSERT_EQ(last["response"]["output"].size(), 1u);
  EXPECT_EQ(last["response"]["output"][0]["status"], "incomplete");
}

TEST_F(ResponsesTest, UnsupportedFieldsAreRejectedByName) {
  Start();
  HttpClient client = Connect();
  const std::pair<const char*, json> cases[] = {
      {"store", true},
      {"previous_response_id", "resp_1"},
      {"tools[0].type", {{{"type", "web_search"}}}},
      {"background", true},
      {"text.format.schema", {{"format", {{"type", "json_schema"}}}}},
      {"text.format.type", {{"format", {{"type", "xml"}}}}},
      {"text.verbosity", {{"verbosity", "low"}}},
      {"text.formt", {{"formt", {{"type", "text"}}}}},
      {"stream_options.x", {{"x", 1}}},
      {"metadata", 5},
      {"metadata", {{"a", {{"b", 1}}}}},
      {"metadata", {{"a", std::string(513, 'x')}}},
      {"metadata", {{std::string(65, 'x'), "a"}}},
      {"user", 5},
      {"input", 1},
      {"input", json::array()},
      {"input[0].type", {{{"type", "item_reference"}}}},
      {"input[0].call_id", {{{"type", "function_call_output"}}}},
      {"input[0].content", json::array({Message("user", 1)})},
      {"input[0].role", {{{"content", "a"}}}},
      {"input[0].content[0].type", json::array({Message("user", {{{"type", "input_image"}}})})},
      {"truncation", "auto"},
      {"max_tokens", 5},
      {"max_output_tokens", 0},
      {"temperature", 3},
      {"model", "gpt-4o"}};
  for (const auto& [field, value] : cases) {
    json body = {{"input", "a"}};
    const std::string name = field;
    body[name.substr(0, name.find_first_of(".["))] = value;
    const json error = client.Post("/v1/responses", body).Json()["error"];
    EXPECT_EQ(error["param"], field) << error;
  }
  EXPECT_EQ(client.Post("/v1/responses", json::object()).Json()["error"]["param"], "input");
  EXPECT_EQ(client.Post("/v1/responses", json{{"input", "a"}, {"store", false}}).status, 200);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += " word";
  const json error = client.Post("/v1/responses", json{{"input", text}}).Json()["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "input");
}

}  // namespace
}  // namespace shortlist
