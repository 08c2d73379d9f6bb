// FastChat's routes, vocabulary administration and the page, over a whole server.

#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/serve/http/client.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class DialectsTest : public ServeTest {
 protected:
  int64_t QueueLength() { return Connect().Post("/worker_get_status", "").Json()["queue_length"]; }
};

std::vector<json> Objects(const std::string& body) {
  std::vector<json> objects;
  for (size_t begin = 0, end = 0; (end = body.find('\0', begin)) != body.npos; begin = end + 1) {
    if (end > begin) objects.push_back(json::parse(body.substr(begin, end - begin)));
  }
  return objects;
}

TEST_F(DialectsTest, FastchatMatchesGenerate) {
  engine_.step_us = 2'000;
  Start();
  const json asked = {{"prompt", "Once upon a time"}, {"temperature", 0}, {"max_new_tokens", 40}};
  const json whole = Connect().Post("/worker_generate", asked).Json();
  const std::vector<json> objects = Objects(Connect().Post("/worker_generate_stream", asked).body);
  ASSERT_GT(objects.size(), 3u);
  EXPECT_EQ(objects.back(), whole);
  for (size_t i = 1; i < objects.size(); ++i) {
    EXPECT_TRUE(objects[i]["text"].get<std::string>().starts_with(
        objects[i - 1]["text"].get<std::string>()));
  }
  const json generated =
      Connect()
          .Post("/generate",
                json{{"text", "Once upon a time"},
                     {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 40}}}})
          .Json();
  EXPECT_EQ(generated["text"], whole["text"]);
  EXPECT_EQ(generated["meta_info"]["prompt_tokens"],
            Connect().Post("/count_token", json{{"prompt", "Once upon a time"}}).Json()["count"]);
}

TEST_F(DialectsTest, FastchatRejectsOversizedRequestBeforeComputing) {
  Start();
  const int64_t num_steps = engine_.num_steps;
  std::string prompt;
  for (int i = 0; i < 2000; ++i) prompt += " word";
  const json object = Connect().Post("/worker_generate", json{{"prompt", prompt}}).Json();
  EXPECT_EQ(object["error_code"], 40303);
  EXPECT_EQ(engine_.num_tokens, 0);
  EXPECT_LE(engine_.num_steps, num_steps + 1);
}

TEST_F(DialectsTest, AbortAllIncludesQueuedRequests) {
  engine_.step_us = 5'000;
  Start([](Server::Options& options) {
    options.fastchat.limit_worker_concurrency = 1;
    options.keys.admin = "admin";
  });
  HttpClient runs = Connect(), waits = Connect(), waits_too = Connect();
  for (HttpClient* client : {&runs, &waits, &waits_too}) {
    client->Send(
        PostRequest("/worker_generate", json{{"prompt", "Hi"}, {"max_new_tokens", 900}}.dump()));
  }
  EXPECT_TRUE(Await([this] { return QueueLength() == 3 && engine_.num_tokens > 0; }));
  const json aborted =
      Connect().Post("/abort_all_requests", "{}", "Authorization: Bearer admin\r\n").Json();
  EXPECT_EQ(aborted["aborted"], 3);
  for (HttpClient* client : {&runs, &waits, &waits_too}) {
    const json reply = client->Receive().Json();
    EXPECT_NE(reply["error_code"], 0) << reply;
  }
  EXPECT_TRUE(Await([this] { return QueueLength() == 0; }));
}

TEST_F(DialectsTest, DisconnectedFastchatClientFreesItsPlace) {
  engine_.step_us = 5'000;
  Start([](Server::Options& options) {
    options.fastchat.limit_worker_concurrency = 1;
    options.health_port = 0;
  });
  {
    HttpClient runs = Connect(), waits = Connect();
    for (HttpClient* client : {&runs, &waits}) {
      client->Send(PostRequest("/worker_generate_stream",
                               json{{"prompt", "Hi"}, {"max_new_tokens", 900}}.dump()));
    }
    EXPECT_TRUE(Await([this] { return QueueLength() == 2 && engine_.num_tokens > 0; }));
    EXPECT_EQ(engine_.num_live, 1);
    // One waits, and is in the metrics.
    const testing::Matcher<const std::string&> matches =
        testing::ContainsRegex("sglang:num_queue_reqs\\{[^}]*\\} 1\n");
    EXPECT_TRUE(Await([&] { return matches.Matches(Connect().Get("/metrics").body); }));
    EXPECT_TRUE(matches.Matches(HttpClient(server_->health_port()).Get("/metrics").body));
    EXPECT_EQ(Connect().Get("/v1/loads").Json()["loads"][0]["num_waiting_reqs"], 1);
    EXPECT_EQ(Connect().Get("/get_load").Json()[0]["num_reqs"], 2);
    EXPECT_EQ(Connect().Get("/server_info").Json()["internal_states"][0]["num_waiting_reqs"], 1);
    // Requests of other dialects count too.
    HttpClient other = Connect();
    other.Send(PostRequest(
        "/generate", json{{"text", "Hi"}, {"sampling_params", {{"max_new_tokens", 900}}}}.dump()));
    EXPECT_TRUE(Await([this] { return QueueLength() == 3; }));
  }
  EXPECT_TRUE(Await([this] { return QueueLength() == 0; }));
}

