#include "router/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/running_clock.h"
#include "draft/eagle_drafter.h"
#include "model/decoder.h"
#include "model/eagle_model.h"
#include "router/encoding_loop.h"
#include "router/pipeline.h"
#include "router/scheduler.h"
#include "tests/router/failing_new.h"
#include "tests/router/router_harness.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_llama.h"

namespace shortlist {
namespace {

constexpr int64_t kSlots = 400;

/// A tiny random target with an EAGLE draft, on one thread.
class RouterTest : public testing::Test {
 protected:
  RouterTest() : pool_(/*num_threads=*/1) {
    const TinyLlamaOptions shape;
    EXPECT_TRUE(WriteTinyLlama(dir_.Join("target"), shape, /*seed=*/1).ok());
    EXPECT_TRUE(WriteTinyEagle(dir_.Join("draft"), shape, /*seed=*/2).ok());
    target_ = *Decoder::Load(ModelSource::OfDirectory(dir_.Join("target")), std::nullopt, pool_);
    eagle_ = *EagleModel::Load(ModelSource::OfDirectory(dir_.Join("draft")), *target_, pool_);
    drafter_ = *EagleDrafter::Create(*eagle_, kSlots, kVocab, pool_);
    engine_ = *SpeculativeEngine::Create(
        *target_, drafter_.get(), /*vocab=*/nullptr,
        {.num_draft_tokens = 3, .draft_p_min = 0.0, .num_slots = kSlots, .emit_size = kVocab},
        pool_);
  }

  Router::Options Options() {
    return {.scheduler = {.max_total_tokens = kSlots, .chunked_prefill_size = 16},
            .now = [this] { return now_s_; }};
  }

  static TokenizedGenerateReqInput Input(std::string rid, int64_t len, int64_t max_new_tokens,
                                         int32_t first = 3) {
    TokenizedGenerateReqInput input;
    input.rid = std::move(rid);
    for (int64_t i = 0; i < len; ++i) {
      input.input_ids.push_back(TokenId(static_cast<int32_t>((first + i) % kVocab)));
    }
    input.sampling_params.max_new_tokens = max_new_tokens;
    return input;
  }

