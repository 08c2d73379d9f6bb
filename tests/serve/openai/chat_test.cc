// /v1/chat/completions: the rendered prompt and the length of the output.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/api_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;

class ChatTest : public ApiTest {};

TEST_F(ChatTest, ChatsAreRenderedAndAnswered) {
  Start();
  HttpClient client = Connect();
  json body = {{"model", "demo"},
               {"temperature", 0},
               {"max_tokens", 8},
               {"logprobs", true},
               {"top_logprobs", 2},
               {"messages",
                {{{"role", "system"}, {"content", "Be brief."}},
                 {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "Hello"}}}}}}}};
  const json reply = client.Post("/v1/chat/completions", body).Json();
  const json choice = reply["choices"][0];
  EXPECT_EQ(reply["object"], "chat.completion");
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["logprobs"]["content"].size(), 8u);
  EXPECT_EQ(choice["logprobs"]["content"][0]["top_logprobs"].size(), 2u);
  body["stream"] = true;
  const HttpReply stream = client.Post("/v1/chat/completions", body);
  std::string joined;
  const std::vector<std::string> events = stream.Events();
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const json chunk = json::parse(events[i]);
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_EQ(chunk["choices"][0]["delta"].contains("role"), i == 0);
    joined += chunk["choices"][0]["delta"]["content"];
  }
  EXPECT_EQ(joined, choice["message"]["content"]);
}

TEST_F(ChatTest, StopStringsOfTemplateDoNotCutConstrainedOutput) {
  Start();  // the conversation template stops at "###"
  engine_.Say("{\"t\": \"a ### b\"}");
  json body = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}, {"max_tokens", 40}};
  const auto content = [&] {
    return Connect().Post("/v1/chat/completions", body).Json()["choices"][0]["message"]["content"];
  };
  EXPECT_EQ(content(), "{\"t\": \"a ");
  const json schema = {{"type", "object"}, {"properties", {{"t", {{"pattern", "^a ### b$"}}}}}};
  body["response_format"] = {{"type", "json_schema"},
                             {"json_schema", {{"name", "t"}, {"schema", schema}}}};
  EXPECT_EQ(content(), "{\"t\": \"a ### b\"}");
  body["stop"] = "b";
  EXPECT_EQ(content(), "{\"t\": \"a ### ");
  body.erase("stop");
  body.erase("response_format");
  body["regex"] = ".*";
  EXPECT_EQ(content(), "{\"t\": \"a ### b\"}");
}

TEST_F(ChatTest, TemplatesSeeKeysInRequestOrder) {
  auto chat_template = ChatTemplate::Create(
      {{"default", "{{ docs | tojson }} {{ messages[0].annotations | tojson }}"}}, {});
  ASSERT_TRUE(chat_template.ok()) << chat_template.status();
  const PromptEncoder encoder(DemoTokenizer(), *std::move(chat_template),
                              **FindConversation("zero_shot"));
  Start([&](Server::Options& options) { options.generator.prompt_encoder = &encoder; });
  HttpClient client = Connect();
  const std::string body =
      R"({"model": "demo", "temperature": 0, "max_tokens": 8,
          "messages": [{"role": "user", "annotations": {"z": 1, "a": {"y": 2, "b": 3}},
                        "content": "x"}],
          "chat_template_kwargs": {"docs": [{"title": "t", "body": "b"}]}})";
  const json chat = client.Post("/v1/chat/completions", body).Json();
  const std::string prompt = R"([{"title": "t", "body": "b"}] {"z": 1, "a": {"y": 2, "b": 3}})";
  const auto ids = DemoTokenizer().Encode(prompt, {.add_special_tokens = false});
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(chat["choices"][0]["message"]["content"], Text(engine_.Output(*ids, 0, 8)));
  Stop();  // before the encoder goes
}

TEST_F(ChatTest, TemplateGetsPartsIfItReadsThem) {
  auto chat_template = ChatTemplate::Create(
      {{"default",
        "{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}<{{ p.text }}>"
        "{% endif %}{% endfor %}{% endfor %}"}},
      {});
  ASSERT_TRUE(chat_template.ok()) << chat_template.status();
  const PromptEncoder encoder(DemoTokenizer(), *std::move(chat_template),
                              **FindConversation("zero_shot"));
  Start([&](Server::Options& options) { options.generator.prompt_encoder = &encoder; });
  HttpClient client = Connect();
  const auto answer = [&](json content) {
    const json body = {{"model", "demo"},
                       {"temperature", 0},
                       {"max_tokens", 8},
                       {"messages", {{{"role", "user"}, {"content", std::move(content)}}}}};
    return client.Post("/v1/chat/completions", body).Json()["choices"][0]["message"]["content"];
  };
  const auto expected = [&](const std::string& prompt) {
    const auto ids = DemoTokenizer().Encode(prompt, {.add_special_tokens = false});
    return Text(engine_.Output(*ids, 0, 8));
  };
  const json one = {{"type", "text"}, {"text", "one"}}, two = {{"type", "text"}, {"text", "two"}};
  EXPECT_EQ(answer(json::array({one, two})), expected("<one><two>"));
  EXPECT_EQ(answer("one"), expected("<one>"));
  Stop();  // before the encoder goes
}

TEST_F(ChatTest, WithoutMaxTokensChatFillsContext) {
  Start();
  const json reply =
      Connect()
          .Post("/v1/chat/completions", json{{"model", "demo"},
                                             {"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                                             {"stop", json::array()}})
          .Json();
  const int64_t total = reply["usage"]["total_tokens"];
  EXPECT_LE(total, 1024);
  if (reply["choices"][0]["finish_reason"] == "length") {
    EXPECT_EQ(total, 1024);
  }
}

}  // namespace
}  // namespace shortlist
