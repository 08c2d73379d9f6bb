// Limits of one client, and its isolation from others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ClientTest : public ServeTest {};

std::string Bearer(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }

void TwoKeys(Server::Options& options) { options.keys.api = {{"one", "k1"}, {"two", "k2"}}; }

TEST_F(ClientTest, ManyProbesCostOneToken) {
  engine_.step_us = 20'000;
  Start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([this] {
      HttpClient client = Connect();
      for (int k = 0; k < 5; ++k) EXPECT_EQ(client.Get("/health_generate").status, 200);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(engine_.num_tokens, 1);
  EXPECT_LE(engine_.num_tokens, 3);  // one a second, and the test may take that long
}

TEST_F(ClientTest, AbandonedProbeResultIsReused) {
  engine_.step_us = 50'000;
  Start();
  {
    HttpClient gone = Connect();
    ASSERT_TRUE(gone.Send("GET /health_generate HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_TRUE(Await([this] { return !engine_.arrivals().empty(); }));
  }
  EXPECT_EQ(Connect().Get("/health_generate").status, 200);
}

TEST_F(ClientTest, AbortEndsRequestsOfSameKeyOnly) {
  engine_.step_us = 2'000;
  Start(TwoKeys);
  HttpClient streaming = Connect();
  const json body = {{"text", "a"},
                     {"rid", "mine"},
                     {"stream", true},
                     {"sampling_params", {{"max_new_tokens", 1000}, {"ignore_eos", true}}}};
  ASSERT_TRUE(streaming.Send(PostRequest("/generate", body.dump(), Bearer("k1"))));
  ASSERT_TRUE(Await([this] { return engine_.num_live == 1; }));
  const std::string abort = R"({"rid": "mine"})";
  EXPECT_EQ(Connect().Post("/abort_request", abort, Bearer("k2")).Json()["aborted"], false);
  // A name is taken by its own client only.
  const json same = {{"text", "a"}, {"rid", "mine"}, {"sampling_params", {{"max_new_tokens", 1}}}};
  EXPECT_EQ(Connect().Post("/generate", same.dump(), Bearer("k2")).status, 200);
  EXPECT_EQ(Connect().Post("/generate", same.dump(), Bearer("k1")).status, 400);
  EXPECT_EQ(engine_.num_live, 1);
  EXPECT_EQ(Connect().Post("/abort_request", abort, Bearer("k1")).Json()["aborted"], true);
  EXPECT_TRUE(AwaitIdle());
}

TEST_F(ClientTest, KeysShareNoPrefixes) {
  Start(TwoKeys);
  for (const char* key : {"k1", "k2", "k1"}) {
    const json body = {{"text", "a"}, {"cache_salt", "s"}};
    EXPECT_EQ(Connect().Post("/generate", body.dump(), Bearer(key)).status, 200);
  }
  const std::vector<FakeEngine::Arrival> arrivals = engine_.arrivals();
  ASSERT_EQ(arrivals.size(), 3u);
  EXPECT_NE(arrivals[0].client, arrivals[1].client);
  EXPECT_NE(arrivals[0].cache_salt, arrivals[1].cache_salt);
  EXPECT_EQ(arrivals[0].client, arrivals[2].client);
  EXPECT_EQ(arrivals[0].cache_salt, arrivals[2].cache_salt);
  EXPECT_THAT(arrivals[0].cache_salt, Not(HasSubstr("k1")));
}

TEST_F(ClientTest, WithoutKeysAddressesAreClientsWithSharedPrefixes) {
  Start();
  EXPECT_EQ(Connect().Post("/generate", R"({"text": "a"})").status, 200);
  ASSERT_EQ(engine_.arrivals().size(), 1u);
  EXPECT_THAT(engine_.arrivals()[0].client, HasSubstr("127.0.0.1"));
  EXPECT_THAT(engine_.arrivals()[0].cache_salt, IsEmpty());
}

TEST_F(ClientTest, OversizedTextIsRejectedByLength) {
  Start();
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += "a ";
  HttpClient client = Connect();
  const json message = {{"role", "user"}, {"content", text}};
  for (const auto& [path, body] :
       {std::pair<std::string, json>{"/generate", {{"text", text}}},
        {"/v1/completions", {{"model", "demo"}, {"prompt", text}, {"n", 64}}},
        {"/v1/chat/completions", {{"model", "demo"}, {"messages", json::array({message})}}}}) {
    const HttpReply reply = client.Post(path, body);
    EXPECT_EQ(reply.status, 400) << path;
    EXPECT_EQ(reply.Json()["error"]["code"], "context_length_exceeded") << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("1024")) << path;
  }
  EXPECT_EQ(client.Post("/worker_generate", json{{"prompt", text}}).Json()["error_code"], 40303);
  EXPECT_EQ(engine_.num_tokens, 0);
}

TEST_F(ClientTest, TextToCountIsBounded) {
  Start();
  HttpClient client = Connect();
  const std::string text(3 << 20, 'a');
  for (const char* path : {"/tokenize", "/count_token"}) {
    EXPECT_THAT(client.Post(path, json{{"prompt", text}}).body, HasSubstr("262144")) << path;
  }
}

TEST_F(ClientTest, UnstreamedLogprobsAreBounded) {
  Start();
  HttpClient client = Connect();
  const json message = {{"role", "user"}, {"content", "a"}};
  json chat = {{"model", "demo"},  {"messages", json::array({message})},
               {"logprobs", true}, {"top_logprobs", 20},
               {"n", 128},         {"max_tokens", 1000}};
  const HttpReply refused = client.Post("/v1/chat/completions", chat);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.Json()["error"]["param"], "top_logprobs");
  const json batch = {{"text", "a"},
                      {"return_logprob", true},
                      {"top_logprobs_num", 20},
                      {"sampling_params", {{"n", 128}, {"max_new_tokens", 1000}}}};
  EXPECT_EQ(client.Post("/generate", batch).Json()["error"]["param"], "top_logprobs_num");
  chat["max_tokens"] = 3;
  EXPECT_EQ(client.Post("/v1/chat/completions", chat).Json()["choices"].size(), 128u);
  chat["max_tokens"] = 500;
  chat["n"] = 1;
  EXPECT_EQ(client.Post("/v1/chat/completions", chat).status, 200);
}

}  // namespace
}  // namespace shortlist
