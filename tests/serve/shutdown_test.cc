// Replies and log lines when the server ends before its requests do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMessage = "the server is shutting down";

/// A server whose requests take longer than it has left.
class ShutdownTest : public ServeTest {
 protected:
  ShutdownTest() { engine_.step_us = 20'000; }
  ~ShutdownTest() override { std::filesystem::remove(log_file_); }

  void StartWithLog() {
    Start([this](Server::Options& options) {
      options.drain_timeout = std::chrono::milliseconds(50);
      options.logs_requests = true;
      options.log_file = log_file_;
      options.http.limits.max_body_bytes = 64 << 20;
    });
  }

  /// Sends a request that generates for long, and waits until the engine has it.
  std::unique_ptr<HttpClient> Ask(const std::string& path, const json& body) {
    const int64_t before = engine_.num_live;
    auto client = std::make_unique<HttpClient>(port());
    client->Send(PostRequest(path, body.dump()));
    EXPECT_TRUE(Await([&] { return engine_.num_live > before; })) << path;
    return client;
  }
  /// The same as a stream, until it has begun.
  std::unique_ptr<HttpClient> AskStream(const std::string& path, json body) {
    body["stream"] = true;
    auto client = Ask(path, body);
    EXPECT_TRUE(client->AwaitBytes()) << path;
    return client;
  }

  std::string StopAndReadLog() {
    Stop();
    server_.reset();  // the log is written to its end
    std::ifstream file(log_file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string log_file_ = absl::StrCat(testing::TempDir(), "shutdown-", getpid());
  const json generate_ = {{"text", "a"},
                          {"sampling_params", {{"max_new_tokens", 900}, {"ignore_eos", true}}}};
  const json completion_ = {{"prompt", "a"}, {"max_tokens", 900}, {"ignore_eos", true}};
  const json chat_ = {{"messages", {{{"role", "user"}, {"content", "a"}}}},
                      {"max_tokens", 900},
                      {"ignore_eos", true}};
  const json response_ = {{"input", "a"}, {"max_output_tokens", 900}};
  const json fastchat_ = {{"prompt", "a"}, {"max_new_tokens", 900}};
};

TEST_F(ShutdownTest, StreamsEndWithErrorOfTheirDialect) {
  StartWithLog();
  const auto completion = AskStream("/v1/completions", completion_);
  const auto chat = AskStream("/v1/chat/completions", chat_);
  const auto response = AskStream("/v1/responses", response_);
  const auto generate = AskStream("/generate", generate_);
  const auto fastchat = AskStream("/worker_generate_stream", fastchat_);
  const std::string log = StopAndReadLog();

  for (HttpClient* client : {completion.get(), chat.get()}) {
    const HttpReply reply = client->Receive();
    EXPECT_TRUE(reply.complete);
    const std::vector<std::string> events = reply.Events();
    ASSERT_GE(events.size(), 2u) << reply.body;
    EXPECT_EQ(events.back(), "[DONE]");
    EXPECT_EQ(events[events.size() - 2],
              R"({"error":{"message":"the server is shutting down","type":"server_error",)"
              R"("param":null,"code":"shutdown"}})");
  }
  const HttpReply failed = response->Receive();
  EXPECT_TRUE(failed.complete);
  const json last = json::parse(failed.Events().back());
  EXPECT_EQ(last["type"], "response.failed");
  EXPECT_EQ(last["response"]["error"]["message"], kMessage);
  const HttpReply aborted = generate->Receive();
  EXPECT_TRUE(aborted.complete);
  EXPECT_THAT(aborted.body, HasSubstr(R"("finish_reason":{"type":"abort","message":)"
                                      R"("the server is shutting down","status_code":503})"));
  EXPECT_THAT(fastchat->Receive().body, HasSubstr(R"("error_code":42903)"));

  EXPECT_THAT(log, Not(HasSubstr("client_gone")));
  for (const char* route : {"/v1/completions", "/v1/chat/completions", "/v1/responses", "/generate",
                            "/worker_generate_stream"}) {
    const size_t line = log.find(absl::StrCat("route=", route, " status=200"));
    ASSERT_NE(line, log.npos) << log;
    EXPECT_THAT(log.substr(line, log.find('\n', line) - line), HasSubstr(" error=shutdown"));
  }
}

TEST_F(ShutdownTest, RequestsWithoutReplyGet503) {
  StartWithLog();
  std::vector<std::unique_ptr<HttpClient>> clients;
  clients.push_back(Ask("/v1/completions", completion_));
  clients.push_back(Ask("/v1/chat/completions", chat_));
  clients.push_back(Ask("/v1/responses", response_));
  clients.push_back(Ask("/generate", generate_));
  const std::string log = StopAndReadLog();
  for (const auto& client : clients) {
    const HttpReply reply = client->Receive();
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.Json()["error"]["message"], kMessage) << reply.body;
    EXPECT_EQ(reply.Json()["error"]["code"], "shutdown");
    EXPECT_TRUE(client->AwaitClose());
  }
  EXPECT_THAT(log, Not(HasSubstr("client_gone")));
  EXPECT_THAT(log, HasSubstr("route=/generate status=503"));
  EXPECT_THAT(log, HasSubstr(" error=shutdown"));
}

/// It does not end with what is generated.
TEST_F(ShutdownTest, PartiallySentRequestGets503) {
  StartWithLog();
  HttpClient half_header = Connect(), half_body = Connect();
  half_header.Send("POST /generate HTTP/1.1\r\nHo");
  const std::string request = PostRequest("/generate", generate_.dump());
  half_body.Send(request.substr(0, request.size() - 5));
  EXPECT_EQ(Connect().Get("/health").status, 200);  // after what was sent before
  const std::string log = StopAndReadLog();
  for (HttpClient* client : {&half_header, &half_body}) {
    const HttpReply reply = client->Receive();
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.Json()["error"]["message"], kMessage) << reply.body;
    EXPECT_TRUE(client->AwaitClose());
  }
  EXPECT_THAT(log, Not(HasSubstr("client_gone")));
}

/// A client that reads nothing gets no error and does not delay the end.
TEST_F(ShutdownTest, ClientThatReadsNothingIsCut) {
  engine_.step_us = 0;
  StartWithLog();
  json body = completion_;
  body["n"] = 64;
  body["max_tokens"] = 1000;
  body["logprobs"] = 20;
  const auto client = AskStream("/v1/completions", body);
  EXPECT_TRUE(Await([this] { return engine_.num_live == 0; }));
  const auto begin = std::chrono::steady_clock::now();
  const std::string log = StopAndReadLog();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_THAT(log, HasSubstr(" error=shutdown"));
  EXPECT_THAT(log, Not(HasSubstr("client_gone")));
}

}  // namespace
}  // namespace shortlist
