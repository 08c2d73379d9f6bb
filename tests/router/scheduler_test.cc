#include "router/scheduler.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace shortlist {
namespace {

class SchedulerTest : public testing::Test {
 protected:
  void Create(std::function<void(SchedulerOptions&)> change = [](SchedulerOptions&) {}) {
    SchedulerOptions options;
    options.max_total_tokens = 100;
    options.context_length = 100;
    options.chunked_prefill_size = 20;
    options.policy = SchedulePolicy::kFcfs;
    change(options);
    auto scheduler = Scheduler::Create(options);
    ASSERT_TRUE(scheduler.ok()) << scheduler.status().message();
    scheduler_ = std::move(*scheduler);
  }
  void TearDown() override {
    if (scheduler_ != nullptr) Check();
  }
  void Check() {
    const absl::Status status = scheduler_->CheckInvariants();
    EXPECT_TRUE(status.ok()) << status.message();
  }

  /// A request of `len` tokens that count up from `first`.
  TokensReq& NewReq(int64_t len, int64_t max_new_tokens, int32_t first = 0,
                    double arrival_s = 0.0) {
    reqs_.push_back(std::make_unique<TokensReq>());
    TokensReq& req = *reqs_.back();
    req.rid = std::to_string(reqs_.size() - 1);
    for (int64_t i = 0; i < len; ++i) req.tokens.push_back(TokenId(first + i));
    req.prompt_len = len;
    req.max_new_tokens = max_new_tokens;
    req.arrival_s = arrival_s;
    return req;
  }
  TokensReq& Add(int64_t len, int64_t max_new_tokens, int32_t first = 0, double arrival_s = 0.0) {
    TokensReq& req = NewReq(len, max_new_tokens, first, arrival_s);
    const absl::Status status = scheduler_->Add(req);
    EXPECT_TRUE(status.ok()) << status.message();
    return req;
  }

  /// A prefill pass; returns "rid:tokens" of each request in it.
  std::string Fill(double now_s = 0.0) {
    const Batch batch = scheduler_->GetNewPrefillBatch(now_s);
    std::string what;
    int64_t left = batch.num_tokens;
    for (Req* req : batch.reqs) {
      const int64_t len = std::min(left, req->num_uncomputed());
      left -= len;
      what += (what.empty() ? "" : " ") + req->rid + ":" + std::to_string(len);
      const bool completes = len == req->num_uncomputed();
      const int64_t cached_len = req->cached_len + len;
      const TokenId token{1000};
      if (completes) static_cast<TokensReq*>(req)->tokens.push_back(token);
      scheduler_->Computed(*req, cached_len, cached_len);
    }
    Check();
    return what;
  }
  void Decode() {
    for (Req* req : scheduler_->PrepareDecode().reqs) {
      const TokenId token{1000 + static_cast<int32_t>(req->num_output())};
      const int64_t cached_len = req->num_tokens();
      static_cast<TokensReq*>(req)->tokens.push_back(token);
      scheduler_->Computed(*req, cached_len, cached_len);
      if (req->num_output() >= req->max_new_tokens) scheduler_->Finish(*req);
    }
    Check();
  }

  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<TokensReq>> reqs_;
};

TEST_F(SchedulerTest, RejectsOversizedRequestWithNumbers) {
  Create([](SchedulerOptions& options) { options.max_total_tokens = 60; });
  EXPECT_EQ(scheduler_->Add(NewReq(/*len=*/90, /*max_new_tokens=*/11)),
            absl::OutOfRangeError("a prompt of 90 tokens and max_new_tokens 11 exceed the context "
                                  "length of 100 tokens"));
  EXPECT_EQ(scheduler_->Add(NewReq(/*len=*/50, /*max_new_tokens=*/12)),
            absl::OutOfRangeError("a prompt of 50 tokens and max_new_tokens 12 need 61 KV slots; "
                                  "there are 60"));
  EXPECT_EQ(scheduler_->Add(NewReq(/*len=*/61, /*max_new_tokens=*/1)),
            absl::OutOfRangeError("a prompt of 61 tokens and max_new_tokens 1 need 61 KV slots; "
                                  "there are 60"));
  EXPECT_EQ(scheduler_->Add(NewReq(/*len=*/0, /*max_new_tokens=*/5)).message(),
            "the prompt has no tokens");
  EXPECT_FALSE(scheduler_->Add(NewReq(/*len=*/5, std::numeric_limits<int64_t>::max())).ok());
  EXPECT_TRUE(scheduler_->idle());
}

TEST_F(SchedulerTest, ServesExactFit) {
  Create([](SchedulerOptions& options) {
    options.max_total_tokens = 60;
    options.num_draft_tokens = 8;
  });
  Req& req = Add(/*len=*/50, /*max_new_tokens=*/11);
  EXPECT_EQ(Fill(), "0:20");
  EXPECT_EQ(Fill(), "0:20");
  EXPECT_EQ(Fill(), "0:10");
  for (int i = 0; i < 10; ++i) Decode();
  EXPECT_EQ(req.state, Req::State::kReleased);
  EXPECT_EQ(req.num_output(), 11);
  EXPECT_EQ(scheduler_->cache().len(), 60);
}

TEST_F(SchedulerTest, QueueIsBounded) {
  Create([](SchedulerOptions& options) { options.max_queued_requests = 2; });
  Add(/*len=*/5, /*max_new_tokens=*/5);
  Add(/*len=*/5, /*max_new_tokens=*/1);
  const absl::Status status = scheduler_->Add(NewReq(/*len=*/5, /*max_new_tokens=*/5));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "the request queue is full: 2 of 2 requests wait");
}

