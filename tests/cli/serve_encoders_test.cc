#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/cli/cli_testing.h"
#include "tests/cli/serve_process.h"
#include "tests/runtime/tiny_decoder.h"
#include "tests/runtime/tiny_encoder.h"
#include "tests/serve/http/client.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Returns the names of served models from /v1/models.
std::vector<std::string> Names(HttpClient& client) {
  std::vector<std::string> names;
  const json models = client.Get("/v1/models").Json();
  for (const json& card : models["data"]) names.push_back(card["id"]);
  return names;
}

json Embeddings(HttpClient& client, const json& more = json::object()) {
  json body = {{"input", "the cat"}};
  body.update(more);
  return client.Post("/v1/embeddings", body).Json();
}

TEST(ServeEncodersTest, ServesThreeModels) {
  TinyEncoder embed, rerank("bert_classification");
  ServeProcess server(DemoPair() + Args{"--embed-model", embed.Write(), "--embed-model-name", "vec",
                                        "--rerank-model", rerank.Write(), "--rerank-model-name",
                                        "judge", "--max-batch-tokens", "7"});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  EXPECT_THAT(Names(client), testing::ElementsAre("target", "vec", "judge"));
  EXPECT_EQ(Embeddings(client)["model"], "vec");
  EXPECT_EQ(Embeddings(client)["data"][0]["embedding"].size(), 36u);
  const json classes = client.Post("/v1/classify", json{{"input", "the cat"}}).Json();
  EXPECT_EQ(classes["model"], "judge") << classes;
  const json text =
      client.Post("/v1/completions", json{{"prompt", "The `vector` class"}, {"max_tokens", 4}})
          .Json();
  EXPECT_EQ(text["usage"]["completion_tokens"], 4) << text;
  EXPECT_EQ(server.Signal(SIGTERM), 0);
  EXPECT_THAT(server.Log(), testing::ContainsRegex(
                                "event=serving model=.* embed_model=\"vec\" "
                                "embed_architecture=BertModel embed_size=36 embed_input_tokens=30 "
                                "embed_pooling=cls "
                                "rerank_model=\"judge\" rerank_architecture="
                                "BertForSequenceClassification"));
}

TEST(ServeEncodersTest, ServesEncoderOrDecoderAsEmbedder) {
  TinyEncoder tiny;
  for (const Args& args :
       {Args{"--model", tiny.Write()}, DemoTarget() + Args{"--is-embedding", "--dtype", "f32"}}) {
    ServeProcess server(args + Args{"--served-model-name", "vec"});
    const uint16_t port = server.AwaitPort();
    ASSERT_NE(port, 0);
    HttpClient client(port);
    EXPECT_THAT(Names(client), testing::ElementsAre("vec"));
    EXPECT_EQ(Embeddings(client, {{"dimensions", 4}})["data"][0]["embedding"].size(), 4u);
    const HttpReply refused = client.Post("/v1/completions", json{{"prompt", "a"}});
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_EQ(server.Signal(SIGTERM), 0);
  }
}

TEST(ServeEncodersTest, GeneratingModelEmbedsForFastchatOnly) {
  ServeProcess server(DemoTarget());
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  EXPECT_THAT(Names(client), testing::ElementsAre("target"));
  const HttpReply refused = client.Post("/v1/embeddings", json{{"input", "the cat"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("--embed-model"));
  EXPECT_THAT(refused.body, HasSubstr("--is-embedding"));
  const json states =
      client.Post("/worker_get_embeddings", json{{"model", "any"}, {"input", {"a", "a b"}}}).Json();
  ASSERT_EQ(states["embedding"].size(), 2u) << states;
  double norm = 0.0;
  for (const json& value : states["embedding"][1])
    norm += value.get<double>() * value.get<double>();
  EXPECT_NEAR(norm, 1.0, 1e-5);
  EXPECT_EQ(server.Signal(SIGTERM), 0);
}

TEST(ServeEncodersTest, YesNoRerankerReadsInstructions) {
  TinyDecoder tiny("rerankers/qwen3");
  tiny.AddFile("tokenizer.json", tiny.golden()["tokenizer"]);
  tiny.AddFile("chat_template.json", {{"chat_template", kRerankerTemplate}});
  // Given as the model, it is one that makes scores.
  ServeProcess server({"--model", tiny.Write()});
  const uint16_t port = server.AwaitPort();
  ASSERT_NE(port, 0);
  HttpClient client(port);
  for (const json& pair : tiny.golden()["pairs"]) {
    json body = {{"query", pair["query"]},
                 {"documents", {pair["document"]}},
                 {"truncate", true},
                 {"instruct", pair["instruction"]}};
    const HttpReply reply = client.Post("/v2/rerank", body);
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_NEAR(reply.Json()["results"][0]["relevance_score"].get<double>(),
                pair["score"].get<double>(), 1e-4);
  }
  const json empty = {{"query", "a"}, {"documents", {"b"}}, {"instruction", ""}};
  const HttpReply refused = client.Post("/v2/rerank", empty);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("instruction: empty is not supported"));
  EXPECT_EQ(server.Signal(SIGTERM), 0);
}

TEST(ServeEncodersTest, IncompatibleModelsExitWithTwo) {
  TinyEncoder embed, classifier("bert_classification");
  const std::string vectors = embed.Write(), scores = classifier.Write();
  const std::pair<Args, const char*> cases[] = {
      {{"--embed-model", scores}, "makes scores: give it with --rerank-model"},
      {{"--rerank-model", vectors}, "makes embeddings: give it with --embed-model"},
      {{"--embed-model", "/nowhere"}, "--embed-model: /nowhere"},
      {{"--model", vectors, "--embed-model", vectors}, "--embed-model"},
      {{"--model", vectors, "--draft", vectors}, "goes without --draft"},
      {{"--embed-model", vectors, "--draft", vectors}, "--draft without a --model"},
      {DemoPair() + Args{"--is-embedding"}, "goes without --draft"},
      {{"--is-embedding"}, "--is-embedding without a --model"},
      {{"--embed-model", vectors, "--rerank-model", scores, "--embed-model-name", "x",
        "--rerank-model-name", "x"},
       "another model is called `x` too"},
      {DemoTarget() + Args{"--embed-model", vectors, "--embed-model-name", "target"},
       "another model is called `target` too"},
      {{"--embed-model-name", "x"}, "--embed-model"},
      {{"--embed-model", vectors, "--max-batch-tokens", "0"}, "--max-batch-tokens"},
  };
  for (const auto& [args, words] : cases) {
    const ProcessOutcome outcome = RunBinary(Args{"serve", "--threads", "1"} + args);
    EXPECT_EQ(outcome.exit_code, 2) << words << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(words));
    EXPECT_TRUE(outcome.out.empty());
  }
}

}  // namespace
}  // namespace shortlist