  static constexpr int64_t kVocab = 96;
  TempDir dir_;
  ThreadPool pool_;
  std::unique_ptr<Decoder> target_;
  std::unique_ptr<EagleModel> eagle_;
  std::unique_ptr<EagleDrafter> drafter_;
  std::unique_ptr<SpeculativeEngine> engine_;
  double now_s_ = 0.0;
};

TEST_F(RouterTest, EachRequestGetsTokensAndOneTerminalRow) {
  RouterHarness harness(*engine_, Options());
  harness.Step({Input("a", 10, 8), Input("b", 30, 5, /*first=*/40)});
  harness.StepUntilIdle();
  for (const auto& [rid, len] : {std::pair("a", 8), std::pair("b", 5)}) {
    const Served& served = harness.served()[rid];
    EXPECT_EQ(std::ssize(served.output), len);
    EXPECT_EQ(served.num_terminal_rows, 1);
    EXPECT_EQ(served.last.finish_reason, FinishReason::kLength);
    EXPECT_EQ(served.last.completion_tokens, len);
  }
  harness.ExpectNothingHeld();
}

TEST_F(RouterTest, RejectsBadRequestsWithNumbers) {
  RouterHarness harness(*engine_, Options());
  auto outside = Input("outside", 5, 5);
  outside.input_ids[2] = TokenId{96};
  auto nan = Input("nan", 5, 5);
  nan.sampling_params.temperature = std::nan("");
  auto timeout = Input("timeout", 5, 5);
  timeout.timeout_s = std::nan("");
  harness.Step({Input("long", 100, 29), Input("empty", 0, 5), outside, nan, timeout,
                Input("negative", 5, -1), Input("none", 5, 0),
                Input("huge", 5, std::numeric_limits<int64_t>::max()), AbortReq{"nobody"}});
  EXPECT_TRUE(harness.router().idle());
  const auto message = [&](const char* rid) {
    return std::string(harness.served()[rid].last.status.message());
  };
  EXPECT_EQ(message("long"),
            "a prompt of 100 tokens and max_new_tokens 29 exceed the context length of 128 tokens");
  EXPECT_EQ(message("empty"), "the prompt has no tokens");
  EXPECT_EQ(message("outside"), "token id 96 at position 2 of the prompt not in [0, 96)");
  EXPECT_EQ(message("timeout"), "timeout_s nan below 0");
  EXPECT_EQ(message("none"), "max_new_tokens 0 below 1");
  for (const char* rid : {"nan", "negative"}) {
    EXPECT_EQ(harness.served()[rid].last.status.code(), absl::StatusCode::kInvalidArgument) << rid;
  }
  EXPECT_EQ(harness.served()["huge"].last.status.code(), absl::StatusCode::kOutOfRange);
  harness.ExpectNothingHeld();
}

TEST_F(RouterTest, CachedContinuationsJoinTail) {
  const auto vocab = *DynamicVocabularyManager::Create(*VocabBase::Create({}, 96), {});
  RouterHarness harness(*engine_, Options());
  const auto request = [&](const char* rid) {
    TokenizedGenerateReqInput input = Input(rid, 20, 12);
    input.max_tail_rows = 60;
    input.vocab = vocab.get();
    return input;
  };
  for (const char* rid : {"first", "second"}) {
    harness.Step({request(rid)});
    harness.StepUntilIdle();
  }
  harness.Step({Input("plain", 20, 12)});
  harness.StepUntilIdle();
  const auto added = [&](const char* rid) {
    return harness.served()[rid].last.stats.num_rows_added[Index(RowSource::kContinuations)];
  };
  // The first one may know what "plain", for whose prefix it waited, began with.
  EXPECT_LT(added("first"), added("second"));
  EXPECT_GT(harness.served()["second"].last.stats.coverage(),
            harness.served()["first"].last.stats.coverage());
  for (const char* rid : {"first", "second"}) {
    EXPECT_EQ(harness.served()[rid].output, harness.served()["plain"].output) << rid;
  }
  EXPECT_EQ(vocab->Stats().num_emitted, harness.served()["first"].last.stats.num_step_tokens +
                                            harness.served()["second"].last.stats.num_step_tokens);
}

TEST_F(RouterTest, DynamicTokenIdsMustExistInModel) {
  RouterHarness harness(*engine_, Options());
  TokenizedGenerateReqInput bad = Input("bad", 5, 5), good = Input("good", 5, 5);
  bad.dynamic_token_ids = {TokenId{95}, TokenId{96}};
  good.dynamic_token_ids = {TokenId{0}, TokenId{95}, TokenId{95}};
  harness.Step({std::move(bad), std::move(good)});
  harness.StepUntilIdle();
  EXPECT_EQ(harness.served()["bad"].last.status.message(),
            "dynamic_token_ids[1]: token id 96 not in [0, 96)");
  EXPECT_TRUE(harness.served()["good"].last.status.ok());
}

TEST_F(RouterTest, PoolSizeLimitsContext) {
  Router::Options options = Options();
  options.scheduler.max_total_tokens = 50;
  const auto small = Router::Create(*engine_, options);
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ((*small)->scheduler().options().context_length, 50);
  options.scheduler.max_total_tokens = kSlots;
  const auto large = Router::Create(*engine_, options);
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ((*large)->scheduler().options().context_length, 128);
}

TEST_F(RouterTest, OptionsMustFitEngine) {
  Router::Options options = Options();
  options.scheduler.max_total_tokens = kSlots + 1;
  EXPECT_EQ(Router::Create(*engine_, options).status().message(),
            "max_total_tokens 401 exceeds the engine's 400 KV slots");
  options = Options();
  options.scheduler.context_length = 129;
  EXPECT_EQ(Router::Create(*engine_, options).status().message(),
            "context_length 129 exceeds the model's of 128");
}

TEST_F(RouterTest, RejectsIdInUse) {
  RouterHarness harness(*engine_, Options());
  harness.Step({Input("a", 40, 8)});
  const BatchTokenIdOut out = harness.router().ExposedStep({Input("a", 5, 5)});
  ASSERT_FALSE(out.rows.empty());
  EXPECT_EQ(out.rows[0].status.code(), absl::StatusCode::kAlreadyExists);
  harness.StepUntilIdle();
  EXPECT_TRUE(harness.served()["a"].last.status.ok());
}

TEST_F(RouterTest, AbortFreesSlotsInEveryState) {
  Router::Options options = Options();
  options.scheduler.max_running_requests = 2;
  RouterHarness harness(*engine_, options);
  harness.Step({Input("running", 10, 60)});
  harness.Step({Input("prefilling", 60, 20, /*first=*/50), Input("queued", 10, 20, /*first=*/80)});
  harness.Step({AbortReq{"queued"}, AbortReq{"prefilling"}, AbortReq{"running"}});
  for (const char* rid : {"running", "prefilling", "queued"}) {
    EXPECT_EQ(harness.served()[rid].last.status.code(), absl::StatusCode::kCancelled) << rid;
  }
  harness.ExpectNothingHeld();
}

TEST_F(RouterTest, DeadlineEndsRequestAndKeepsOutput) {
  RouterHarness harness(*engine_, Options());
  auto input = Input("late", 10, 100);
  input.timeout_s = 5.0;
  harness.Step({std::move(input)});
  harness.Step();
  now_s_ = 5.0;
  harness.Step();
  EXPECT_EQ(harness.served()["late"].last.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_GT(harness.served()["late"].output.size(), 0u);
  harness.ExpectNothingHeld();
}

TEST_F(RouterTest, ThrowingStopCallbackFailsItsRequestOnly) {
  RouterHarness harness(*engine_, Options());
  auto thrower = Input("thrower", 10, 20);
  int calls = 0;
  thrower.stop = [&calls](TokenId) {
    if (++calls == 6) throw std::runtime_error("broken detokenizer");
    return false;
  };
  auto stopper = Input("stopper", 12, 20, /*first=*/60);
  stopper.stop = [n = 0](TokenId) mutable { return ++n == 4; };
  harness.Step({std::move(thrower), std::move(stopper), Input("c", 14, 20, /*first=*/30)});
  harness.StepUntilIdle();
  EXPECT_EQ(harness.served()["thrower"].last.status.message(), "stop callback: broken detokenizer");
  EXPECT_EQ(harness.served()["stopper"].last.finish_reason, FinishReason::kStop);
  EXPECT_EQ(harness.served()["stopper"].output.size(), 4u);
  EXPECT_EQ(harness.served()["c"].output.size(), 20u);
  harness.ExpectNothingHeld();
}

TEST_F(RouterTest, FailedPassFailsItsRequestsOnly) {
  RouterHarness harness(*engine_, Options());
  harness.Step({Input("running", 10, 20)});
  std::optional<FailingNew> failing;
  auto first = Input("first", 5, 20, /*first=*/30);
  // Memory runs out when the pass has begun to hand out its tokens.
  first.stop = [&failing](TokenId) {
    failing.emplace(/*countdown=*/1);
    return false;
  };
  harness.Step({std::move(first), Input("second", 5, 20, /*first=*/60)});
  ASSERT_TRUE(failing.has_value() && failing->failed());
  for (const char* rid : {"first", "second"}) {
    EXPECT_EQ(harness.served()[rid].last.status.message(), "out of memory") << rid;
  }
  harness.StepUntilIdle();
  EXPECT_EQ(harness.served()["running"].output.size(), 20u);
  harness.ExpectNothingHeld();
}

TEST_F(RouterTest, ServesThroughPipeline) {
  auto router = Router::Create(*engine_, Options());
  ASSERT_TRUE(router.ok()) << router.status();
  struct Output : Receiver {
    std::vector<TokenId> ids;
  };
  std::vector<std::shared_ptr<Output>> outputs;
  BoundedQueue<int> finished(/*capacity=*/100);
  {
    Pipeline pipeline({[&](std::vector<RouterMessage> messages) {
                         return (*router)->ExposedStep(std::move(messages));
                       },
                       [&] { return (*router)->idle(); }},
                      [&](BatchTokenIdOut out) {
                        for (const BatchTokenIdOut::Row& row : out.rows) {
                          std::vector<TokenId>& ids = static_cast<Output&>(*row.receiver).ids;
                          ids.insert(ids.end(), row.token_ids.begin(), row.token_ids.end());
                          if (row.finished) finished.Push(1);
                        }
                      },
                      {});
    for (int i = 0; i < 20; ++i) {
      outputs.push_back(std::make_shared<Output>());
      const auto tokenize = [i] { return Input(/*rid=*/"", 10 + i, 5 + i, i); };
      ASSERT_TRUE(pipeline.Submit(outputs.back(), /*client=*/"c", tokenize).ok());
    }
    for (int i = 0; i < 20; ++i) finished.Pop();
  }
  RouterHarness harness(*engine_, Options());
  for (int i = 0; i < 20; ++i) harness.Step({Input(std::to_string(i), 10 + i, 5 + i, i)});
  harness.StepUntilIdle();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(outputs[i]->ids, harness.served()[std::to_string(i)].output) << i;
  }
}

/// Two encoders whose passes take 10 ms, in virtual time, and a pause of the process inside a pass.
class PausedRouterTest : public testing::Test {
 protected:
  PausedRouterTest() {
    Router::Options options{.now = [this] { return clock_.Now(); }};
    for (size_t model = 0; model < 2; ++model) {
      options.encoders.push_back(
          {.options = {.max_input_tokens = 512, .max_pass_s = 0.02},
           .encode = [this, model](std::span<const EncodingLoop::Item> items, bool) {
             Run(0.01);
             wall_s_ += std::exchange(pause_s_, 0.0);
             ++num_passes_[model];
             return std::optional(std::vector<EncodeResult>(items.size()));
           }});
    }
    router_ = *Router::Create(std::move(options));
  }