TEST_F(SchedulerTest, ReportsWaitingAndUncachedTokens) {
  Create();
  Req& first = Add(/*len=*/12, /*max_new_tokens=*/4);
  EXPECT_EQ(scheduler_->waiting_tokens().all, 12);
  EXPECT_EQ(scheduler_->waiting_tokens().uncached, 12);
  EXPECT_EQ(Fill(), "0:12");
  EXPECT_EQ(scheduler_->waiting_tokens().all, 0);
  Add(/*len=*/20, /*max_new_tokens=*/4);  // begins as the first one does
  EXPECT_EQ(scheduler_->waiting_tokens().all, 20);
  EXPECT_EQ(scheduler_->waiting_tokens().uncached, 8);
  scheduler_->Retract(first);  // waits again, with its output
  EXPECT_EQ(scheduler_->waiting_tokens().all, 33);
}

TEST_F(SchedulerTest, OptionsAreChecked) {
  const auto message = [](std::function<void(SchedulerOptions&)> change) {
    SchedulerOptions options{.max_total_tokens = 10, .context_length = 10};
    change(options);
    return std::string(Scheduler::Create(options).status().message());
  };
  EXPECT_EQ(message([](SchedulerOptions& o) { o.max_total_tokens = 0; }),
            "max_total_tokens 0 not in [1, 268435456]");
  EXPECT_EQ(message([](SchedulerOptions& o) { o.chunked_prefill_size = -1; }),
            "chunked_prefill_size -1 not in [0, 2147483647]");
  EXPECT_EQ(message([](SchedulerOptions& o) { o.max_wait_s = std::nan(""); }),
            "max_wait_s nan below 0");
  EXPECT_EQ(
      message([](SchedulerOptions& o) { o.ageing = std::numeric_limits<double>::infinity(); }),
      "ageing inf not in [0, infinity)");
  EXPECT_EQ(message([](SchedulerOptions& o) { o.max_running_requests = 1 << 30; }),
            "max_running_requests 1073741824 not in [1, 1048576]");
}

TEST_F(SchedulerTest, PromptsAreSplitAcrossPasses) {
  Create();
  Add(/*len=*/15, /*max_new_tokens=*/5, /*first=*/0);
  Add(/*len=*/15, /*max_new_tokens=*/5, /*first=*/100);
  Add(/*len=*/3, /*max_new_tokens=*/5, /*first=*/200);
  EXPECT_EQ(Fill(), "0:15 1:5");
  EXPECT_EQ(Fill(), "");  // a decode pass is due
  Decode();
  EXPECT_EQ(Fill(), "1:10 2:3");
}

TEST_F(SchedulerTest, UnsplitPromptsShareOnePassIfTheyFit) {
  Create([](SchedulerOptions& options) {
    options.chunked_prefill_size = 0;
    options.max_prefill_tokens = 20;
  });
  Add(/*len=*/30, /*max_new_tokens=*/2, /*first=*/0);
  Add(/*len=*/15, /*max_new_tokens=*/2, /*first=*/100);
  Add(/*len=*/15, /*max_new_tokens=*/2, /*first=*/200);
  Add(/*len=*/5, /*max_new_tokens=*/2, /*first=*/300);
  EXPECT_EQ(Fill(), "0:30");
  Decode();
  EXPECT_EQ(Fill(), "1:15 3:5");
  Decode();
  EXPECT_EQ(Fill(), "2:15");
}

TEST_F(SchedulerTest, RequestWaitsForPrefixInProgress) {
  Create();
  Add(/*len=*/18, /*max_new_tokens=*/5);
  Req& follower = Add(/*len=*/17, /*max_new_tokens=*/5);
  Add(/*len=*/2, /*max_new_tokens=*/5, /*first=*/50);
  EXPECT_EQ(Fill(), "0:18 2:2");
  Decode();
  EXPECT_EQ(Fill(), "1:1");
  EXPECT_EQ(follower.num_hit_tokens, 16);
  EXPECT_EQ(scheduler_->stats().num_hit_tokens, 16);
}

TEST_F(SchedulerTest, NoPrefixWaitWithoutCache) {
  Create([](SchedulerOptions& options) { options.disable_radix_cache = true; });
  Add(/*len=*/10, /*max_new_tokens=*/5);
  Add(/*len=*/10, /*max_new_tokens=*/5);
  EXPECT_EQ(Fill(), "0:10 1:10");
}

