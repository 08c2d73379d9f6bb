// Hostile clients, and valid ones that resemble them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

#include "absl/strings/escaping.h"
#include "serve/http/server.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

using Clock = std::chrono::steady_clock;

const char kGenerate[] = R"({"text": "one two three", "sampling_params": {"max_new_tokens": 4}})";
const char kLong[] = R"({"text": "a", "sampling_params": {"max_new_tokens": 900}})";
const char kChunked[] =
    "POST /generate HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";

class HttpHostileTest : public ServeTest {
 protected:
  /// Requests that were answered or given up.
  bool IsDone(const std::string& route) const {
    return Connect().Get("/metrics").body.find("method=\"POST\",route=\"" + route + "\"") !=
           std::string::npos;
  }
};

/// Sends `bytes` again and again, and reads and drops what comes, until it is destroyed.
class Flood {
 public:
  Flood(uint16_t port, const std::string& bytes)
      : client_(port),
        sender_([this, bytes] {
          while (!ended_ && client_.Send(bytes)) {
          }
        }),
        receiver_([this] {
          while (!ended_) num_received_ += client_.ReceiveSome(milliseconds(100)).size();
        }) {}
  ~Flood() {
    ended_ = true;
    sender_.join();
    receiver_.join();
  }
  size_t num_received() const { return num_received_; }

 private:
  std::atomic<bool> ended_ = false;
  std::atomic<size_t> num_received_ = 0;
  HttpClient client_;
  std::thread sender_, receiver_;
};

TEST_F(HttpHostileTest, EndlessPipelineDoesNotStarveOthers) {
  Start();
  std::string refused;
  for (int i = 0; i < 200; ++i) {
    refused += "GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\nGET /generate HTTP/1.1\r\nHost: t\r\n\r\n";
  }
  {
    Flood flood(port(), refused);
    ASSERT_TRUE(Await([&] { return flood.num_received() > 1 << 20; }));
    HttpClient client = Connect();
    client.Send("GET /health HTTP/1.1\r\nHost: t\r\n\r\n");
    EXPECT_EQ(client.Receive(/*is_head=*/false, std::chrono::seconds(5)).status, 200);
  }
  Flood flood(port(), refused);
  ASSERT_TRUE(Await([&] { return flood.num_received() > 1 << 20; }));
  const auto begin = Clock::now();
  Stop();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(4));
}

