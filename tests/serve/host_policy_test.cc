#include "serve/host_policy.h"

#include <gtest/gtest.h>

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

TEST_F(HostPolicyTest, OnLoopbackWithoutAKeyOtherNamesAreRefused) {
  Start([](Server::Options& options) { options.http.allowed_hosts.clear(); });
  for (const char* host : {"127.0.0.1", "127.0.0.1:30000", "127.9.9.9", "localhost", "LOCALHOST:1",
                           "[::1]", "[::1]:8", "localhost."}) {
    EXPECT_EQ(Get(host), 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:30000", "localhost.evil.example", "",
                           ":80", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "[", "[]"}) {
    EXPECT_EQ(Get(host), 403) << host;
  }
  // What an absolute target names counts, not the Host beside it.
  EXPECT_EQ(Get("localhost", "http://evil.example/health"), 403);
  EXPECT_EQ(Get("evil.example", "http://localhost:8/health"), 200);
  Connect();
  server_->Stop();
  thread_.join();  // the fixture's own check has another Host
}

TEST_F(HostPolicyTest, AllowedHostsAreJudgedEverywhere) {
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

TEST_F(HostPolicyTest, WithAKeyHostsDoNotMatter) {
  Start([](Server::Options& options) {
    options.keys.api = {{"", "key"}};
    options.http.allowed_hosts.clear();
  });
  EXPECT_EQ(Get("whatever.example"), 200);
}

TEST_F(HostPolicyTest, PagesOfOthersMayOnlyLook) {
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

TEST(HostPolicyOptionsTest, WhatIsNoHostOrOriginIsNamed) {
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
