// /tokenize and /detokenize, as SGLang, vLLM and lm-eval call them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/api_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;

class TokenizeTest : public ApiTest {};

TEST_F(TokenizeTest, TokenizeAndDetokenize) {
  Start();
  HttpClient client = Connect();
  const json one = client.Post("/tokenize", json{{"prompt", kPrompt}}).Json();
  EXPECT_EQ(one["tokens"], RawIds(*encoder_.Encode(kPrompt, {})));
  EXPECT_EQ(one["count"], one["tokens"].size());
  EXPECT_EQ(one["max_model_len"], 1024);
  const json two =
      client.Post("/v1/tokenize", json{{"prompt", {"a", "b c"}}, {"add_special_tokens", false}})
          .Json();
  EXPECT_EQ(two["tokens"].size(), 2u);
  EXPECT_EQ(client.Post("/detokenize", json{{"tokens", one["tokens"]}}).Json()["text"], kPrompt);
  EXPECT_EQ(
      client.Post("/detokenize", json{{"tokens", one["tokens"]}, {"skip_special_tokens", false}})
          .Json()["text"],
      std::string("<s> ") + kPrompt);  // as AutoTokenizer writes it
  EXPECT_EQ(client.Post("/detokenize", json{{"tokens", two["tokens"]}}).Json()["text"],
            (json{"a", "b c"}));
}

TEST_F(TokenizeTest, ConversationTokensMatchChatRoute) {
  Start();
  HttpClient client = Connect();
  const json messages = {{{"role", "user"}, {"content", "Hi"}}};
  const json tokenized = client.Post("/tokenize", json{{"messages", messages}}).Json();
  const json chat =
      client.Post("/v1/chat/completions", json{{"messages", messages}, {"max_tokens", 1}}).Json();
  EXPECT_EQ(tokenized["count"], chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(tokenized["tokens"].size(), tokenized["count"]);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += " word";
  const HttpReply reply =
      client.Post("/tokenize", json{{"messages", {{{"role", "user"}, {"content", text}}}}});
  EXPECT_EQ(reply.Json()["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(client.Post("/tokenize", json{{"messages", 1}}).Json()["error"]["param"], "messages");
}

// Requests of lm_eval.utils.RemoteTokenizer.
TEST_F(TokenizeTest, LmEvalTokenizerFindsItsRoutes) {
  Start();
  HttpClient client = Connect();
  const json info = client.Get("/tokenizer_info").Json();
  EXPECT_EQ(info["eos_token"], "</s>");
  EXPECT_EQ(info["bos_token"], "<s>");
  EXPECT_TRUE(info.contains("pad_token"));
  const json eos =
      client.Post("/tokenize", json{{"prompt", info["eos_token"]}, {"add_special_tokens", false}})
          .Json();
  EXPECT_EQ(eos["tokens"], json{2});
  const json ids =
      client.Post("/tokenize", json{{"prompt", kPrompt}, {"add_special_tokens", false}}).Json();
  EXPECT_EQ(client.Post("/detokenize", json{{"tokens", ids["tokens"]}}).Json()["prompt"], kPrompt);
}

}  // namespace
}  // namespace shortlist
