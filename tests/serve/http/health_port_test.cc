#include "serve/http/health_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class HealthPortTest : public ServeTest {
 protected:
  HttpReply Probe(const std::string& path = "/health") {
    return HttpClient(server_->health_port()).Get(path);
  }
};

TEST_F(HealthPortTest, IsOffByDefault) {
  Start();
  EXPECT_EQ(server_->health_port(), 0);
}

TEST_F(HealthPortTest, AnswersWhenAllConnectionsAreTaken) {
  Start([](Server::Options& options) {
    options.health_port = 0;
    options.http.limits.max_connections = 1;
  });
  ASSERT_NE(server_->health_port(), port());
  {
    HttpClient taken = Connect();
    EXPECT_EQ(taken.Get("/health").status, 200);
    const HttpReply health = Probe();
    EXPECT_EQ(health.status, 200);
    EXPECT_EQ(health.Json()["status"], "ok");
    const HttpReply metrics = Probe("/metrics");
    EXPECT_EQ(metrics.status, 200);
    EXPECT_THAT(metrics.body, HasSubstr("sglang:num_running_reqs"));
    EXPECT_THAT(metrics.headers.at("content-type"), HasSubstr("version=0.0.4"));
  }
  EXPECT_TRUE(Await([this] { return Connect().Get("/health").status == 200; }));
}

TEST_F(HealthPortTest, HasNoOtherRoute) {
  Start([](Server::Options& options) { options.health_port = 0; });
  for (const char* path : {"/", "/v1/models", "/health_generate", "/openapi.json", "/vocab"}) {
    EXPECT_EQ(Probe(path).status, 404) << path;
  }
  EXPECT_EQ(HttpClient(server_->health_port()).Post("/generate", json::object()).status, 404);
}

TEST_F(HealthPortTest, ReportsBlockedIoThread) {
  std::atomic<bool> holds = true;
  Start([&](Server::Options& options) {
    options.health_port = 0;
    options.max_io_pause = std::chrono::milliseconds(200);
    options.keys.admin = "root";
    options.generator.flush_cache = [&] {  // runs on the I/O thread
      EXPECT_TRUE(Await([&] { return !holds; }));
    };
  });
  EXPECT_EQ(Probe().status, 200);
  HttpClient holder = Connect();
  holder.Send("GET /flush_cache HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer root\r\n\r\n");
  EXPECT_TRUE(Await([this] { return Probe().status == 503; }));
  EXPECT_THAT(Probe().body, HasSubstr("the I/O thread has not moved"));
  EXPECT_EQ(Probe("/metrics").status, 200);
  holds = false;
  EXPECT_EQ(holder.Receive().status, 200);
  EXPECT_TRUE(Await([this] { return Probe().status == 200; }));
}

TEST_F(HealthPortTest, ReportsDraining) {
  engine_.step_us = 5'000;
  Start([](Server::Options& options) { options.health_port = 0; });
  HttpClient client = Connect();
  client.Send(PostRequest(
      "/generate",
      json{{"text", "One"}, {"sampling_params", {{"max_new_tokens", 300}, {"ignore_eos", true}}}}
          .dump()));
  EXPECT_TRUE(Await([this] { return engine_.num_tokens > 0; }));
  server_->Stop();
  EXPECT_TRUE(Await([this] { return Probe().status == 503; }));
  EXPECT_THAT(Probe().body, HasSubstr("shutting down"));
  server_->Stop();  // twice: what runs is aborted
  thread_.join();
}

TEST_F(HealthPortTest, FailingTickIsReportedOnceAndRetried) {
  std::atomic<int> num_ticks = 0, num_reports = 0;
  HealthPort::Options options;
  options.host = "127.0.0.1";
  options.health = [] { return absl::OkStatus(); };
  options.metrics = [] { return std::string("m 1\n"); };
  options.interval = std::chrono::milliseconds(1);
  options.tick = [&num_ticks] {
    if (++num_ticks > 1) throw std::runtime_error("no room");
  };
  options.on_tick_failure = [&num_reports](const absl::Status& status) {
    EXPECT_EQ(status, absl::InternalError("no room"));
    ++num_reports;
  };
  const auto health_port = HealthPort::Start(options);
  ASSERT_TRUE(health_port.ok()) << health_port.status();
  EXPECT_TRUE(Await([&num_ticks] { return num_ticks > 5; }));
  EXPECT_EQ(num_reports, 1);
  EXPECT_EQ(HttpClient((*health_port)->port()).Get("/health").status, 200);
}

TEST_F(HealthPortTest, AnswersDuringRequests) {
  Start([](Server::Options& options) { options.health_port = 0; });
  std::atomic<bool> ended = false;
  std::thread prober([&] {
    while (!ended) {
      EXPECT_EQ(Probe().status, 200);
      EXPECT_EQ(Probe("/metrics").status, 200);
    }
  });
  for (int i = 0; i < 5; ++i) {
    const json body = {{"prompt", "One"}, {"max_tokens", 50}, {"model", "demo"}};
    EXPECT_EQ(Connect().Post("/v1/completions", body).status, 200);
  }
  ended = true;
  prober.join();
}

}  // namespace
}  // namespace shortlist
