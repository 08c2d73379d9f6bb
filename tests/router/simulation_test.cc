// The Scheduler's bounds, in virtual time over random loads.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "router/simulator.h"
#include "tests/router/failing_new.h"

namespace shortlist {
namespace {

struct RandomLoad {
  SchedulerOptions options;
  std::vector<TraceRequest> trace;
  int64_t num_clients = 1;
};

RandomLoad DrawLoad(std::mt19937_64& random) {
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  RandomLoad load;
  load.options.policy = static_cast<SchedulePolicy>(draw(0, 3));
  load.options.max_total_tokens = draw(64, 600);
  load.options.context_length = draw(40, 200);
  load.options.chunked_prefill_size = draw(0, 2) == 0 ? 0 : draw(1, 128);
  load.options.max_prefill_tokens = draw(1, 256);
  load.options.max_running_requests = draw(1, 32);
  load.options.max_queued_requests = draw(1, 100);
  load.options.max_prefill_passes = draw(1, 4);
  load.options.max_wait_s = static_cast<double>(draw(0, 30)) / 10.0;
  load.options.ageing = static_cast<double>(draw(0, 500));
  load.options.num_draft_tokens = draw(0, 3);
  load.options.disable_radix_cache = draw(0, 4) == 0;
  load.options.bigram_keys = draw(0, 1) == 0;
  load.options.seed = random();
  const double gap_s = std::pow(10.0, -static_cast<double>(draw(0, 30)) / 10.0);
  load.num_clients = draw(1, 3);
  double now_s = 0.0;
  for (int64_t i = draw(1, 60); i > 0; --i) {
    TraceRequest request;
    now_s += gap_s * std::exponential_distribution<>()(random);
    request.arrival_s = now_s;
    const int64_t group = draw(0, 3);
    const int64_t len = draw(1, 120);
    for (int64_t t = 0; t < len; ++t) {
      request.prompt.push_back(TokenId(t < 40 ? static_cast<int32_t>(100 * group + t)
                                              : static_cast<int32_t>(draw(0, 9))));
    }
    request.max_new_tokens = draw(1, 80);
    request.output_len = draw(1, 80);
    request.priority = static_cast<int32_t>(draw(0, 1));
    if (draw(0, 5) == 0) request.cache_salt = "tenant";
    request.client = std::to_string(draw(1, load.num_clients));
    load.trace.push_back(std::move(request));
  }
  return load;
}

/// Longest time that passes between two decode passes may take.
double GapBound(const SchedulerOptions& options, const CostModel& costs) {
  int64_t pass_tokens = options.max_prefill_tokens;
  if (options.chunked_prefill_size > 0) {
    pass_tokens = std::min(pass_tokens, options.chunked_prefill_size);
  } else {
    pass_tokens = std::max(pass_tokens, options.context_length);
  }
  const double pass_s =
      costs.prefill_pass_s + costs.prefill_token_s * static_cast<double>(pass_tokens);
  return static_cast<double>(options.max_prefill_passes) * pass_s;
}

void ExpectOutputsAndNoOvertaking(const RandomLoad& load, const SimulationResult& result) {
  const SchedulerOptions& options = load.options;
  for (size_t i = 0; i < load.trace.size(); ++i) {
    const TraceRequest& request = load.trace[i];
    const SimulatedRequest& served = result.requests[i];
    const int64_t len = std::ssize(request.prompt);
    const bool can_fit = len + request.max_new_tokens <= options.context_length &&
                         len + request.max_new_tokens - 1 <= options.max_total_tokens;
    if (!served.refusal.ok()) {
      EXPECT_EQ(served.refusal.code(),
                can_fit ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOutOfRange);
      continue;
    }
    EXPECT_TRUE(can_fit) << "an unservable request was queued";
    EXPECT_TRUE(std::isfinite(served.finished_s)) << "request " << i << " was never served";
    const int64_t expected = std::min(request.max_new_tokens, request.output_len);
    EXPECT_EQ(std::ssize(served.token_times_s), expected) << "request " << i;
    for (size_t j = i + 1; j < load.trace.size(); ++j) {
      const SimulatedRequest& later = result.requests[j];
      if (!later.refusal.ok() || later.admitted_s >= served.admitted_s) continue;
      if (load.trace[j].client != request.client) continue;
      // It may have given way to another client before it was computed: the lowest priority does.
      if (load.num_clients > 1 && load.trace[j].priority > request.priority) continue;
      EXPECT_LE(later.admitted_s, request.arrival_s + options.max_wait_s)
          << "request " << j << " overtook " << i << ", which had waited too long";
    }
  }
}

TEST(SimulationTest, BoundsHoldUnderRandomLoads) {
  const uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const int64_t num_loads = NumRandomOps(3000);
  int64_t num_retractions = 0, num_hits = 0, num_decode_passes = 0;
  for (int64_t i = 0; i < num_loads; ++i) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(i));
    const RandomLoad load = DrawLoad(random);
    const CostModel costs;
    const double gap_bound_s = GapBound(load.options, costs);
    double gap_s = 0.0;  // of prefill passes since the last decode pass, while something runs
    const auto observe = [&](const Scheduler& scheduler, const Batch& prefill, const Batch& decode,
                             double) {
      const absl::Status status = scheduler.CheckInvariants();
      EXPECT_TRUE(status.ok()) << status.message();
      if (!prefill.IsEmpty()) {
        gap_s +=
            costs.prefill_pass_s + costs.prefill_token_s * static_cast<double>(prefill.num_tokens);
      }
      if (!decode.IsEmpty() || scheduler.running().empty()) {
        if (!decode.IsEmpty()) {
          EXPECT_LE(gap_s, gap_bound_s + 1e-9) << "decoding waited too long";
        }
        gap_s = 0.0;
      }
      num_decode_passes += decode.IsEmpty() ? 0 : 1;
    };
    const auto result = Simulate(load.options, load.trace, costs, observe);
    ASSERT_TRUE(result.ok()) << result.status().message() << ", seed " << seed + i;
    ExpectOutputsAndNoOvertaking(load, *result);
    ASSERT_FALSE(HasFailure()) << "seed " << seed + i;
    num_retractions += result->stats.num_retractions;
    num_hits += result->stats.num_hit_tokens;
  }
  std::printf("%lld decode passes, %lld retractions, %lld cached tokens\n",
              static_cast<long long>(num_decode_passes), static_cast<long long>(num_retractions),
              static_cast<long long>(num_hits));
  EXPECT_GT(num_retractions, num_loads / 100);
  EXPECT_GT(num_hits, num_loads);
}

