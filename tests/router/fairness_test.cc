// Clients that share a server: no client waits for another client's queue.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/turn_queue.h"
#include "router/simulator.h"

namespace shortlist {
namespace {

TraceRequest Request(std::string client, double arrival_s, int64_t prompt_len, int64_t output_len,
                     int32_t first_token) {
  TraceRequest request{.arrival_s = arrival_s,
                       .max_new_tokens = output_len,
                       .output_len = output_len,
                       .client = std::move(client)};
  for (int64_t i = 0; i < prompt_len; ++i) {
    request.prompt.push_back(TokenId(first_token + static_cast<int32_t>(i)));
  }
  return request;
}

SchedulerOptions Options() {
  SchedulerOptions options;
  options.max_total_tokens = 16'384;
  options.context_length = 2048;
  options.max_running_requests = 16;
  return options;
}

SimulationResult Serve(const SchedulerOptions& options, const std::vector<TraceRequest>& trace) {
  const auto check = [](const Scheduler& scheduler, const Batch&, const Batch&, double) {
    const absl::Status status = scheduler.CheckInvariants();
    ASSERT_TRUE(status.ok()) << status.message();
  };
  auto result = Simulate(options, trace, CostModel(), check);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *std::move(result);
}

TEST(FairnessTest, ShortRequestPassesManyOfAnotherClient) {
  std::vector<TraceRequest> trace;
  for (int i = 0; i < 128; ++i) trace.push_back(Request("many", 0.0, 20, 500, 100 * i));
  trace.push_back(Request("one", 1.0, 20, 2, 50'000));
  for (const SchedulePolicy policy :
       {SchedulePolicy::kLpm, SchedulePolicy::kFcfs, SchedulePolicy::kDfsWeight}) {
    SchedulerOptions options = Options();
    options.policy = policy;
    const SimulationResult result = Serve(options, trace);
    // A step takes 0.04 s: the next one admits it and retracts another request.
    EXPECT_LT(result.requests.back().finished_s - 1.0, 0.3);
    EXPECT_EQ(result.stats.num_retractions, 1);
    for (const SimulatedRequest& served : result.requests) EXPECT_TRUE(served.refusal.ok());
  }
}

TEST(FairnessTest, NoRetractionAmongRequestsOfOneClient) {
  std::vector<TraceRequest> trace;
  for (int i = 0; i < 40; ++i) trace.push_back(Request("many", 0.0, 20, 100, 100 * i));
  trace.push_back(Request("many", 1.0, 20, 2, 50'000));
  EXPECT_EQ(Serve(Options(), trace).stats.num_retractions, 0);
}

TEST(FairnessTest, PriorityOrdersRequestsOfSameClientOnly) {
  std::vector<TraceRequest> trace;
  for (int i = 0; i < 64; ++i) {
    trace.push_back(Request("loud", 0.0, 20, 500, 100 * i));
    trace.back().priority = 1'000'000;
  }
  trace.push_back(Request("quiet", 1.0, 20, 2, 50'000));
  EXPECT_LT(Serve(Options(), trace).requests.back().finished_s - 1.0, 0.3);
}

TEST(FairnessTest, ShortPromptPassesLongOnesOfAnotherClient) {
  std::vector<TraceRequest> trace;
  for (int i = 0; i < 8; ++i) trace.push_back(Request("long", 0.0, 1900, 10, 3000 * i));
  trace.push_back(Request("short", 0.01, 20, 2, 50'000));
  SchedulerOptions options = Options();
  options.chunked_prefill_size = 256;
  // A pass takes 0.26 s, a long prompt eight of them.
  EXPECT_LT(Serve(options, trace).requests.back().finished_s, 1.0);
}

TEST(FairnessTest, ShortPromptsDoNotStarveLongOneOfAnotherClient) {
  std::vector<TraceRequest> trace;
  trace.push_back(Request("long", 0.0, 6000, 1, 0));
  for (int i = 0; i < 200; ++i) trace.push_back(Request("short", 0.0, 512, 1, 10'000 + 600 * i));
  SchedulerOptions options = Options();
  options.context_length = 8192;
  const SimulationResult result = Serve(options, trace);
  // Alone it takes 12 passes of 0.52 s; half of the passes are its own.
  EXPECT_LT(result.requests.front().finished_s, 2 * 12 * 0.55 + 1.0);
}

TEST(FairnessTest, NoRetractionWithoutEnoughRoom) {
  // Retracting every eligible request of "b" does not make room for "a".
  SchedulerOptions options = Options();
  options.max_total_tokens = 4096;
  options.context_length = 4096;
  std::vector<TraceRequest> trace;
  trace.push_back(Request("b", 0.0, 1500, 500, 0));
  trace.push_back(Request("b", 0.0, 1000, 500, 10'000));
  for (int i = 0; i < 3; ++i) trace.push_back(Request("b", 0.0, 20, 300, 20'000 + 100 * i));
  trace.push_back(Request("a", 1.0, 3500, 20, 50'000));
  EXPECT_LE(Serve(options, trace).stats.num_retractions, 5);
}

TEST(FairnessTest, PlacesAreSharedEvenly) {
  std::vector<TraceRequest> trace;
  for (int i = 0; i < 60; ++i) trace.push_back(Request("a", 0.0, 20, 400, 100 * i));
  for (int i = 0; i < 60; ++i) trace.push_back(Request("b", 2.0, 20, 400, 20'000 + 100 * i));
  const SimulationResult result = Serve(Options(), trace);
  std::vector<double> tokens[2];
  for (size_t i = 0; i < trace.size(); ++i) {
    for (const double t : result.requests[i].token_times_s) tokens[i / 60].push_back(t);
  }
  const auto between = [](const std::vector<double>& times, double begin, double end) {
    return std::count_if(times.begin(), times.end(),
                         [&](double t) { return t >= begin && t < end; });
  };
  const double a = static_cast<double>(between(tokens[0], 5.0, 25.0));
  const double b = static_cast<double>(between(tokens[1], 5.0, 25.0));
  EXPECT_NEAR(a / b, 1.0, 0.1);
}

TEST(FairnessTest, FullQueueStillAdmitsOtherClients) {
  SchedulerOptions options = Options();
  options.max_queued_requests = 32;
  options.max_running_requests = 1;
  std::vector<TraceRequest> trace;
  for (int i = 0; i < 200; ++i) trace.push_back(Request("flood", 0.0, 20, 50, 100 * i));
  trace.push_back(Request("other", 0.001, 20, 2, 50'000));
  const SimulationResult result = Serve(options, trace);
  EXPECT_FALSE(result.requests[150].refusal.ok());
  EXPECT_TRUE(result.requests.back().refusal.ok()) << result.requests.back().refusal.message();
}

TEST(TurnQueueTest, ClientsTakeTurns) {
  TurnQueue<int> queue(10);
  for (int value : {1, 2, 3, 4}) EXPECT_TRUE(queue.TryPush("a", value));
  for (int value : {10, 20}) EXPECT_TRUE(queue.TryPush("b", value));
  std::vector<int> popped;
  for (int i = 0; i < 6; ++i) popped.push_back(*queue.Pop());
  EXPECT_EQ(popped, (std::vector<int>{1, 10, 2, 20, 3, 4}));
  queue.Close();
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(TurnQueueTest, LastPlacesAreReservedForLightClients) {
  TurnQueue<int> queue(16);
  int value = 0;
  int num_taken = 0;
  while (num_taken < 100 && queue.TryPush("flood", value)) ++num_taken;
  EXPECT_EQ(num_taken, 16);
  EXPECT_TRUE(queue.TryPush("other", value));
  EXPECT_FALSE(queue.TryPush("flood", value));
  EXPECT_TRUE(queue.TryPush("third", value));
  EXPECT_FALSE(queue.TryPush("other", value));  // 18 of 18
  queue.Close();
  EXPECT_FALSE(queue.TryPush("fourth", value));
}

}  // namespace
}  // namespace shortlist
