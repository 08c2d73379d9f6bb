#include "serve/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <random>
#include <thread>

#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

const char kGenerate[] = R"({"text": "one two three", "sampling_params": {"max_new_tokens": 4}})";

class HttpServerTest : public ServeTest {};

TEST_F(HttpServerTest, ServesSequentialRequestsOnOneConnection) {
  Start();
  HttpClient client = Connect();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.Get("/health").status, 200);
    EXPECT_EQ(client.Post("/generate", kGenerate).status, 200);
  }
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  Start();
  HttpClient client = Connect();
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    const std::string id = "X-Request-Id: r" + std::to_string(i) + "\r\n";
    requests += PostRequest("/generate", kGenerate, id);
  }
  ASSERT_TRUE(client.Send(requests));
  for (int i = 0; i < 20; ++i) {
    const HttpReply reply = client.Receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.headers.at("x-request-id"), "r" + std::to_string(i));
  }
}

TEST_F(HttpServerTest, AcceptsRequestByteByByte) {
  Start();
  HttpClient client = Connect();
  for (const char c : PostRequest("/generate", kGenerate)) client.Send({&c, 1});
  EXPECT_EQ(client.Receive().status, 200);
}

TEST_F(HttpServerTest, ChunkedBodiesAndExpectContinue) {
  Start();
  HttpClient client = Connect();
  const std::string body = kGenerate;
  client.Send(
      "POST /generate HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.ReceiveSome(), HasSubstr("100 Continue"));
  for (const char c : body) client.Send(std::string("1\r\n") + c + "\r\n");
  client.Send("0\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 200);
}

TEST_F(HttpServerTest, CurlDefaultTypeGetsHint) {
  Start();
  HttpClient client = Connect();
  client.Send(
      "POST /generate HTTP/1.1\r\nHost: t\r\nContent-Type: application/x-www-form-urlencoded\r\n"
      "Content-Length: 2\r\n\r\n{}");
  const HttpReply reply = client.Receive();
  EXPECT_EQ(reply.status, 415);
  EXPECT_THAT(reply.body, HasSubstr("application/x-www-form-urlencoded"));
  EXPECT_THAT(reply.body, HasSubstr("-H 'Content-Type: application/json'"));
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  Start();
  HttpClient client = Connect();
  client.Send("HEAD /health HTTP/1.1\r\nHost: t\r\n\r\n");
  const HttpReply reply = client.Receive(/*is_head=*/true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.headers.at("content-length"), "0");
  EXPECT_EQ(client.Get("/health").status, 200);
}

TEST_F(HttpServerTest, Http10GetsUnchunkedStreamThenClose) {
  Start();
  HttpClient client = Connect();
  const std::string body = R"({"text": "a b", "stream": true})";
  client.Send("POST /generate HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  const HttpReply reply = client.Receive();
  EXPECT_EQ(reply.headers.count("transfer-encoding"), 0u);
  EXPECT_EQ(reply.Events().back(), "[DONE]");
}

TEST_F(HttpServerTest, IdsAndTracesAreForwarded) {
  Start();
  HttpClient client = Connect();
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const HttpReply reply =
      client.Get("/health", "X-Request-Id: mine\r\ntraceparent: " + trace + "\r\n");
  EXPECT_EQ(reply.headers.at("x-request-id"), "mine");
  EXPECT_EQ(reply.headers.at("traceparent"), trace);
  const HttpReply other = client.Get("/health", "X-Request-Id: a b\r\ntraceparent: 00-1-2-3\r\n");
  EXPECT_EQ(other.headers.at("x-request-id").size(), 32u);
  EXPECT_EQ(other.headers.count("traceparent"), 0u);
}

/// Raw bytes of a request and the status of the reply; 0: the connection closes without one.
struct RawCase {
  const char* name;
  std::string bytes;
  int status;
};

std::vector<RawCase> RawCases() {
  const std::string post = "POST /generate HTTP/1.1\r\nHost: t\r\n";
  const std::string json = "Content-Type: application/json\r\n";
  std::string many = "GET /health HTTP/1.1\r\nHost: t\r\n";
  for (int i = 0; i < 150; ++i) many += "X-" + std::to_string(i) + ": 1\r\n";
  return {
      {"no HTTP", "hello there\r\n\r\n", 400},
      {"binary", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), 400},
      {"no path", "GET  HTTP/1.1\r\n\r\n", 400},
      {"unknown version", "GET /health HTTP/9.9\r\n\r\n", 400},
      {"relative target", "GET health HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {"broken escape", "GET /health%zz HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {"escaped NUL", "GET /health%00 HTTP/1.1\r\nHost: t\r\n\r\n", 400},
      {"header without a name", "GET /health HTTP/1.1\r\nHost: t\r\n: x\r\n\r\n", 400},
      {"header with a control character", "GET /health HTTP/1.1\r\nHost: t\r\nX: a\x01\r\n\r\n",
       400},
      {"many headers", many + "\r\n", 431},
      {"a long header",
       "GET /health HTTP/1.1\r\nHost: t\r\nX: " + std::string(64 << 10, 'x') + "\r\n\r\n", 431},
      {"a long target", "GET /" + std::string(64 << 10, 'x') + " HTTP/1.1\r\nHost: t\r\n\r\n", 431},
      {"unknown path", "GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n", 404},
      {"wrong method", "GET /generate HTTP/1.1\r\nHost: t\r\n\r\n", 405},
      {"made-up method", "BREW /health HTTP/1.1\r\nHost: t\r\n\r\n", 405},
      {"negative length", post + json + "Content-Length: -1\r\n\r\n", 400},
      {"huge length", post + json + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {"too long a body", post + json + "Content-Length: 1000000000\r\n\r\n", 413},
      {"two lengths", post + json + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
      {"length and chunks",
       post + json + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"chunk size is not a number",
       post + json + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400},
      {"chunk size is huge",
       post + json + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n", 413},
      {"chunk too long for its size",
       post + json + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}xxxx\r\n0\r\n\r\n", 400},
      {"no content type", post + "Content-Length: 2\r\n\r\n{}", 415},
      {"a form",
       post + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\n{}",
       415},
      {"packed", post + json + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 415},
  };
}

TEST_F(HttpServerTest, BadRequestsGetTheirStatus) {
  Start();
  for (const RawCase& c : RawCases()) {
    HttpClient client = Connect();
    client.Send(c.bytes);
    const HttpReply reply = client.Receive();
    EXPECT_EQ(reply.status, c.status) << c.name << ": " << reply.body;
    EXPECT_TRUE(reply.Json()["error"]["message"].is_string()) << c.name << ": " << reply.body;
  }
}

TEST_F(HttpServerTest, TruncatedRequestsEnd) {
  Start();
  for (const std::string& bytes :
       {std::string("GET /hea"), std::string("POST /generate HTTP/1.1\r\nHost: t\r\n"),
        PostRequest("/generate", kGenerate).substr(0, 150)}) {
    HttpClient client = Connect();
    client.Send(bytes);
    client.ShutdownSend();
    EXPECT_EQ(client.Receive().status, 400) << bytes;
    EXPECT_TRUE(client.AwaitClose()) << bytes;
  }
  EXPECT_EQ(engine_.num_tokens, 0);
}

TEST_F(HttpServerTest, RandomBytesAreHarmless) {
  Start([](Server::Options& options) {
    HttpLimits& limits = options.http.limits;
    limits.header_timeout = limits.body_timeout = limits.idle_timeout = milliseconds(2000);
  });
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = PostRequest("/generate", kGenerate, "X-A: b\r\n");
    for (int k = 0; k < 4; ++k) {
      const size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 8);
          break;
        default:
          bytes.insert(at, std::string(1 + random() % 8, static_cast<char>(random())));
      }
    }
    HttpClient client = Connect();
    client.Send(bytes);
    client.ShutdownSend();
    EXPECT_TRUE(client.AwaitClose());
  }
}

TEST_F(HttpServerTest, SlowClientsGetTimeoutAndAreCut) {
  Start([](Server::Options& options) {
    options.http.limits.header_timeout = milliseconds(100);
    options.http.limits.body_timeout = milliseconds(100);
    options.http.limits.idle_timeout = milliseconds(300);
  });
  HttpClient silent = Connect(), half_header = Connect(), half_body = Connect();
  half_header.Send("GET /health HT");
  half_body.Send(PostRequest("/generate", kGenerate).substr(0, 150));
  EXPECT_EQ(half_header.Receive().status, 408);
  EXPECT_EQ(half_body.Receive().status, 408);
  EXPECT_TRUE(half_header.AwaitClose());
  EXPECT_TRUE(half_body.AwaitClose());
  EXPECT_TRUE(silent.AwaitClose());
}

/// The process stands still while deadlines pass: here, its I/O thread.
TEST_F(HttpServerTest, BytesSentDuringPauseAreRead) {
  std::atomic<bool> holds = true;
  Start([&](Server::Options& options) {
    options.http.limits.header_timeout = milliseconds(500);
    options.http.limits.body_timeout = milliseconds(500);
    options.http.limits.idle_timeout = milliseconds(500);
    options.keys.admin = "root";
    options.generator.flush_cache = [&] { EXPECT_TRUE(Await([&] { return !holds; })); };
  });
  HttpClient idle = Connect(), half_header = Connect(), half_body = Connect(), holder = Connect();
  EXPECT_EQ(idle.Get("/health").status, 200);
  const std::string request = PostRequest("/generate", kGenerate);
  half_header.Send(request.substr(0, 20));
  half_body.Send(request.substr(0, request.size() - 5));
  holder.Send("GET /flush_cache HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer root\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(100));
  idle.Send(request);
  half_header.Send(request.substr(20));
  half_body.Send(request.substr(request.size() - 5));
  std::this_thread::sleep_for(milliseconds(1'700));
  holds = false;
  for (HttpClient* client : {&idle, &half_header, &half_body, &holder}) {
    EXPECT_EQ(client->Receive().status, 200);
  }
}

/// Stops this process, all of its threads, for `seconds`.
void PauseProcess(double seconds) {
  const pid_t self = getpid();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // calls nothing that could wait for a lock of the parent's
    kill(self, SIGSTOP);
    timespec pause{static_cast<time_t>(seconds), 0};
    nanosleep(&pause, nullptr);
    kill(self, SIGCONT);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
}

TEST_F(HttpServerTest, RequestDeadlinesStopDuringPause) {
  Start([&](Server::Options& options) {
    options.http.limits.header_timeout = milliseconds(2'500);
    options.http.limits.body_timeout = milliseconds(2'500);
  });
  HttpClient half_header = Connect(), half_body = Connect();
  const std::string request = PostRequest("/generate", kGenerate);
  half_header.Send(request.substr(0, 20));
  half_body.Send(request.substr(0, request.size() - 5));
  std::this_thread::sleep_for(milliseconds(200));
  PauseProcess(/*seconds=*/4);
  // The client was paused too and continues only now.
  std::this_thread::sleep_for(milliseconds(1'300));
  half_header.Send(request.substr(20));
  half_body.Send(request.substr(request.size() - 5));
  EXPECT_EQ(half_header.Receive().status, 200);
  EXPECT_EQ(half_body.Receive().status, 200);
}

TEST_F(HttpServerTest, SilentClientsAreCutAfterPause) {
  std::atomic<bool> holds = true;
  Start([&](Server::Options& options) {
    options.http.limits.header_timeout = milliseconds(100);
    options.keys.admin = "root";
    options.generator.flush_cache = [&] { EXPECT_TRUE(Await([&] { return !holds; })); };
  });
  HttpClient half_header = Connect(), holder = Connect();
  half_header.Send("GET /health HT");
  holder.Send("GET /flush_cache HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer root\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(1'300));
  holds = false;
  EXPECT_EQ(half_header.Receive().status, 408);
}

TEST_F(HttpServerTest, SlowHeadersDoNotExtendTimeout) {
  Start([](Server::Options& options) { options.http.limits.header_timeout = milliseconds(200); });
  HttpClient client = Connect();
  client.Send("GET /health HTTP/1.1\r\n");
  const auto begin = std::chrono::steady_clock::now();
  while (client.Send("X: y\r\n") &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)) {
    if (!client.ReceiveSome(milliseconds(10)).empty()) break;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(HttpServerTest, DisconnectAbortsRequest) {
  engine_.step_us = 2000;
  Start();
  const std::string endless =
      R"({"text": "a", "stream": STREAM, "sampling_params": {"max_new_tokens": 1000}})";
  for (const char* stream : {"true", "false"}) {
    std::string body = endless;
    body.replace(body.find("STREAM"), 6, stream);
    {
      HttpClient client = Connect();
      client.Send(PostRequest("/generate", body));
      ASSERT_TRUE(Await([this] { return engine_.num_live == 1; }));
    }
    const int64_t steps = engine_.num_steps;
    ASSERT_TRUE(Await([this] { return engine_.num_live == 0; }));
    // The two of the promise, and what ran before the close was seen.
    EXPECT_LE(engine_.num_steps - steps, 12) << stream;
  }
  // Counted by the detokenizer thread, which runs after the engine.
  EXPECT_TRUE(Await([this] {
    return Connect()
               .Get("/metrics")
               .body.find("sglang:num_aborted_requests_total{model_name=\"demo\"} 2") !=
           std::string::npos;
  }));
}

TEST_F(HttpServerTest, CloseWithLastBytesIsDetected) {
  engine_.step_us = 2000;
  Start();
  const std::string request =
      PostRequest("/generate", R"({"text": "a", "sampling_params": {"max_new_tokens": 900}})");
  constexpr int kClients = 40;
  for (int i = 0; i < kClients; ++i) {
    HttpClient client = Connect();
    client.Send(request);
    if (i % 2 == 0) client.ShutdownSend();
  }
  ASSERT_TRUE(Await([this] {
    const std::string metrics = Connect().Get("/metrics").body;
    return metrics.find("method=\"POST\",route=\"/generate\",status=\"499\"} 40") !=
           std::string::npos;
  }));
  // Each may have had a few steps before it was seen to be gone; none runs to its end.
  EXPECT_LT(engine_.num_tokens, kClients * 100);
}

TEST_F(HttpServerTest, ClientThatReadsNothingIsCut) {
  Start([](Server::Options& options) { options.http.limits.write_timeout = milliseconds(200); });
  // More bytes than the buffers of both kernels take.
  HttpClient client(port(), /*receive_bytes=*/4096);
  const std::string body = R"({"text": "a", "stream": true, "return_token_infos": true,
      "return_logprob": true, "top_logprobs_num": 20,
      "sampling_params": {"max_new_tokens": 1000, "n": 16}})";
  client.Send(PostRequest("/generate", body));
  // Read nothing until it has been given up.
  ASSERT_TRUE(Await([this] {
    return Connect().Get("/metrics").body.find("method=\"POST\",route=\"/generate\"") !=
           std::string::npos;
  }));
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(HttpServerTest, KeysGrantTheirRoutes) {
  Start([](Server::Options& options) { options.keys = {{{.key = "user"}}, "root"}; });
  HttpClient client = Connect();
  EXPECT_EQ(client.Get("/health").status, 200);
  EXPECT_EQ(client.Get("/v1/models").status, 401);
  EXPECT_EQ(client.Get("/v1/models", "Authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(client.Get("/v1/models", "Authorization: Bearer user\r\n").status, 200);
  EXPECT_EQ(client.Get("/v1/models", "Authorization: bearer root\r\n").status, 200);
  EXPECT_EQ(client.Get("/v1/models", "X-Api-Key: user\r\n").status, 200);
  EXPECT_EQ(client.Get("/flush_cache", "Authorization: Bearer user\r\n").status, 401);
  EXPECT_EQ(client.Get("/flush_cache", "Authorization: Bearer root\r\n").status, 200);
  EXPECT_EQ(engine_.num_flushes, 1);
  // Without the key no body is read.
  HttpClient uploader = Connect();
  uploader.Send("POST /generate HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(uploader.Receive().status, 401);
}

TEST_F(HttpServerTest, WithoutAdminKeyAdministrationIsOff) {
  Start();
  EXPECT_EQ(Connect().Get("/flush_cache").status, 403);
  EXPECT_EQ(Connect().Get("/flush_cache", "Authorization: Bearer \r\n").status, 403);
}

TEST_F(HttpServerTest, DrainFinishesRunningAndRejectsNewRequests) {
  engine_.step_us = 20'000;
  Start();
  HttpClient idle = Connect(), busy = Connect();
  EXPECT_EQ(idle.Get("/health").status, 200);
  busy.Send(PostRequest(
      "/generate", R"({"text": "a", "stream": true, "sampling_params": {"max_new_tokens": 20}})"));
  ASSERT_TRUE(Await([this] { return engine_.num_live == 1; }));
  server_->Stop();
  EXPECT_TRUE(idle.AwaitClose());
  const HttpReply reply = busy.Receive();
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.Events().back(), "[DONE]");
  thread_.join();
  EXPECT_FALSE(Connect().connected());
}

TEST_F(HttpServerTest, ManyStreamsWithDisconnects) {
  Start();
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::unique_ptr<HttpClient>> clients;
  std::vector<bool> stays;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port()));
    clients.back()->Send(PostRequest(
        "/generate",
        R"({"text": "a b", "stream": true, "sampling_params": {"max_new_tokens": 64}})"));
    stays.push_back(random() % 4 != 0);
    if (!stays.back()) clients.back().reset();
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    if (!stays[i]) continue;
    const HttpReply reply = clients[i]->Receive();
    EXPECT_TRUE(reply.complete);
    EXPECT_EQ(reply.Events().back(), "[DONE]");
  }
}

}  // namespace
}  // namespace shortlist