TEST(SimulationTest, SharedPrefixesAreComputedOnce) {
  // Groups of prompts with a long common part, all at once.
  constexpr int64_t kGroups = 16, kPrompts = 8, kShared = 100, kOwn = 10;
  SchedulerOptions options;
  options.max_total_tokens = 20'000;
  options.context_length = 400;
  std::vector<TraceRequest> trace;
  for (int64_t prompt = 0; prompt < kPrompts; ++prompt) {
    for (int64_t group = 0; group < kGroups; ++group) {
      TraceRequest request{.max_new_tokens = 20, .output_len = 20};
      for (int64_t t = 0; t < kShared; ++t) request.prompt.push_back(TokenId(1000 * group + t));
      for (int64_t t = 0; t < kOwn; ++t)
        request.prompt.push_back(TokenId(100'000 + 100 * prompt + t));
      trace.push_back(std::move(request));
    }
  }
  for (bool bigram_keys : {false, true}) {
    options.bigram_keys = bigram_keys;
    const auto result = Simulate(options, trace, CostModel());
    ASSERT_TRUE(result.ok());
    const double ideal =
        static_cast<double>((kPrompts - 1) * kShared) / (kPrompts * (kShared + kOwn));
    EXPECT_GE(result->stats.hit_rate(), 0.98 * ideal);
    EXPECT_EQ(result->stats.num_retractions, 0);
  }
}

TEST(SimulationTest, UnservableTraceEnds) {
  SchedulerOptions options{.max_total_tokens = 4, .context_length = 100};
  const std::vector<TraceRequest> trace(
      3, {.prompt = std::vector<TokenId>(50), .max_new_tokens = 5, .output_len = 5});
  const auto result = Simulate(options, trace, CostModel());
  ASSERT_TRUE(result.ok());
  for (const SimulatedRequest& request : result->requests) EXPECT_FALSE(request.refusal.ok());
}

}  // namespace
}  // namespace shortlist
