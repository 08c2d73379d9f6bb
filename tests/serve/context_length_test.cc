// Requests that exceed the context, in every dialect.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/api_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ContextLengthTest : public ApiTest {};

TEST_F(ContextLengthTest, OversizedRequestGetsErrorClientsParse) {
  Start();
  HttpClient client = Connect();
  const auto error = [&](const std::string& path, const json& body) {
    const HttpReply reply = client.Post(path, body);
    EXPECT_EQ(reply.status, 400) << path;
    json details = reply.Json()["error"];
    EXPECT_EQ(details["code"], "context_length_exceeded") << path;
    EXPECT_EQ(details["type"], "invalid_request_error") << path;
    return details;
  };
  const std::string prompt_len = std::to_string(encoder_.Encode("a b c", {})->size());
  const std::string total = std::to_string(encoder_.Encode("a b c", {})->size() + 1024);
  const auto message_of = [&](const std::string& field) {
    return "This model's maximum context length is 1024 tokens. However, you requested " + total +
           " tokens (" + prompt_len + " in the " + field +
           ", 1024 in the completion): context_length_exceeded. Please reduce the " + field +
           " or the completion.";
  };
  const json completion =
      error("/v1/completions", {{"model", "demo"}, {"prompt", "a b c"}, {"max_tokens", 1024}});
  EXPECT_EQ(completion["message"], message_of("prompt"));
  EXPECT_EQ(completion["param"], "prompt");
  const json generated =
      error("/generate", {{"text", "a b c"}, {"sampling_params", {{"max_new_tokens", 1024}}}});
  EXPECT_EQ(generated["message"], message_of("text"));
  EXPECT_EQ(generated["param"], "text");
  // Counted no further than the context.
  std::string text;
  for (int i = 0; i < 2000; ++i) text += " word";
  const json stream = error("/generate", {{"text", text}, {"stream", true}});
  EXPECT_THAT(stream["message"],
              HasSubstr("at least 1153 tokens (more than 1024 in the text, 128"));
  const json message = {{"role", "user"}, {"content", text}};
  const json chat = error("/v1/chat/completions", {{"messages", json::array({message})}});
  EXPECT_THAT(chat["message"], HasSubstr("more than 1024 in the messages, 1 in the completion"));
  EXPECT_EQ(chat["param"], "messages");
}

TEST_F(ContextLengthTest, UnschedulableRequestGetsSameCode) {
  Start();
  engine_.max_total_tokens = 100;
  HttpClient client = Connect();
  const HttpReply reply = client.Post(
      "/v1/completions", json{{"model", "demo"}, {"prompt", "a b c"}, {"max_tokens", 100}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.Json()["error"]["code"], "context_length_exceeded");
  EXPECT_THAT(reply.body, HasSubstr("KV slots"));
  const json worker =
      client.Post("/worker_generate", json{{"prompt", "a b c"}, {"max_new_tokens", 100}}).Json();
  EXPECT_EQ(worker["error_code"], 40303);
}

TEST_F(ContextLengthTest, WorkerRequestIsClampedToContext) {
  Start();
  HttpClient client = Connect();
  const json reply =
      client
          .Post("/worker_generate",
                json{{"prompt", "a b c"}, {"max_new_tokens", 100'000}, {"temperature", 0}})
          .Json();
  EXPECT_EQ(reply["error_code"], 0) << reply;
  EXPECT_LE(reply["usage"]["total_tokens"], 1024);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += " word";
  EXPECT_EQ(client.Post("/worker_generate", json{{"prompt", text}}).Json()["error_code"], 40303);
}

}  // namespace
}  // namespace shortlist
