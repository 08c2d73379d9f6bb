#include "serve/http/host_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

class HostPolicyTest : public ServeTest {
 protected:
  int Get(const std::string& host, const std::string& target = "/health",
          const std::string& headers = "") {
    HttpClient client = Connect();
    client.Send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n");
    return client.Receive().status;
  }
  int Post(const std::string& host, const std::string& origin) {
    const std::string body = R"({"prompt": "a"})";
    HttpClient client = Connect();
    client.Send("POST /tokenize HTTP/1.1\r\nHost: " + host + "\r\nOrigin: " + origin +
                "\r\nContent-Type: application/json\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.Receive().status;
  }
};

TEST_F(HostPolicyTest, LoopbackWithoutKeyRejectsOtherNames) {
  Start([](Server::Options& options) { options.http.allowed_hosts.clear(); });
  for (const char* host : {"127.0.0.1", "127.0.0.1:30000", "127.9.9.9", "localhost", "LOCALHOST:1",
                           "[::1]", "[::1]:8", "localhost."}) {
    EXPECT_EQ(Get(host), 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:30000", "localhost.evil.example", "",
                           ":80", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "[", "[]"}) {
    EXPECT_EQ(Get(host), 403) << host;
  }
  // The host of an absolute target counts, not the Host header.
  EXPECT_EQ(Get("localhost", "http://evil.example/health"), 403);
  EXPECT_EQ(Get("evil.example", "http://localhost:8/health"), 200);
  Connect();
  server_->Stop();
  thread_.join();  // the fixture's own check has another Host
}

TEST_F(HostPolicyTest, AllowedHostsAreEnforcedEverywhere) {
  Start([](Server::Options& options) {
    options.keys.api = {{"", "key"}};
    options.http.allowed_hosts = {"Models.Example", "test"};
    options.http.worker_host = "worker";
  });
  for (const char* host : {"models.example", "MODELS.example:443", "worker:1", "localhost"}) {
    EXPECT_EQ(Get(host), 200) << host;
  }
  EXPECT_EQ(Get("evil.example"), 403);
}

TEST_F(HostPolicyTest, WithKeyAnyHostIsAccepted) {
  Start([](Server::Options& options) {
    options.keys.api = {{"", "key"}};
    options.http.allowed_hosts.clear();
  });
  EXPECT_EQ(Get("whatever.example"), 200);
}

TEST_F(HostPolicyTest, OtherOriginsMayOnlyRead) {
  Start([](Server::Options& options) {
    options.http.allowed_origins = {"https://app.example:8443"};
  });
  for (const char* origin : {"http://localhost:30000", "https://localhost:30000",
                             "https://app.example:8443", "https://APP.example:8443"}) {
    EXPECT_EQ(Post("localhost:30000", origin), 200) << origin;
  }
  EXPECT_EQ(Post("localhost", "http://localhost:80"), 200);
  for (const char* origin :
       {"http://evil.example", "http://localhost", "http://localhost:1", "null",
        "https://app.example", "localhost:30000", "file://localhost:30000"}) {
    EXPECT_EQ(Post("localhost:30000", origin), 403) << origin;
  }
  const std::string evil = "Origin: http://evil.example\r\n";
  EXPECT_EQ(Get("localhost", "/v1/models", evil), 200);
  EXPECT_EQ(Get("localhost", "/health_generate", evil), 403);
  EXPECT_EQ(Get("localhost", "/flush_cache", evil), 403);
}

class CorsTest : public ServeTest {
 protected:
  void SetUp() override {
    Start([](Server::Options& options) {
      options.keys.api = {{"", "key"}};
      options.http.allowed_origins = {"https://app.example"};
    });
  }
  HttpReply Do(const std::string& line, const std::string& origin, const std::string& headers = "",
               const std::string& body = "") {
    HttpClient client = Connect();
    client.Send(line + " HTTP/1.1\r\nHost: t\r\nOrigin: " + origin + "\r\n" + headers +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.Receive();
  }
  const std::string json_ = "Content-Type: application/json\r\nAuthorization: Bearer key\r\n";
};

TEST_F(CorsTest, PreflightNeedsNoKey) {
  const HttpReply reply = Do("OPTIONS /v1/chat/completions", "https://app.example",
                             "Access-Control-Request-Method: POST\r\n"
                             "Access-Control-Request-Headers: authorization,x-stainless-os\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(reply.headers.at("access-control-allow-methods"), "POST");
  EXPECT_EQ(reply.headers.at("access-control-allow-headers"), "authorization,x-stainless-os");
  EXPECT_EQ(reply.headers.at("access-control-max-age"), "600");
  EXPECT_EQ(reply.headers.at("vary"), "Origin");
  EXPECT_EQ(reply.body, "");
}

TEST_F(CorsTest, OnlyAllowedOriginsReadReplies) {
  const std::string whole = R"({"text": "a", "sampling_params": {"max_new_tokens": 2}})";
  const std::string stream =
      R"({"text": "a", "stream": true, "sampling_params": {"max_new_tokens": 2}})";
  for (const auto& [body, status] :
       {std::pair(whole, 200), {stream, 200}, {std::string("{}"), 400}}) {
    const HttpReply allowed = Do("POST /generate", "https://app.example", json_, body);
    EXPECT_EQ(allowed.status, status) << body;
    EXPECT_EQ(allowed.headers.at("access-control-allow-origin"), "https://app.example") << body;
    const HttpReply other = Do("POST /generate", "https://evil.example", json_, body);
    EXPECT_EQ(other.status, status) << body;  // it brings a key
    EXPECT_EQ(other.headers.count("access-control-allow-origin"), 0u) << body;
    EXPECT_EQ(other.headers.at("vary"), "Origin") << body;
  }
}

TEST_F(CorsTest, OtherOriginsGetNoPreflight) {
  const HttpReply reply =
      Do("OPTIONS /generate", "https://evil.example", "Access-Control-Request-Method: POST\r\n");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.headers.count("access-control-allow-origin"), 0u);
}

TEST_F(HostPolicyTest, CorsIsOffByDefaultAndOptionsListsMethods) {
  Start();
  HttpClient client = Connect();
  client.Send("OPTIONS /generate HTTP/1.1\r\nHost: t\r\n\r\n");
  const HttpReply reply = client.Receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("allow"), "POST, PUT");
  EXPECT_EQ(reply.headers.count("vary"), 0u);
  client.Send("OPTIONS /no/such HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 404);
}

TEST_F(HostPolicyTest, ReachableServerWithoutKeyLogsWarning) {
  const std::string path = testing::TempDir() + "open-server-" + std::to_string(getpid());
  const auto log_of = [&](const std::string& host, const std::string& key) {
    std::filesystem::remove(path);
    Start([&](Server::Options& options) {
      options.http.host = host;
      options.log_file = path;
      if (!key.empty()) options.keys.api = {{"", key}};
    });
    EXPECT_EQ(Get("t"), 200);
    Stop();
    server_.reset();
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_THAT(log_of("0.0.0.0", ""), testing::ContainsRegex("event=warning .*--api-key"));
  EXPECT_THAT(log_of("0.0.0.0", "key"), testing::Not(testing::HasSubstr("event=warning")));
  EXPECT_THAT(log_of("127.0.0.1", ""), testing::Not(testing::HasSubstr("event=warning")));
  std::filesystem::remove(path);
}

TEST(HostPolicyOptionsTest, RejectsBadHostsAndOriginsByName) {
  for (const char* host : {"", "http://a", "a/b", "a b", "*", "u@a"}) {
    EXPECT_FALSE(HostPolicy::Validate({.hosts = {host}}).ok()) << host;
  }
  for (const char* origin : {"", "a", "ftp://a", "https://", "https://a/", "*", "https://a/b"}) {
    EXPECT_FALSE(HostPolicy::Validate({.origins = {origin}}).ok()) << origin;
  }
  EXPECT_TRUE(HostPolicy::Validate({.hosts = {"a.b", "a:8", "[::1]", "::1"},
                                    .origins = {"null", "http://a", "https://a:8"}})
                  .ok());
}

}  // namespace
}  // namespace shortlist
