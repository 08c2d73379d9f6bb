// The Scheduler under random requests, drops, retractions and lack of memory. Checks every
// invariant after each operation, and that nothing is held at the end.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>

#include "router/scheduler.h"
#include "tests/router/failing_new.h"

namespace shortlist {
namespace {

class Load {
 public:
  Load(const SchedulerOptions& options, uint64_t seed)
      : num_clients_(1 + static_cast<int64_t>(seed % 3)),
        random_(seed),
        scheduler_(*Scheduler::Create(options)) {}

  void Step() {
    now_s_ += 0.01;
    const int64_t op = Draw(100);
    if (op < 25) {
      Add();
    } else if (op < 55) {
      Try([&] { return scheduler_->GetNewPrefillBatch(now_s_); },
          [&](Batch batch) { Fill(batch); });
    } else if (op < 90) {
      if (scheduler_->DecodeIsDue(Draw(2) == 0)) {
        Try([&] { return scheduler_->PrepareDecode(); }, [&](Batch batch) { Decode(batch); });
      }
    } else if (op < 95 && !live_.empty()) {
      scheduler_->Drop(AnyReq());
      Sweep();
    } else if (!live_.empty()) {
      Req& req = AnyReq();
      const bool active = req.state == Req::State::kPrefilling || req.state == Req::State::kRunning;
      if (active) scheduler_->Retract(req);
    }
    Check();
  }

  void DropAll() {
    for (auto& [number, req] : live_) scheduler_->Drop(*req);
    Sweep();
    Check();
    EXPECT_TRUE(scheduler_->idle());
    EXPECT_EQ(scheduler_->available_len(), scheduler_->options().max_total_tokens);
    EXPECT_EQ(scheduler_->cache().evictable_len(), scheduler_->cache().len());
  }

 private:
  int64_t Draw(int64_t below) {
    return std::uniform_int_distribution<int64_t>(0, below - 1)(random_);
  }

  Req& AnyReq() { return *std::next(live_.begin(), Draw(std::ssize(live_)))->second; }

  /// Runs `op`, now and then with memory that fails at some call; then `use` its result, if any.
  template <typename Op, typename Use>
  void Try(Op op, Use use) {
    decltype(op()) result;
    if (Draw(3) == 0) {
      const FailingNew failing(1 + Draw(12));
      try {
        result = op();
      } catch (const std::bad_alloc&) {
        return;
      }
    } else {
      result = op();
    }
    use(std::move(result));
  }

  void Add() {
    if (live_.size() > 30) return;
    auto req = std::make_unique<TokensReq>();
    const int64_t number = next_++;
    req->rid = std::to_string(number);
    for (int64_t i = Draw(30); i >= 0; --i) req->tokens.push_back(TokenId(Draw(5) == 0 ? 1 : 0));
    req->prompt_len = req->num_tokens();
    req->max_new_tokens = 1 + Draw(24);
    req->priority = static_cast<int32_t>(Draw(2));
    req->arrival_s = now_s_;
    req->client = std::to_string(Draw(num_clients_));
    if (Draw(4) == 0) req->cache_salt = "tenant";
    absl::Status status = absl::InternalError("out of memory");
    Try([&] { return scheduler_->Add(*req); }, [&](absl::Status added) { status = added; });
    if (status.ok()) live_[number] = std::move(req);
  }

  void Fill(const Batch& batch) {
    int64_t left = batch.num_tokens;
    for (Req* req : batch.reqs) {
      const int64_t len = std::min(left, req->num_uncomputed());
      ASSERT_GT(len, 0);
      left -= len;
      const int64_t cached_len = req->cached_len + len;
      const bool completes = cached_len == req->prefill_len;
      Advance(*req, cached_len, completes);
    }
    EXPECT_EQ(left, 0);
    Sweep();
  }

  void Decode(const Batch& batch) {
    for (Req* req : batch.reqs) Advance(*req, req->num_tokens(), /*emits=*/true);
    Sweep();
  }

  void Advance(Req& req, int64_t cached_len, bool emits) {
    const TokenId token{static_cast<int32_t>(Draw(3))};
    const int64_t lag = Draw(3) == 0 ? Draw(4) : 0;  // a drafter may lag
    const int64_t shareable_len = std::max(req.prefix_len, cached_len - lag);
    if (emits) static_cast<TokensReq&>(req).tokens.push_back(token);
    const FailingNew failing(Draw(6) == 0 ? 1 + Draw(6) : 0);
    try {
      scheduler_->Computed(req, cached_len, shareable_len);
    } catch (const std::bad_alloc&) {
      scheduler_->Drop(req);
      return;
    }
    if (req.num_output() >= req.max_new_tokens) scheduler_->Finish(req);
  }

  void Sweep() {
    std::erase_if(live_,
                  [](const auto& item) { return item.second->state == Req::State::kReleased; });
  }

  void Check() {
    const absl::Status status = scheduler_->CheckInvariants();
    ASSERT_TRUE(status.ok()) << status.message();
  }

  const int64_t num_clients_;
  std::mt19937_64 random_;
  std::unique_ptr<Scheduler> scheduler_;
  double now_s_ = 0.0;
  int64_t next_ = 0;
  std::map<int64_t, std::unique_ptr<TokensReq>> live_;
};

TEST(SchedulerRandomTest, InvariantsHoldUnderRandomLoad) {
  const uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const int64_t num_ops = NumRandomOps(500'000);
  constexpr int64_t kOpsPerLoad = 2000;
  for (int64_t done = 0; done < num_ops; done += kOpsPerLoad) {
    const uint64_t n = seed + static_cast<uint64_t>(done / kOpsPerLoad);
    SchedulerOptions options;
    options.policy = static_cast<SchedulePolicy>(n % 4);
    options.max_total_tokens = 60 + static_cast<int64_t>(n % 90);
    options.context_length = 50;
    options.chunked_prefill_size = n % 3 == 0 ? 0 : 1 + static_cast<int64_t>(n % 17);
    options.max_prefill_tokens = 1 + static_cast<int64_t>(n % 40);
    options.max_running_requests = 1 + static_cast<int64_t>(n % 9);
    options.max_queued_requests = 1 + static_cast<int64_t>(n % 20);
    options.max_wait_s = n % 5 == 0 ? 0.0 : 0.3;
    options.num_draft_tokens = static_cast<int64_t>(n % 4);
    options.disable_radix_cache = n % 7 == 0;
    options.bigram_keys = n % 2 == 0;
    Load load(options, n);
    for (int64_t i = 0; i < kOpsPerLoad; ++i) {
      load.Step();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", operation " << done + i;
    }
    load.DropAll();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shortlist
