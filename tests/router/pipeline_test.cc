#include "router/pipeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

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
        EXPECT_TRUE(left_.emplace(input->rid, input->sampling_params.max_new_tokens).second);
      } else if (left_.erase(std::get<AbortReq>(message).rid) > 0) {
        out.rows.push_back({.rid = std::get<AbortReq>(message).rid,
                            .finished = true,
                            .status = absl::CancelledError("aborted")});
      }
    }
    for (auto request = left_.begin(); request != left_.end();) {
      const bool finished = --request->second == 0;
      out.rows.push_back({.rid = request->first, .token_ids = {TokenId{1}}, .finished = finished});
      request = finished ? left_.erase(request) : std::next(request);
    }
    return out;
  }

  std::map<std::string, int64_t> left_;
};

/// What the detokenizer thread saw; read when the pipeline is gone.
struct Seen {
  int64_t num_tokens = 0;
  int64_t num_terminal_rows = 0;
  absl::StatusCode code = absl::StatusCode::kUnknown;
};

class PipelineTest : public testing::Test {
 protected:
  void Start(Pipeline::Options options) {
    pipeline_ = std::make_unique<Pipeline>(
        router_.stepper(),
        [this](BatchTokenIdOut out) {
          for (const BatchTokenIdOut::Row& row : out.rows) {
            Seen& seen = seen_[row.rid];
            EXPECT_EQ(seen.num_terminal_rows, 0) << row.rid;
            seen.num_tokens += std::ssize(row.token_ids);
            if (!row.finished) continue;
            ++seen.num_terminal_rows;
            seen.code = row.status.code();
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

  FakeRouter router_;
  std::map<std::string, Seen> seen_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(PipelineTest, EachRequestGetsItsRows) {
  Start({.num_tokenizers = 3, .queue_size = 100});
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(pipeline_->Submit(std::to_string(i), /*client=*/"c", Tokens(1 + i % 7)).ok());
  }
  ASSERT_TRUE(
      pipeline_->Submit("bad", /*client=*/"c", [] { return absl::InvalidArgumentError("no text"); })
          .ok());
  ASSERT_TRUE(pipeline_
                  ->Submit("thrower", /*client=*/"c",
                           []() -> absl::StatusOr<TokenizedGenerateReqInput> {
                             throw std::runtime_error("no tokenizer");
                           })
                  .ok());
  // Those that are still on their way when the pipeline goes are aborted, not forgotten.
  pipeline_.reset();
  EXPECT_EQ(seen_.size(), 52u);
  for (const auto& [rid, seen] : seen_) EXPECT_EQ(seen.num_terminal_rows, 1) << rid;
}

TEST_F(PipelineTest, RefusalsHaveNoRow) {
  Start({.num_tokenizers = 1, .queue_size = 1});
  BoundedQueue<int> gate(/*capacity=*/1);
  const auto wait = [&gate]() -> absl::StatusOr<TokenizedGenerateReqInput> {
    gate.Pop();
    return absl::InvalidArgumentError("refused");
  };
  ASSERT_TRUE(pipeline_->Submit("a", /*client=*/"c", wait).ok());
  EXPECT_EQ(pipeline_->Submit("a", /*client=*/"c", wait).code(), absl::StatusCode::kAlreadyExists);
  absl::Status status;  // one is being tokenized, one waits, and then there is no room
  for (int i = 0; status.ok() && i < 100; ++i)
    status = pipeline_->Submit(std::to_string(i), /*client=*/"c", wait);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  gate.Close();
  pipeline_.reset();
  EXPECT_EQ(seen_["a"].num_terminal_rows, 1);
  EXPECT_LE(seen_.size(), 4u);
}

TEST_F(PipelineTest, AbortEndsARequestThatIsBeingTokenized) {
  Start({.num_tokenizers = 1, .queue_size = 4});
  BoundedQueue<int> gate(/*capacity=*/1);
  ASSERT_TRUE(pipeline_
                  ->Submit("a", /*client=*/"c",
                           [&gate] {
                             gate.Pop();
                             return Tokens(1'000'000'000)();
                           })
                  .ok());
  pipeline_->Abort("a");
  pipeline_->Abort("nobody");
  gate.Close();
  pipeline_.reset();
  EXPECT_EQ(seen_["a"].code, absl::StatusCode::kCancelled);
  EXPECT_EQ(seen_["a"].num_tokens, 0);
}

TEST_F(PipelineTest, KillTest) {
  Start({.num_tokenizers = 2, .queue_size = 16});
  const uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const int64_t num_clients = 4;
  const int64_t per_client = NumRandomOps(2000) / num_clients;
  std::vector<std::thread> clients;
  std::vector<int64_t> num_taken(num_clients);
  for (int64_t c = 0; c < num_clients; ++c) {
    clients.emplace_back([&, c] {
      std::mt19937_64 random(seed + c);
      for (int64_t i = 0; i < per_client; ++i) {
        const std::string rid = std::to_string(c) + "/" + std::to_string(i);
        const int64_t len = 1 + static_cast<int64_t>(random() % 50);
        if (pipeline_->Submit(rid, /*client=*/"c", Tokens(len)).ok()) ++num_taken[c];
        if (random() % 3 == 0) pipeline_->Abort(rid);
        if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  }
  for (std::thread& client : clients) client.join();
  pipeline_.reset();
  int64_t num_expected = 0;
  for (int64_t taken : num_taken) num_expected += taken;
  EXPECT_EQ(std::ssize(seen_), num_expected);
  EXPECT_GT(num_expected, 0);
  for (const auto& [rid, seen] : seen_) EXPECT_EQ(seen.num_terminal_rows, 1) << rid;
}

}  // namespace
}  // namespace shortlist
