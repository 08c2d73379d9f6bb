// What the server reports: versions, loads, acceptance.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/serve/api_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class InfoTest : public ApiTest {};

/// The value of a metric without labels of its own.
double Metric(const std::string& text, const std::string& name) {
  const size_t line = text.find("\n" + name + "{");
  EXPECT_NE(line, text.npos) << name;
  return std::stod(text.substr(text.find("} ", line) + 2));
}

TEST_F(InfoTest, VersionAndPingNeedNoKey) {
  Start([](Server::Options& options) { options.keys.api = {{"", "key"}}; });
  HttpClient client = Connect();
  EXPECT_EQ(client.Get("/version").Json()["version"], "test");
  EXPECT_EQ(client.Get("/ping").status, 200);
  EXPECT_EQ(client.Post("/ping", "", "").status, 200);
  EXPECT_EQ(client.Get("/tokenizer_info").status, 401);
}

TEST_F(InfoTest, GatewaysFindRequiredFields) {
  Start();
  HttpClient client = Connect();
  EXPECT_EQ(client.Get("/health_generate").status, 200);
  for (const char* path : {"/model_info", "/get_model_info"}) {
    EXPECT_EQ(client.Get(path).Json()["is_generation"], true) << path;
  }
  for (const char* path : {"/server_info", "/get_server_info"}) {
    const json info = client.Get(path).Json();
    EXPECT_EQ(info["served_model_name"], "demo") << path;
    EXPECT_EQ(info["dp_size"], 1) << path;
    EXPECT_EQ(info["max_total_num_tokens"], 10'000) << path;
  }
  const json loads = client.Get("/v1/loads?include=core,queues").Json();
  EXPECT_EQ(loads["dp_rank_count"], 1);
  EXPECT_EQ(loads["loads"][0]["num_running_reqs"], 0);
  EXPECT_EQ(client.Get("/get_load").Json()[0]["num_reqs"], 0);
  client.Post("/generate", json{{"text", "a"}});
  const std::string metrics = client.Get("/metrics").body;
  for (const char* name :
       {"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage",
        "sglang:generation_tokens_total", "sglang:time_to_first_token_seconds_bucket",
        "shortlist:coverage", "shortlist:http_requests_total"}) {
    EXPECT_THAT(metrics, HasSubstr(name));
  }
}

TEST_F(InfoTest, MetricsCountEngineSteps) {
  Start([this](Server::Options& options) {
    options.generator.load = [this] {
      EngineLoad load = engine_.Load();
      load.num_steps = 70;
      load.num_draft_passes = 50;
      load.num_resting_steps = 12;
      load.num_draft_failures = 3;
      return load;
    };
  });
  const std::string metrics = Connect().Get("/metrics").body;
  for (const char* line : {"shortlist:engine_steps_total{model_name=\"demo\"} 70\n",
                           "shortlist:draft_passes_total{model_name=\"demo\"} 50\n",
                           "shortlist:resting_steps_total{model_name=\"demo\"} 12\n",
                           "shortlist:draft_failures_total{model_name=\"demo\"} 3\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
}

TEST_F(InfoTest, AcceptLengthAndCoverageAgreeEverywhere) {
  Start();
  HttpClient client = Connect();
  const json reply =
      client
          .Post("/generate",
                json{{"text", kPrompt},
                     {"return_token_infos", true},
                     {"sampling_params", {{"temperature", 0}, {"max_new_tokens", 40}}}})
          .Json();
  double num_escapes = 0;
  for (const json& token : reply["token_infos"]) num_escapes += token["escape"].get<bool>();
  const json meta = reply["meta_info"];
  const double num_step_tokens = 39;  // the first comes of the prompt's pass
  EXPECT_DOUBLE_EQ(meta["coverage"], 1.0 - num_escapes / num_step_tokens);
  EXPECT_DOUBLE_EQ(meta["spec_accept_length"],
                   num_step_tokens / meta["spec_verify_ct"].get<double>());
  const json state = client.Get("/server_info").Json()["internal_states"][0];
  EXPECT_EQ(state["avg_spec_accept_length"], meta["spec_accept_length"]);
  EXPECT_EQ(state["coverage"], meta["coverage"]);
  const std::string metrics = client.Get("/metrics").body;
  EXPECT_NEAR(Metric(metrics, "sglang:spec_accept_length"), meta["spec_accept_length"], 1e-4);
  EXPECT_NEAR(Metric(metrics, "shortlist:coverage"), meta["coverage"], 1e-4);
  // Values that the page derives from counters.
  EXPECT_EQ(Metric(metrics, "shortlist:step_tokens_total"), num_step_tokens);
  EXPECT_EQ(Metric(metrics, "sglang:spec_verify_calls_total"),
            meta["spec_verify_ct"].get<double>());
  EXPECT_EQ(Metric(metrics, "shortlist:escapes_total"), num_escapes);
}

/// A step of the fake engine drafts two tokens, and accepts none, one or both.
TEST_F(InfoTest, MetricsCountDraftedTokensByPlace) {
  Start();
  HttpClient client = Connect();
  const json params = {{"temperature", 0}, {"max_new_tokens", 40}};
  const json meta = client.Post("/generate", json{{"text", kPrompt}, {"sampling_params", params}})
                        .Json()["meta_info"];
  const json histogram = meta["spec_accept_histogram"];
  ASSERT_GE(histogram.size(), 2u);
  const std::string metrics = client.Get("/metrics").body;
  int64_t num_accepted = 0;
  for (const int64_t place : {1, 0}) {  // a step that accepts k tokens has accepted places below k
    const size_t at_least = static_cast<size_t>(place) + 1;
    num_accepted += at_least < histogram.size() ? histogram[at_least].get<int64_t>() : 0;
    const std::string labels =
        absl::StrCat("{model_name=\"demo\",position=\"", place, "\",source=\"drafter\"} ");
    EXPECT_THAT(metrics,
                HasSubstr(absl::StrCat("shortlist:spec_decode_num_draft_tokens_per_pos_total",
                                       labels, meta["spec_verify_ct"].get<int64_t>(), "\n")));
    EXPECT_THAT(metrics,
                HasSubstr(absl::StrCat("shortlist:spec_decode_num_accepted_tokens_per_pos_total",
                                       labels, num_accepted, "\n")));
  }
  EXPECT_GT(num_accepted, 0);
}

TEST_F(InfoTest, LabelsHoldCacheSize) {
  Start();
  const std::string first = Connect().Get("/metrics").body;
  for (const std::string& text : {first, Connect().Get("/metrics").body}) {
    EXPECT_THAT(text, HasSubstr("vllm:cache_config_info{block_size=\"1\",model_name=\"demo\","
                                "num_gpu_blocks=\"10000\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("sglang:cache_config_info{model_name=\"demo\",num_pages=\"10000\","
                                "page_size=\"1\"} 1\n"));
  }
}

TEST_F(InfoTest, WithoutDraftNoAcceptLengthIsReported) {
  Start([](Server::Options& options) { options.service.num_draft_tokens = 0; });
  const json state = Connect().Get("/server_info").Json()["internal_states"][0];
  EXPECT_FALSE(state.contains("avg_spec_accept_length"));
  EXPECT_FALSE(state.contains("coverage"));
}

TEST_F(InfoTest, WaitingTokensIncludeRequestsNotYetQueued) {
  Start();
  HttpClient client = Connect(), first = Connect(), second = Connect();
  EXPECT_EQ(client.Get("/get_load").Json()[0]["num_pending_tokens"], 0);
  engine_.num_waiting_tokens = 10;
  // A step that takes long, during which another request comes.
  const json body = {{"text", kPrompt}, {"sampling_params", {{"max_new_tokens", 4}}}};
  const int64_t prompt_len = std::ssize(*encoder_.Encode(kPrompt, {}));
  engine_.holds = true;
  first.Send(PostRequest("/generate", body.dump()));
  ASSERT_TRUE(Await([this] { return engine_.num_held == 1; }));
  second.Send(PostRequest("/generate", body.dump()));
  const auto loads = [&] { return client.Get("/v1/loads").Json()["loads"][0]; };
  // The held step has reported neither the first request nor the queue.
  EXPECT_TRUE(Await([&] { return loads()["num_waiting_tokens"] == 2 * prompt_len; })) << loads();
  EXPECT_EQ(loads()["num_waiting_uncached_tokens"], 2 * prompt_len);
  engine_.holds = false;
  EXPECT_EQ(first.Receive().status, 200);
  EXPECT_EQ(second.Receive().status, 200);
  EXPECT_TRUE(Await([&] { return loads()["num_waiting_tokens"] == 10; })) << loads();
  EXPECT_EQ(loads()["num_waiting_uncached_tokens"], 5);
  const json load = client.Get("/get_load").Json()[0];
  EXPECT_EQ(load["num_pending_tokens"], 5);
  EXPECT_EQ(load["num_tokens"], 10);
}

}  // namespace
}  // namespace shortlist
