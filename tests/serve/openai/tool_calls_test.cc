// Replies with tool calls and reasoning, read back from the text of an engine that says what it is
// told.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/serve/openai/tool_calls_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::ElementsAre;

TEST_F(ToolCallsTest, CallsAreTakenOutOfContent) {
  StartWith();
  engine_.Say(kTwoQwenCalls);
  const json choice = Choice(Chat());
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "I look.");
  const json calls = choice["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"]["name"], "tide");
  EXPECT_EQ(calls[0]["function"]["arguments"], "{\"port\": \"Brest\"}");
  EXPECT_EQ(calls[1]["function"]["name"], "add");
  EXPECT_TRUE(calls[0]["id"].get<std::string>().starts_with("call_"));
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);
}

TEST_F(ToolCallsTest, StreamedDeltasJoinToCalls) {
  StartWith();
  engine_.Say(kTwoQwenCalls);
  std::string content, finish;
  json calls = json::array();
  bool is_first = true;
  for (const json& event : Events("/v1/chat/completions", Chat())) {
    const json& choice = event["choices"][0];
    EXPECT_EQ(choice["delta"].contains("role"), is_first);
    is_first = false;
    if (choice["delta"].contains("content")) content += choice["delta"]["content"];
    for (const json& call : choice["delta"].value("tool_calls", json::array())) {
      if (call.contains("id")) {  // the name comes once and whole, in order of the index
        EXPECT_EQ(call["index"], calls.size());
        calls.push_back(call["function"]);
      } else {
        EXPECT_EQ(call["index"], calls.size() - 1);
        EXPECT_FALSE(call["function"].contains("name"));
        calls.back()["arguments"] = calls.back()["arguments"].get<std::string>() +
                                    call["function"]["arguments"].get<std::string>();
      }
    }
    if (!choice["finish_reason"].is_null()) finish = choice["finish_reason"];
  }
  EXPECT_EQ(content, "I look.");
  EXPECT_EQ(finish, "tool_calls");
  const json expected = {{{"name", "tide"}, {"arguments", "{\"port\": \"Brest\"}"}},
                         {{"name", "add"}, {"arguments", "{\"a\": 2}"}}};
  EXPECT_EQ(calls, expected);
}

TEST_F(ToolCallsTest, ChoiceDecidesWhichCallsAreRead) {
  StartWith();
  engine_.Say(kTwoQwenCalls);
  json body = Chat();
  body["tool_choice"] = "none";
  EXPECT_EQ(Choice(body)["message"]["content"], kTwoQwenCalls);
  body["tool_choice"] = "auto";
  body["parallel_tool_calls"] = false;
  EXPECT_EQ(Choice(body)["message"]["tool_calls"].size(), 1u);
  body["parallel_tool_calls"] = true;
  for (const json& named : {json{{"type", "function"}, {"function", {{"name", "tide"}}}},
                            json{{"type", "function"}, {"name", "tide"}}}) {
    body["tool_choice"] = named;
    EXPECT_EQ(Choice(body)["finish_reason"], "stop");  // as OpenAI's API ends a named call
  }
  body["tool_choice"] = "required";
  body["max_tokens"] = 40;
  EXPECT_EQ(Choice(body)["finish_reason"], "length");
}

TEST_F(ToolCallsTest, RequestsThatMayCallFollowGrammar) {
  StartWith();
  engine_.Say("x");
  const auto follows_grammar = [&](const json& body) {
    Choice(body);
    return engine_.arrivals().back().sampling.grammar != nullptr;
  };
  json body = Chat();
  EXPECT_TRUE(follows_grammar(body));
  body["response_format"] = {{"type", "json_object"}};
  EXPECT_TRUE(follows_grammar(body));
  body.erase("tools");
  EXPECT_TRUE(follows_grammar(body));
  body.erase("response_format");
  EXPECT_FALSE(follows_grammar(body));
}

TEST_F(ToolCallsTest, CallsAreReadWhereNoGrammarCanBeFollowed) {
  StartWith(kQwenTemplate, /*grammars=*/nullptr);
  engine_.Say(kTwoQwenCalls);
  json body = Chat();
  EXPECT_EQ(Choice(body)["message"]["tool_calls"].size(), 2u);
  body["tool_choice"] = "required";
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 400);
}

TEST_F(ToolCallsTest, ReasoningIsToldApart) {
  StartWith();
  engine_.Say("<think>\nHm.\n</think>\n\nSeven.");
  json body = Chat();
  body.erase("tools");
  HttpReply reply = Connect().Post("/v1/chat/completions", body);
  json message = reply.Json()["choices"][0]["message"];
  EXPECT_EQ(message["content"], "Seven.");
  EXPECT_EQ(message["reasoning_content"], "Hm.");
  EXPECT_EQ(message["reasoning"], "Hm.");
  EXPECT_EQ(reply.Json()["choices"][0]["finish_reason"], "stop");
  body["include_reasoning"] = false;
  message = Choice(body)["message"];
  EXPECT_EQ(message["content"], "Seven.");
  EXPECT_FALSE(message.contains("reasoning"));
  body.erase("include_reasoning");
  body["separate_reasoning"] = false;
  EXPECT_EQ(Choice(body)["message"]["content"], "<think>\nHm.\n</think>\n\nSeven.");
}