TEST_F(HttpHostileTest, PipeliningClientThatReadsNothingIsCut) {
  Start([](Server::Options& options) { options.http.limits.write_timeout = milliseconds(200); });
  HttpClient client(port(), /*receive_bytes=*/4096);
  std::string requests;
  for (int i = 0; i < 200; ++i) requests += "GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n";
  const auto begin = Clock::now();
  while (client.Send(requests) && Clock::now() - begin < std::chrono::seconds(10)) {
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(HttpHostileTest, AmbiguousRequestGetsOneReplyThenClose) {
  Start();
  for (const char* encoding :
       {"gzip", "chunked, chunked", "identity", "chunked\r\nContent-Length: 3"}) {
    HttpClient client = Connect();
    client.Send("POST /generate HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: " +
                std::string(encoding) + "\r\n\r\nGET /health HTTP/1.1\r\nHost: t\r\n\r\n");
    const HttpReply reply = client.Receive();
    EXPECT_EQ(reply.status, 400) << encoding;
    EXPECT_EQ(reply.headers.at("connection"), "close") << encoding;
    EXPECT_EQ(client.Receive().status, 0) << encoding;
  }
}

TEST_F(HttpHostileTest, EndlessExtensionsAndTrailersAreCut) {
  Start();
  for (const std::string& begin : {std::string("5;x="), std::string("1\r\nx\r\n0\r\nX: ")}) {
    HttpClient client = Connect();
    client.Send(kChunked + begin);
    const std::string more(64 << 10, 'a');
    int num_sent = 0;
    // Two seconds and 64 MiB may be discarded after the reply.
    while (num_sent < 20'000 && client.Send(more)) ++num_sent;
    EXPECT_LT(num_sent, 20'000);
  }
}

TEST_F(HttpHostileTest, DisconnectIsDetectedAfterPipelinedBytes) {
  engine_.step_us = 2000;
  Start();
  for (const size_t ahead : {size_t{60} << 10, size_t{200} << 10, size_t{2} << 20}) {
    {
      HttpClient client = Connect();
      client.Send(PostRequest("/generate", kLong));
      ASSERT_TRUE(Await([this] { return engine_.num_live == 1; }));
      client.Send(std::string(ahead, 'x'));
    }
    const int64_t steps = engine_.num_steps;
    ASSERT_TRUE(Await([this] { return engine_.num_live == 0; }));
    EXPECT_LE(engine_.num_steps - steps, 20) << ahead;
  }
}

TEST_F(HttpHostileTest, ExcessivePipeliningGetsOneReply) {
  engine_.step_us = 10'000;
  Start();
  HttpClient client = Connect();
  client.Send(PostRequest("/generate", kGenerate));
  std::string ahead;
  while (ahead.size() < 300 << 10) ahead += "GET /health HTTP/1.1\r\nHost: t\r\n\r\n";
  client.Send(ahead);
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_EQ(client.Receive().status, 0);
}

TEST_F(HttpHostileTest, HalfClosedClientGetsReply) {
  engine_.step_us = 2000;
  Start();
  const std::string stream =
      R"({"text": "a", "stream": true, "sampling_params": {"max_new_tokens": 20}})";
  for (const std::string& body : {std::string(kGenerate), stream}) {
    HttpClient client = Connect();
    client.Send(PostRequest("/generate", body));
    client.ShutdownSend();
    const HttpReply reply = client.Receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.complete);
    EXPECT_TRUE(client.AwaitClose());
  }
  HttpClient several = Connect();
  several.Send(PostRequest("/generate", kGenerate) + PostRequest("/generate", kGenerate) +
               "GET /health HTTP/1.1\r\nHost: t\r\n\r\n");
  several.ShutdownSend();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(several.Receive().status, 200) << i;
  HttpClient old = Connect();
  old.Send("POST /generate HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(sizeof kGenerate - 1) + "\r\n\r\n" + kGenerate);
  old.ShutdownSend();
  EXPECT_THAT(old.ReceiveSome(), testing::StartsWith("HTTP/1.1 200"));
}

/// Asio may give the events of a closed connection to the next one.
TEST_F(HttpHostileTest, EndOfOtherConnectionLeavesHalfClosedClientItsReply) {
  engine_.step_us = 2000;
  Start();
  for (int i = 0; i < 100; ++i) {
    HttpClient other = Connect();
    other.Send("XX\r\n\r\n");
    other.ShutdownSend();
    EXPECT_EQ(other.Receive().status, 400);
    EXPECT_TRUE(other.AwaitClose());
    HttpClient client = Connect();
    client.Send(PostRequest("/generate", kGenerate));
    client.ShutdownSend();
    ASSERT_EQ(client.Receive().status, 200) << "after " << i << " replies";
  }
}

/// A reply of some hundred KB.
std::string LargeTokenize() {
  std::string text;
  for (int i = 0; i < 120'000; ++i) text += "a ";
  return PostRequest("/tokenize", R"({"prompt": ")" + text + R"("})");
}

TEST_F(HttpHostileTest, SlowReaderIsNotCut) {
  Start([](Server::Options& options) { options.http.limits.write_timeout = milliseconds(60); });
  HttpClient client(port(), /*receive_bytes=*/4096);
  client.Send(LargeTokenize());
  std::string received;
  const auto begin = Clock::now();
  while (received.find("\r\n\r\n") == received.npos || !received.ends_with("}")) {
    const std::string some = client.ReceiveSome(milliseconds(2000));
    if (some.empty()) break;
    received += some;
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GT(Clock::now() - begin, milliseconds(60));
  EXPECT_TRUE(received.ends_with("}"));
  EXPECT_GT(received.size(), 300u << 10);
}

TEST_F(HttpHostileTest, TooSlowReaderIsCut) {
  Start([](Server::Options& options) { options.http.limits.write_timeout = milliseconds(200); });
  HttpClient client(port(), /*receive_bytes=*/4096);
  client.Send(LargeTokenize());
  std::atomic<bool> ended = false;
  std::thread drip([&] {
    while (!ended) {
      client.ReceiveByte();
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  EXPECT_TRUE(Await([this] { return IsDone("/tokenize"); }));
  ended = true;
  drip.join();
}

TEST_F(HttpHostileTest, ExpectHeaderIsMetOrRejected) {
  Start();
  const std::string begin =
      "POST /generate HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(sizeof kGenerate - 1) + "\r\nExpect: ";
  HttpClient client = Connect();
  client.Send(begin + "100-Continue\r\n\r\n");
  EXPECT_THAT(client.ReceiveSome(), HasSubstr("100 Continue"));
  client.Send(kGenerate);
  EXPECT_EQ(client.Receive().status, 200);
  HttpClient other = Connect();
  other.Send(begin + "200-ok\r\n\r\n");
  EXPECT_EQ(other.Receive().status, 417);
}

TEST_F(HttpHostileTest, WrongKeysAreRateLimited) {
  Start([](Server::Options& options) { options.keys = {{{"", "user"}}, "root"}; });
  int num_401 = 0, num_429 = 0;
  for (int i = 0; i < 60; ++i) {
    const HttpReply reply =
        Connect().Get("/v1/models", "Authorization: Bearer wrong" + std::to_string(i) + "\r\n");
    num_401 += reply.status == 401;
    num_429 += reply.status == 429;
  }
  EXPECT_GE(num_401, 20);
  EXPECT_GE(num_429, 20);
  EXPECT_EQ(num_401 + num_429, 60);
  EXPECT_EQ(Connect().Get("/v1/models", "Authorization: Bearer user\r\n").status, 200);
  EXPECT_EQ(Connect().Get("/health").status, 200);
}

TEST_F(HttpHostileTest, EveryReplyHasDateAndNosniff) {
  Start();
  for (const std::string& request :
       {std::string("GET /health HTTP/1.1\r\nHost: t\r\n\r\n"), std::string("nonsense\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: t\r\n\r\n"),
        std::string("GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n"),
        PostRequest("/generate", R"({"text": "a", "stream": true})")}) {
    HttpClient client = Connect();
    client.Send(request);
    const HttpReply reply = client.Receive();
    EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
    EXPECT_THAT(reply.headers.at("date"), testing::MatchesRegex("[A-Z][a-z][a-z], .* GMT"));
  }
}

TEST_F(HttpHostileTest, PageRunsOnlyItsOwnScripts) {
  Start();
  const HttpReply reply = Connect().Get("/");
  const size_t begin = reply.body.find("<script>") + 8;
  const std::string path = testing::TempDir() + "/page_script_" + std::to_string(port());
  std::ofstream(path) << reply.body.substr(begin, reply.body.find("</script>") - begin);
  char hex[64];
  FILE* const sum = popen(("sha256sum " + path).c_str(), "r");
  ASSERT_NE(sum, nullptr);
  ASSERT_EQ(fread(hex, 1, sizeof hex, sum), sizeof hex);
  pclose(sum);
  std::remove(path.c_str());
  const std::string hash = absl::Base64Escape(absl::HexStringToBytes(std::string(hex, sizeof hex)));
  EXPECT_THAT(reply.headers.at("content-security-policy"),
              HasSubstr("script-src 'sha256-" + hash + "';"));
  EXPECT_THAT(reply.body, Not(HasSubstr("<script ")));
  EXPECT_THAT(reply.body, Not(testing::ContainsRegex(" on[a-z]+=")));
}

TEST_F(HttpHostileTest, ErrorsQuoteLittleInput) {
  Start();
  const std::string a(20'000, 'a');
  const std::string json = "Content-Type: application/json\r\n";
  for (const std::string& request :
       {"GET /" + a + " HTTP/1.1\r\nHost: t\r\n\r\n",
        "GET /generate HTTP/1.1\r\nHost: " + a + "\r\n\r\n",
        a + " /generate HTTP/1.1\r\nHost: t\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: t\r\n" + a + "\r\n\r\n", "GET / " + a + "\r\n\r\n",
        "GET /v1/models/" + a + " HTTP/1.1\r\nHost: t\r\n\r\n",
        PostRequest("/v1/completions", R"({"model": ")" + a + R"(", "prompt": "a"})"),
        PostRequest("/generate", R"({"text": "a", "sampling_params": {"regex": "()" + a + "\"}}"),
        PostRequest("/generate",
                    R"({"text": "a", "sampling_params": {"temperature": ")" + a + "\"}}"),
        PostRequest("/generate", a),
        PostRequest("/generate", "{\"" + a + "\": 1, \"" + a + "\": 2}"),
        PostRequest("/generate", "{\"text\": 1" + std::string(20'000, '0') + "}")}) {
    HttpClient client = Connect();
    client.Send(request);
    const HttpReply reply = client.Receive();
    EXPECT_GE(reply.status, 400);
    EXPECT_LT(reply.body.size(), 400u) << request.substr(0, 40) << " -> " << reply.body;
  }
}

}  // namespace
}  // namespace shortlist