TEST_F(DialectsTest, FastchatServerErrorsUseFastchatFormat) {
  Start([](Server::Options& options) { options.keys.api = {{.key = "key"}}; });
  const HttpReply reply = Connect().Post("/worker_generate", "{}");
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.Json()["error_code"], 40101);
  HttpClient client = Connect();
  client.Send(
      "POST /worker_generate HTTP/1.1\r\nHost: a\r\nX-Api-Key: key\r\n"
      "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}");
  const HttpReply type = client.Receive();
  EXPECT_EQ(type.status, 415);
  EXPECT_EQ(type.Json()["error_code"], 40001);
}

TEST_F(DialectsTest, VocabularyRequiresAdminKey) {
  Start();
  for (const char* path : {"/vocab", "/vocab/stats", "/vocab/escapes", "/vocab/counts"}) {
    EXPECT_EQ(Connect().Get(path).status, 403) << path;
  }
  Stop();
  Start([](Server::Options& options) { options.keys = {{{.key = "key"}}, "admin"}; });
  for (const char* path : {"/vocab/base", "/vocab/ids"}) {
    EXPECT_EQ(Connect().Post(path, "{}").status, 401) << path;
    EXPECT_EQ(Connect().Post(path, "{}", "Authorization: Bearer key\r\n").status, 401) << path;
    const HttpReply reply = Connect().Post(path, "{}", "Authorization: Bearer admin\r\n");
    EXPECT_EQ(reply.status, 400) << path;  // nothing to administer here
    EXPECT_THAT(reply.body, HasSubstr("no active vocabulary"));
  }
}

TEST_F(DialectsTest, CountsMatchOutput) {
  Start([](Server::Options& options) {
    options.keys.admin = "admin";
    options.vocab.target = {DemoTokenizer().size(), DemoTokenizer().Fingerprint()};
  });
  const std::string key = "Authorization: Bearer admin\r\n";
  EXPECT_EQ(Connect().Get("/vocab/counts", key).status, 404);
  int64_t num_tokens = 0;
  for (const char* prompt : {"One", "Two", "One"}) {
    const json asked = {{"prompt", prompt}, {"temperature", 0}, {"max_new_tokens", 30}};
    num_tokens += Connect()
                      .Post("/worker_generate", asked)
                      .Json()["usage"]["completion_tokens"]
                      .get<int64_t>();
  }
  const HttpReply reply = Connect().Get("/vocab/counts", key);
  EXPECT_THAT(reply.headers.at("content-disposition"), HasSubstr("counts.vocab.json"));
  const std::vector<int64_t> counts = reply.Json()["counts"];
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), num_tokens);
}

TEST_F(DialectsTest, PageNeedsNoKey) {
  Start([](Server::Options& options) { options.keys = {{{.key = "key"}}, "admin"}; });
  const HttpReply reply = Connect().Get("/");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(reply.body, HasSubstr("<title>shortlist</title>"));
  EXPECT_THAT(reply.body, HasSubstr("<link rel=\"icon\" href=\"data:image/svg+xml,<svg"));
}

TEST_F(DialectsTest, DocsPageLoadsNothingExternal) {
  Start([](Server::Options& options) { options.keys = {{{.key = "key"}}, "admin"}; });
  const HttpReply reply = Connect().Get("/docs");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(reply.body, HasSubstr("<title>shortlist: API</title>"));
  EXPECT_THAT(reply.body, HasSubstr("fetch(\"/openapi.json\")"));
  EXPECT_THAT(reply.body, testing::Not(HasSubstr("src=")));
  EXPECT_THAT(reply.headers.at("content-security-policy"), HasSubstr("script-src 'sha256-"));
  EXPECT_NE(reply.headers.at("content-security-policy"),
            Connect().Get("/").headers.at("content-security-policy"));
}

}  // namespace
}  // namespace shortlist