TEST_F(ToolCallsTest, HarmonyReasoningMayStayInContent) {
  StartWith(
      "{% if tools %}{% endif %}{% for m in messages %}<|start|>{{ m.role }}<|message|>"
      "{{ m.content }}<|end|>{% endfor %}<|start|>assistant{# <|channel|> #}");
  engine_.Say(
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"
      "Seven.");
  json body = Chat();
  json message = Choice(body)["message"];
  EXPECT_EQ(message["content"], "Seven.");
  EXPECT_EQ(message["reasoning"], "Hm.");
  body["separate_reasoning"] = false;
  for (const bool has_tools : {true, false}) {
    if (!has_tools) body.erase("tools");
    message = Choice(body)["message"];
    EXPECT_EQ(message["content"], "<|channel|>analysis<|message|>Hm.<|end|>Seven.");
    EXPECT_FALSE(message.contains("reasoning"));
  }
}

TEST_F(ToolCallsTest, CallsInBlockOfMarkdownAreRead) {
  StartWith();
  const std::string call = "{\"name\": \"tide\", \"arguments\": {\"port\": \"Brest\"}}";
  engine_.Say("```json\n" + call + "\n```\n");
  json choice = Choice(Chat());
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], nullptr);
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["arguments"], "{\"port\": \"Brest\"}");
  std::string streamed, finish;
  for (const json& event : Events("/v1/chat/completions", Chat())) {
    const json& delta = event["choices"][0]["delta"];
    EXPECT_EQ(delta.value("content", json("")), "") << delta;
    for (const json& part : delta.value("tool_calls", json::array())) {
      streamed += part["function"].value("name", "") + part["function"].value("arguments", "");
    }
    if (!event["choices"][0]["finish_reason"].is_null()) {
      finish = event["choices"][0]["finish_reason"];
    }
  }
  EXPECT_EQ(streamed, "tide{\"port\": \"Brest\"}");
  EXPECT_EQ(finish, "tool_calls");

  const std::string answer = "```json\n" + call + "\n```\nis how to call it.";
  engine_.Say(answer);
  choice = Choice(Chat());
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["message"]["content"], answer);
}

TEST_F(ToolCallsTest, PromptOpensOrRulesOutReasoning) {
  StartWith();
  engine_.Say("Hm.\n</think>\n\nSeven.");
  json body = Chat();
  body.erase("tools");
  body["chat_template_kwargs"] = {{"enable_thinking", true}};
  HttpReply reply = Connect().Post("/v1/chat/completions", body);
  const json message = reply.Json()["choices"][0]["message"];
  EXPECT_EQ(message["content"], "Seven.");
  EXPECT_EQ(message["reasoning_content"], "Hm.");
  // A token for each byte: those up to the end mark.
  EXPECT_EQ(reply.Json()["usage"]["completion_tokens_details"]["reasoning_tokens"],
            std::string("Hm.\n</think>").size());
  body["chat_template_kwargs"] = {{"enable_thinking", false}};
  engine_.Say("Seven.");
  EXPECT_EQ(Choice(body)["message"]["content"], "Seven.");
}

TEST_F(ToolCallsTest, ReasoningStreamsInPiecesOrWhole) {
  StartWith();
  engine_.Say("<think>\nHm, well.\n</think>\n\nSeven.");
  json body = Chat();
  const auto pieces = [&] {
    std::vector<std::string> found;
    for (const json& event : Events("/v1/chat/completions", body)) {
      const json& delta = event["choices"][0]["delta"];
      if (delta.contains("reasoning_content")) found.push_back(delta["reasoning_content"]);
    }
    return found;
  };
  EXPECT_GT(pieces().size(), 1u);
  body["stream_reasoning"] = false;
  EXPECT_THAT(pieces(), ElementsAre("Hm, well."));
}

TEST_F(ToolCallsTest, ResponsesListReasoningMessageAndCalls) {
  StartWith();
  engine_.Say(std::string("<think>\nHm.\n</think>\n\n") + kTwoQwenCalls);
  json body = {{"input", "Tide?"},
               {"tools",
                {{{"type", "function"}, {"name", "tide"}, {"parameters", json::object()}},
                 {{"type", "function"}, {"name", "add"}, {"parameters", json::object()}}}}};
  const HttpReply reply = Connect().Post("/v1/responses", body);
  ASSERT_EQ(reply.status, 200) << reply.body;
  const json output = reply.Json()["output"];
  ASSERT_EQ(output.size(), 4u);
  EXPECT_EQ(output[0]["type"], "reasoning");
  EXPECT_EQ(output[0]["content"][0]["text"], "Hm.");
  EXPECT_EQ(output[1]["content"][0]["text"], "I look.");
  EXPECT_EQ(output[2]["type"], "function_call");
  EXPECT_EQ(output[2]["name"], "tide");
  EXPECT_EQ(output[3]["arguments"], "{\"a\": 2}");
  EXPECT_NE(output[2]["id"], output[3]["id"]);

  // Streamed, the items are the same, and the deltas of each join to it.
  std::vector<std::string> types;
  std::vector<std::string> joined(4);
  json last;
  for (const json& event : Events("/v1/responses", body)) {
    EXPECT_EQ(event["sequence_number"], types.size());
    types.push_back(event["type"]);
    if (event.contains("delta")) joined[event["output_index"]] += event["delta"];
    last = event;
  }
  EXPECT_THAT(joined, ElementsAre("Hm.", "I look.", "{\"port\": \"Brest\"}", "{\"a\": 2}"));
  EXPECT_EQ(last["type"], "response.completed");
  EXPECT_EQ(last["response"]["output"].size(), 4u);

  // They are sent back in the next request.
  json input = {{{"role", "user"}, {"content", "Tide?"}}};
  for (const json& item : output) input.push_back(item);
  for (const size_t i : {2u, 3u}) {
    input.push_back(
        {{"type", "function_call_output"}, {"call_id", output[i]["call_id"]}, {"output", "high"}});
  }
  body["input"] = input;
  EXPECT_EQ(Connect().Post("/v1/responses", body).status, 200);
}

}  // namespace
}  // namespace shortlist
