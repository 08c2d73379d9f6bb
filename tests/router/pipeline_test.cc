#include "router/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/router/failing_new.h"

namespace shortlist {
namespace {

/// A router that sends one token per step to each request, as many as it may.
class FakeRouter {
 public:
  Pipeline::Stepper stepper() {
    return {[this](std::vector<RouterMessage> messages) { return Step(std::move(messages)); },
            [this] { return left_.empty(); }};
  }

 private:
  BatchTokenIdOut Step(std::vector<RouterMessage> messages) {
    BatchTokenIdOut out;
    for (RouterMessage& message : messages) {
      if (auto* input = std::get_if<TokenizedGenerateReqInput>(&message)) {
        EXPECT_TRUE(left_.emplace(input->rid, std::move(*input)).second);
      } else if (auto left = left_.extract(std::get<AbortReq>(message).rid); !left.empty()) {
        out.rows.push_back({.receiver = left.mapped().receiver,
                            .finished = true,
                            .status = absl::CancelledError("aborted")});
      }
    }
    for (auto request = left_.begin(); request != left_.end();) {
      TokenizedGenerateReqInput& input = request->second;
      const bool finished = --input.sampling_params.max_new_tokens == 0;
      out.rows.push_back(
          {.receiver = input.receiver, .token_ids = {TokenId{1}}, .finished = finished});
      request = finished ? left_.erase(request) : std::next(request);
    }
    return out;
  }

  std::map<std::string, TokenizedGenerateReqInput> left_;  // max_new_tokens: what is left
};

/// Events of a request on the detokenizer thread; read after the pipeline is destroyed.
struct Seen : Receiver {
  int64_t num_tokens = 0;
  int64_t num_terminal_rows = 0;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::atomic<bool> ended = false;  // any thread
};

class PipelineTest : public testing::Test {
 protected:
  void Start(Pipeline::Options options) {
    pipeline_ = std::make_unique<Pipeline>(
        router_.stepper(),
        [](BatchTokenIdOut out) {
          for (const BatchTokenIdOut::Row& row : out.rows) {
            auto& seen = static_cast<Seen&>(*row.receiver);
            EXPECT_EQ(seen.num_terminal_rows, 0);
            seen.num_tokens += std::ssize(row.token_ids);
            if (!row.finished) continue;
            ++seen.num_terminal_rows;
            seen.code = row.status.code();
            seen.ended = true;
          }
        },
        options);
  }

  static Pipeline::Tokenize Tokens(int64_t max_new_tokens) {
    return [max_new_tokens] {
      TokenizedGenerateReqInput input;
      input.sampling_params.max_new_tokens = max_new_tokens;
      return input;
    };
  }

  std::shared_ptr<Seen> Submit(Pipeline::Tokenize tokenize) {
    auto seen = std::make_shared<Seen>();
    EXPECT_TRUE(pipeline_->Submit(seen, /*client=*/"c", std::move(tokenize)).ok());
    return seen;
  }