TEST_F(SchedulerTest, SaltsKeepPrefixesApart) {
  Create();
  Add(/*len=*/10, /*max_new_tokens=*/1);
  Fill();
  scheduler_->Finish(*reqs_[0]);
  Req& stranger = NewReq(/*len=*/10, /*max_new_tokens=*/1);
  stranger.cache_salt = "tenant";
  ASSERT_TRUE(scheduler_->Add(stranger).ok());
  Add(/*len=*/10, /*max_new_tokens=*/1);
  EXPECT_EQ(Fill(), "1:10 2:1");
}

TEST_F(SchedulerTest, DecodeInterleavesWithPrefill) {
  Create([](SchedulerOptions& options) { options.max_prefill_passes = 2; });
  for (int32_t i = 0; i < 4; ++i) Add(/*len=*/20, /*max_new_tokens=*/5, /*first=*/100 * i);
  EXPECT_EQ(Fill(), "0:20");
  EXPECT_FALSE(scheduler_->DecodeIsDue(/*prefilled=*/true));
  EXPECT_EQ(Fill(), "1:20");
  EXPECT_TRUE(scheduler_->DecodeIsDue(/*prefilled=*/true));
  EXPECT_EQ(Fill(), "");
  Decode();
  EXPECT_EQ(Fill(), "2:20");
}

TEST_F(SchedulerTest, RetractionKeepsOutputAndOldestRequest) {
  Create([](SchedulerOptions& options) {
    options.max_total_tokens = 40;
    options.chunked_prefill_size = 40;
  });
  // By estimate there is room for both, and then there is not.
  Req& first = Add(/*len=*/2, /*max_new_tokens=*/25);
  TokensReq& second = Add(/*len=*/2, /*max_new_tokens=*/25, /*first=*/100);
  EXPECT_EQ(Fill(), "0:2 1:2");
  for (int i = 0; i < 25 && second.num_retractions == 0; ++i) Decode();
  EXPECT_EQ(first.num_retractions, 0);
  EXPECT_EQ(second.num_retractions, 1);
  EXPECT_EQ(second.state, Req::State::kQueued);
  const std::vector<TokenId> kept = second.tokens;
  EXPECT_GT(second.num_output(), 10);
  for (int i = 0; i < 50 && second.state != Req::State::kReleased; ++i) {
    Fill();
    if (!scheduler_->running().empty()) Decode();
  }
  EXPECT_EQ(first.state, Req::State::kReleased);
  EXPECT_EQ(second.num_output(), 25);
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), second.tokens.begin()));
}

TEST_F(SchedulerTest, PriorityDecidesAdmissionAndRetraction) {
  Create([](SchedulerOptions& options) { options.max_running_requests = 1; });
  Add(/*len=*/5, /*max_new_tokens=*/1, /*first=*/0);
  Req& urgent = NewReq(/*len=*/5, /*max_new_tokens=*/1, /*first=*/50);
  urgent.priority = 3;
  ASSERT_TRUE(scheduler_->Add(urgent).ok());
  EXPECT_EQ(Fill(), "1:5");
}

TEST_F(SchedulerTest, OverdueRequestIsNotOvertaken) {
  Create([](SchedulerOptions& options) {
    options.max_total_tokens = 50;
    options.max_wait_s = 5.0;
  });
  Add(/*len=*/20, /*max_new_tokens=*/10, /*first=*/0);
  Fill();
  Req& large = Add(/*len=*/40, /*max_new_tokens=*/10, /*first=*/100, /*arrival_s=*/0.0);
  Add(/*len=*/4, /*max_new_tokens=*/2, /*first=*/200, /*arrival_s=*/0.5);
  Decode();
  EXPECT_EQ(Fill(/*now_s=*/1.0), "2:4");  // room for the small one only
  Decode();
  Add(/*len=*/4, /*max_new_tokens=*/2, /*first=*/300, /*arrival_s=*/4.0);
  EXPECT_EQ(Fill(/*now_s=*/5.0), "");
  for (int i = 0; i < 20 && !scheduler_->running().empty(); ++i) Decode();
  EXPECT_EQ(Fill(/*now_s=*/6.0), "1:20");
  EXPECT_EQ(large.state, Req::State::kPrefilling);
}

TEST_F(SchedulerTest, DropWorksInEveryState) {
  Create();
  Req& running = Add(/*len=*/5, /*max_new_tokens=*/5, /*first=*/0);
  Fill();
  Decode();
  Req& prefilling = Add(/*len=*/30, /*max_new_tokens=*/5, /*first=*/100);
  EXPECT_EQ(Fill(), "1:20");
  Req& queued = Add(/*len=*/5, /*max_new_tokens=*/5, /*first=*/200);
  for (Req* req : {&running, &prefilling, &queued}) {
    scheduler_->Drop(*req);
    scheduler_->Drop(*req);
    EXPECT_EQ(req->state, Req::State::kReleased);
    Check();
  }
  EXPECT_TRUE(scheduler_->idle());
  EXPECT_EQ(scheduler_->available_len(), 100);
}

}  // namespace
}  // namespace shortlist