  void Run(double seconds) {
    wall_s_ += seconds;
    cpu_s_ += seconds;
  }

  void Add(const std::string& rid, size_t model, int64_t num_inputs, double timeout_s) {
    TokenizedEmbedReqInput input;
    input.rid = rid;
    input.model = model;
    input.timeout_s = timeout_s;
    for (int64_t i = 0; i < num_inputs; ++i) {
      input.inputs.push_back({.ids = std::vector<TokenId>(512, TokenId(static_cast<int32_t>(i)))});
    }
    Step({std::move(input)});
  }

  void Step(std::vector<RouterMessage> messages = {}) {
    for (const BatchTokenIdOut::Row& row : router_->ExposedStep(std::move(messages)).rows) {
      ended_[row.rid] = row.status;
    }
  }

  double wall_s_ = 0.0, cpu_s_ = 0.0, pause_s_ = 0.0;
  RunningClock clock_{[this] { return wall_s_; }, [this] { return cpu_s_; }};
  int64_t num_passes_[2] = {0, 0};
  std::map<std::string, absl::Status> ended_;
  std::unique_ptr<Router> router_;
};

TEST_F(PausedRouterTest, InterruptedModelContinues) {
  Add("a", 0, 400, /*timeout_s=*/1e9);
  Add("b", 1, 400, /*timeout_s=*/1e9);
  for (int i = 0; i < 20; ++i) Step();
  for (const double pause_s : {0.5, 30.0, 3600.0}) {
    pause_s_ = pause_s;
    while (pause_s_ > 0.0) Step();
    const int64_t before[2] = {num_passes_[0], num_passes_[1]};
    for (int i = 0; i < 60; ++i) Step();
    for (const int model : {0, 1}) EXPECT_GE(num_passes_[model] - before[model], 24) << pause_s;
  }
}

TEST_F(PausedRouterTest, DeadlinesStopDuringPause) {
  Add("a", 0, 30, /*timeout_s=*/5.0);
  Add("b", 1, 30, /*timeout_s=*/5.0);
  Add("short", 1, 30, /*timeout_s=*/0.2);
  pause_s_ = 600.0;
  while (!router_->idle()) Step();
  EXPECT_TRUE(ended_["a"].ok()) << ended_["a"];
  EXPECT_TRUE(ended_["b"].ok()) << ended_["b"];
  EXPECT_TRUE(absl::IsDeadlineExceeded(ended_["short"])) << ended_["short"];
}

TEST_F(PausedRouterTest, PassLengthRecoversAfterPause) {
  Add("a", 0, 400, /*timeout_s=*/1e9);
  for (int i = 0; i < 20; ++i) Step();
  const int64_t before = router_->encoder(0).pass_tokens();
  pause_s_ = 30.0;
  for (int i = 0; i < 25; ++i) Step();
  EXPECT_NEAR(static_cast<double>(router_->encoder(0).pass_tokens()), before, 0.25 * before);
}

/// 1,000 requests that come, go, are late and are retracted, on few slots.
TEST_F(RouterTest, SurvivesRandomAborts) {
  const uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(0, most)(random);
  };
  const int64_t num_requests = NumRandomOps(1000);
  Router::Options options = Options();
  options.scheduler.max_running_requests = 12;
  options.scheduler.max_queued_requests = 40;
  RouterHarness harness(*engine_, std::move(options));
  int64_t next = 0;
  for (int64_t step = 0; (next < num_requests || !harness.router().idle()) && step < 20'000;
       ++step) {
    std::vector<RouterMessage> messages;
    for (int64_t i = draw(2) == 0 ? draw(3) : 0; i > 0 && next < num_requests; --i) {
      TokenizedGenerateReqInput input;
      input.rid = std::to_string(next++);
      for (int64_t t = draw(90); t >= 0; --t) {
        input.input_ids.push_back(TokenId(static_cast<int32_t>(draw(8) == 0 ? draw(3) : 5)));
      }
      input.sampling_params.max_new_tokens = draw(35);  // 0 is refused
      input.sampling_params.temperature = static_cast<double>(draw(1));
      input.speculates = draw(3) != 0;
      input.priority = static_cast<int32_t>(draw(1));
      if (draw(4) == 0) input.timeout_s = static_cast<double>(draw(40)) / 100.0;
      if (draw(4) == 0) input.cache_salt = "tenant";
      messages.push_back(std::move(input));
    }
    if (next > 0 && draw(3) == 0)
      messages.push_back(AbortReq{std::to_string(next - 1 - draw(next - 1) % 30)});
    now_s_ += 0.01;
    harness.Step(std::move(messages));
    if (draw(30) == 0) harness.router().RetractAll();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", step " << step;
  }
  EXPECT_TRUE(harness.router().idle());
  harness.ExpectNothingHeld();
  std::map<absl::StatusCode, int64_t> codes;
  EXPECT_EQ(std::ssize(harness.served()), num_requests);
  for (const auto& [rid, served] : harness.served()) {
    EXPECT_EQ(served.num_terminal_rows, 1) << rid;
    ++codes[served.last.status.code()];
  }
  for (const auto& [code, count] : codes) {
    std::printf("%s: %lld\n", absl::StatusCodeToString(code).c_str(),
                static_cast<long long>(count));
  }
}

}  // namespace
}  // namespace shortlist