  FakeRouter router_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(PipelineTest, EachRequestGetsItsRows) {
  Start({.num_tokenizers = 3, .queue_size = 100});
  std::vector<std::shared_ptr<Seen>> all;
  for (int i = 0; i < 50; ++i) all.push_back(Submit(Tokens(1 + i % 7)));
  all.push_back(Submit([] { return absl::InvalidArgumentError("no text"); }));
  all.push_back(Submit([]() -> absl::StatusOr<TokenizedGenerateReqInput> {
    throw std::runtime_error("no tokenizer");
  }));
  // Requests in flight when the pipeline is destroyed are aborted, not dropped.
  pipeline_.reset();
  for (const std::shared_ptr<Seen>& seen : all) EXPECT_EQ(seen->num_terminal_rows, 1);
}

TEST_F(PipelineTest, QuickRequestsDoNotWaitForSlowOnes) {
  Start({.num_tokenizers = 1, .queue_size = 16});
  BoundedQueue<int> gate(/*capacity=*/1);
  std::vector<std::shared_ptr<Seen>> slow;
  for (int i = 0; i < 8; ++i) {
    slow.push_back(std::make_shared<Seen>());
    const auto wait = [&gate] {
      gate.Pop();
      return Tokens(1)();
    };
    EXPECT_TRUE(pipeline_->Submit(slow.back(), "other", wait, Pipeline::Pace::kMayBeSlow).ok());
  }
  const auto quick = Submit(Tokens(1));
  while (!quick->ended) std::this_thread::yield();
  for (const std::shared_ptr<Seen>& seen : slow) EXPECT_FALSE(seen->ended);
  gate.Close();
  pipeline_.reset();
  for (const std::shared_ptr<Seen>& seen : slow) EXPECT_EQ(seen->num_terminal_rows, 1);
}

TEST_F(PipelineTest, RejectedRequestsHaveNoRow) {
  Start({.num_tokenizers = 1, .queue_size = 1});
  BoundedQueue<int> gate(/*capacity=*/1);
  const auto wait = [&gate]() -> absl::StatusOr<TokenizedGenerateReqInput> {
    gate.Pop();
    return absl::InvalidArgumentError("refused");
  };
  std::vector<std::shared_ptr<Seen>> taken;
  // One is being tokenized, at most two wait, and then there is no room.
  auto refused = std::make_shared<Seen>();
  absl::Status status;
  while ((status = pipeline_->Submit(refused, /*client=*/"c", wait)).ok()) {
    taken.push_back(std::exchange(refused, std::make_shared<Seen>()));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(taken.size(), testing::AllOf(testing::Ge(1u), testing::Le(3u)));
  pipeline_->Abort(*refused);
  gate.Close();
  pipeline_.reset();
  EXPECT_EQ(refused->num_terminal_rows, 0);
  for (const std::shared_ptr<Seen>& seen : taken) EXPECT_EQ(seen->num_terminal_rows, 1);
}

TEST_F(PipelineTest, AbortEndsRequestDuringTokenization) {
  Start({.num_tokenizers = 1, .queue_size = 4});
  BoundedQueue<int> gate(/*capacity=*/1);
  const auto seen = Submit([&gate] {
    gate.Pop();
    return Tokens(1'000'000'000)();
  });
  pipeline_->Abort(*seen);
  gate.Close();
  pipeline_.reset();
  EXPECT_EQ(seen->code, absl::StatusCode::kCancelled);
  EXPECT_EQ(seen->num_tokens, 0);
}

TEST_F(PipelineTest, AbortAllEndsEarlierRequests) {
  Start({.num_tokenizers = 2, .queue_size = 16});
  std::vector<std::shared_ptr<Seen>> before;
  for (int i = 0; i < 8; ++i) before.push_back(Submit(Tokens(1'000'000'000)));
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // some are in the router, say
  pipeline_->AbortAll();
  const auto after = Submit(Tokens(1));
  while (!after->ended) std::this_thread::yield();
  pipeline_.reset();
  for (const std::shared_ptr<Seen>& seen : before) {
    EXPECT_EQ(seen->code, absl::StatusCode::kCancelled);
  }
  EXPECT_EQ(after->code, absl::StatusCode::kOk);
}

TEST_F(PipelineTest, SurvivesRandomAborts) {
  Start({.num_tokenizers = 2, .queue_size = 16});
  const uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const int64_t num_clients = 4;
  const int64_t per_client = NumRandomOps(2000) / num_clients;
  std::vector<std::thread> clients;
  std::vector<std::vector<std::shared_ptr<Seen>>> taken(num_clients);
  for (int64_t c = 0; c < num_clients; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937_64 random(seed + c);
      for (int64_t i = 0; i < per_client; ++i) {
        const int64_t len = 1 + static_cast<int64_t>(random() % 50);
        auto seen = std::make_shared<Seen>();
        if (pipeline_->Submit(seen, /*client=*/"c", Tokens(len)).ok()) taken[c].push_back(seen);
        if (random() % 3 == 0) pipeline_->Abort(*seen);
        if (random() % 200 == 0) pipeline_->AbortAll();
        if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  }
  for (std::thread& client : clients) client.join();
  pipeline_.reset();
  int64_t num_taken = 0;
  for (const auto& of_client : taken) {
    num_taken += std::ssize(of_client);
    for (const std::shared_ptr<Seen>& seen : of_client) EXPECT_EQ(seen->num_terminal_rows, 1);
  }
  EXPECT_GT(num_taken, 0);
}

}  // namespace
}  // namespace shortlist
