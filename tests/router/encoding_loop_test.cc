#include "router/encoding_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/router/failing_new.h"

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

EncodeInput Input(std::vector<int32_t> ids) {
  EncodeInput input;
  for (const int32_t id : ids) input.ids.push_back(TokenId{id});
  return input;
}

TokenizedEmbedReqInput Request(std::string rid, std::vector<std::vector<int32_t>> inputs) {
  TokenizedEmbedReqInput request{.rid = std::move(rid)};
  for (std::vector<int32_t>& ids : inputs) request.inputs.push_back(Input(std::move(ids)));
  return request;
}

/// Sums its ids; id 13 is an error of its own, id 99 breaks the pass.
class Summer {
 public:
  std::vector<EncodeResult> operator()(std::span<const EncodingLoop::Item> items) {
    std::vector<EncodeResult> results;
    passes.push_back(static_cast<int64_t>(items.size()));
    for (const EncodingLoop::Item& item : items) {
      float sum = 0.0f;
      bool is_bad = false;
      for (const TokenId id : item.input->ids) {
        if (Raw(id) == 99) throw std::runtime_error("it broke");
        is_bad |= Raw(id) == 13;
        sum += static_cast<float>(Raw(id));
      }
      if (is_bad) {
        results.push_back({.status = absl::InternalError("13")});
      } else {
        results.push_back({.values = std::vector<float>(item.wish->dimensions == 0 ? 2 : 1, sum)});
      }
    }
    return results;
  }

  std::vector<int64_t> passes;
};

class EncodingLoopTest : public testing::Test {
 protected:
  void Open(EncodingLoop::Options options) {
    auto loop = EncodingLoop::Create(options, [this](std::span<const EncodingLoop::Item> items,
                                                     bool) { return summer_(items); });
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
  }
  BatchTokenIdOut Add(TokenizedEmbedReqInput input, double now_s = 0.0) {
    loop_->Add(std::move(input), now_s);
    return loop_->TakeRows();
  }
  BatchTokenIdOut Step(double now_s = 0.0) {
    loop_->Step(now_s);
    return loop_->TakeRows();
  }

  Summer summer_;
  std::unique_ptr<EncodingLoop> loop_;
};

TEST_F(EncodingLoopTest, MultiPassRequestReturnsOneRowInInputOrder) {
  Open({.max_input_tokens = 4, .max_batch_tokens = 4});
  EXPECT_TRUE(Add(Request("a", {{1, 2}, {3}, {4, 5, 6}, {7}})).rows.empty());
  EXPECT_FALSE(loop_->idle());
  EXPECT_TRUE(Step().rows.empty());
  const BatchTokenIdOut out = Step();
  ASSERT_EQ(out.rows.size(), 1);
  EXPECT_EQ(out.rows[0].rid, "a");
  EXPECT_TRUE(out.rows[0].finished);
  EXPECT_TRUE(out.rows[0].status.ok());
  EXPECT_EQ(out.rows[0].prompt_tokens, 7);
  ASSERT_EQ(out.rows[0].results.size(), 4);
  for (size_t i = 0; i < 4; ++i) {
    constexpr float kSums[] = {3.0f, 3.0f, 15.0f, 7.0f};
    EXPECT_THAT(out.rows[0].results[i].values, ElementsAre(kSums[i], kSums[i]));
  }
  EXPECT_TRUE(loop_->idle());
  EXPECT_THAT(summer_.passes, ElementsAre(2, 2));
}

TEST_F(EncodingLoopTest, EqualInputsAreComputedOncePerPass) {
  Open({.max_input_tokens = 4});
  TokenizedEmbedReqInput typed = Request("c", {{1, 2}});
  typed.inputs[0].token_types = {0, 1};
  TokenizedEmbedReqInput cut = Request("d", {{1, 2}});
  cut.wish.dimensions = 1;
  Add(Request("a", {{1, 2}, {1, 2}, {2, 1}}));
  Add(Request("b", {{1, 2}}));
  Add(std::move(typed));
  Add(std::move(cut));
  const BatchTokenIdOut out = Step();
  EXPECT_EQ(out.rows.size(), 4);
  EXPECT_THAT(summer_.passes, ElementsAre(4));
  EXPECT_EQ(loop_->stats().num_repeated, 2);
  for (const BatchTokenIdOut::Row& row : out.rows) {
    for (const EncodeResult& result : row.results) EXPECT_EQ(result.values[0], 3.0f);
    EXPECT_EQ(row.results.back().values.size(), row.rid == "d" ? 1 : 2);
  }
}

TEST_F(EncodingLoopTest, EqualInputsCountOnceTowardsBudget) {
  Open({.max_input_tokens = 4, .max_batch_tokens = 4});
  std::vector<std::vector<int32_t>> inputs(100, {1, 2});
  inputs.push_back({3, 4});
  inputs.push_back({1, 2});
  inputs.push_back({5});
  Add(Request("a", inputs));
  EXPECT_TRUE(Step().rows.empty());
  const BatchTokenIdOut out = Step();
  ASSERT_EQ(out.rows.size(), 1);
  EXPECT_THAT(summer_.passes, ElementsAre(2, 1));
  EXPECT_EQ(loop_->stats().num_repeated, 100);
  EXPECT_EQ(out.rows[0].results[100].values[0], 7.0f);
  EXPECT_EQ(out.rows[0].results[101].values[0], 3.0f);
}

TEST_F(EncodingLoopTest, FailedPassFailsItsRequestsOnly) {
  Open({.max_input_tokens = 4, .max_batch_tokens = 2});
  Add(Request("a", {{1}, {13}, {99, 1}, {2, 2}}));
  Step();
  Step();
  const BatchTokenIdOut out = Step();
  ASSERT_EQ(out.rows.size(), 1);
  const std::vector<EncodeResult>& results = out.rows[0].results;
  EXPECT_TRUE(out.rows[0].status.ok());
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[1].status, absl::InternalError("13"));
  EXPECT_EQ(results[2].status, absl::InternalError("it broke"));
  EXPECT_THAT(results[3].values, ElementsAre(4.0f, 4.0f));
}

TEST_F(EncodingLoopTest, RejectsWithValueAndBound) {
  Open({.max_input_tokens = 3, .max_queued_requests = 1});
  const auto refusal = [this](TokenizedEmbedReqInput input) {
    const BatchTokenIdOut out = Add(std::move(input));
    EXPECT_EQ(out.rows.size(), 1);
    EXPECT_TRUE(out.rows[0].finished);
    return std::string(out.rows[0].status.message());
  };
  EXPECT_EQ(refusal(Request("a", {})), "there is no input");
  EXPECT_EQ(refusal(Request("a", {{1}, {}})), "input 1 has no tokens");
  EXPECT_EQ(refusal(Request("a", {{1}, {1, 2, 3, 4}})),
            "input 1 has 4 tokens, more than the model's 3");
  TokenizedEmbedReqInput input = Request("a", {{1, 2}});
  input.inputs[0].token_types = {0};
  EXPECT_EQ(refusal(input), "input 0 has 1 token types for 2 tokens");
  input = Request("a", {{1, 2}});
  input.timeout_s = -1.0;
  EXPECT_EQ(refusal(input), "timeout_s -1 below 0");
  EXPECT_TRUE(loop_->idle());

  EXPECT_TRUE(Add(Request("a", {{1}})).rows.empty());
  EXPECT_EQ(refusal(Request("a", {{1}})), "request id a is being served");
  EXPECT_THAT(refusal(Request("b", {{1}})), HasSubstr("the queue is full: 1 requests wait"));
  EXPECT_EQ(Step().rows.size(), 1);

  const auto created = EncodingLoop::Create({.max_input_tokens = 0}, {});
  EXPECT_EQ(created.status(), absl::InvalidArgumentError("max_input_tokens 0 below 1"));
}

TEST_F(EncodingLoopTest, PassSizeFollowsMeasuredTime) {
  // A hundredth of a second a token, of the clock that encoder and loop share.
  double now = 0.0;
  std::vector<size_t> passes;
  auto loop = EncodingLoop::Create({.max_input_tokens = 80,
                                    .max_batch_tokens = 60,
                                    .max_pass_s = 0.35,
                                    .now = [&] { return now; }},
                                   [&](std::span<const EncodingLoop::Item> items, bool) {
                                     for (const auto& item : items)
                                       now += 0.01 * static_cast<double>(item.input->ids.size());
                                     passes.push_back(items.size());
                                     return std::vector<EncodeResult>(items.size());
                                   });
  ASSERT_TRUE(loop.ok()) << loop.status();
  EXPECT_EQ((*loop)->pass_tokens(), 60);  // nothing is known yet
  std::vector<std::vector<int32_t>> inputs;
  for (int32_t i = 0; i < 12; ++i) inputs.push_back(std::vector<int32_t>(10, i));
  inputs.push_back(std::vector<int32_t>(80, 1));  // longer than there is time for
  (*loop)->Add(Request("a", inputs), now);
  while (!(*loop)->idle()) {
    (*loop)->Step(now);
    (*loop)->TakeRows();
  }
  EXPECT_THAT(passes, ElementsAre(6, 3, 3, 1));
  EXPECT_EQ((*loop)->pass_tokens(), 35);

  for (const double bound : {0.0, -1.0, std::nan("")}) {
    const auto refused = EncodingLoop::Create({.max_input_tokens = 1, .max_pass_s = bound}, {});
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("is not above 0"));
  }
}

TEST_F(EncodingLoopTest, QueryPassIsHalvedWhileOtherModelsRun) {
  double now = 0.0;
  std::vector<size_t> passes;
  auto loop = EncodingLoop::Create({.max_input_tokens = 100,
                                    .max_batch_tokens = 600,
                                    .max_pass_s = 0.35,
                                    .now = [&] { return now; }},
                                   [&](std::span<const EncodingLoop::Item> items, bool) {
                                     for (const auto& item : items)
                                       now += 0.001 * static_cast<double>(item.input->ids.size());
                                     passes.push_back(items.size());
                                     return std::vector<EncodeResult>(items.size());
                                   });
  ASSERT_TRUE(loop.ok()) << loop.status();
  std::vector<std::vector<int32_t>> inputs;
  for (int32_t i = 0; i < 14; ++i) inputs.push_back(std::vector<int32_t>(100, i));
  (*loop)->Add(Request("a", inputs), now);
  (*loop)->Step(now);
  (*loop)->Step(now);
  EXPECT_TRUE((*loop)->TakeRows().rows.empty());
  // 175 tokens fit half of the time: 50 of the query, and 100 of the running requests.
  (*loop)->Add(Request("q", {std::vector<int32_t>(50, 1)}), now);
  (*loop)->Step(now);
  EXPECT_EQ((*loop)->TakeRows().rows.size(), 1);
  // Several that end share a whole one.
  for (const char* rid : {"r", "s", "t"}) {
    (*loop)->Add(Request(rid, {std::vector<int32_t>(100, rid[0])}), now);
  }
  (*loop)->Step(now);
  EXPECT_EQ((*loop)->TakeRows().rows.size(), 3);
  while (!(*loop)->idle()) {
    (*loop)->Step(now);
    (*loop)->TakeRows();
  }
  EXPECT_THAT(passes, ElementsAre(6, 3, 2, 3, 3, 1));
}

/// Needs as many steps for an item as its first id says.
class Stepper {
 public:
  std::optional<std::vector<EncodeResult>> operator()(std::span<const EncodingLoop::Item> items,
                                                      bool goes_on) {
    if (!goes_on) {
      ++num_begun;
      left_ = 0;
      for (const auto& item : items) left_ += Raw(item.input->ids[0]);
    }
    if (--left_ > 0) return std::nullopt;
    return std::vector<EncodeResult>(items.size(), EncodeResult{.values = {1.0f}});
  }

  int num_begun = 0;

 private:
  int left_ = 0;
};

TEST_F(EncodingLoopTest, ModelStopsMidPass) {
  Stepper stepper;
  auto loop =
      EncodingLoop::Create({.max_input_tokens = 1, .max_batch_tokens = 2},
                           [&](auto items, bool goes_on) { return stepper(items, goes_on); });
  ASSERT_TRUE(loop.ok()) << loop.status();
  loop_ = *std::move(loop);
  Add(Request("a", {{3}, {1}}));
  EXPECT_TRUE(Step().rows.empty());
  Add(Request("late", {{1}}));
  EXPECT_TRUE(Step().rows.empty());
  EXPECT_TRUE(Step().rows.empty());
  BatchTokenIdOut out = Step();
  ASSERT_EQ(out.rows.size(), 1u);
  EXPECT_EQ(out.rows[0].rid, "a");
  EXPECT_EQ(out.rows[0].results.size(), 2u);
  EXPECT_EQ(Step().rows.size(), 1u);
  EXPECT_EQ(stepper.num_begun, 2);

  // An aborted request ends at once; the pass continues for the other.
  Add(Request("b", {{5}}));
  Add(Request("c", {{1}}));
  Step();
  EXPECT_TRUE(loop_->Abort("b"));
  out = Step();
  ASSERT_EQ(out.rows.size(), 1u);
  EXPECT_EQ(out.rows[0].status, absl::CancelledError("aborted"));
  int num_steps = 0;
  for (; out.rows[0].rid != "c"; ++num_steps) {
    BatchTokenIdOut next = Step();
    if (!next.rows.empty()) out = std::move(next);
    ASSERT_LT(num_steps, 6);
  }
  EXPECT_TRUE(out.rows[0].status.ok());

  // No request needs it any more: another pass begins.
  Add(Request("d", {{1000}}));
  Step();
  TokenizedEmbedReqInput next = Request("e", {{1}});
  Add(std::move(next));
  EXPECT_TRUE(loop_->Abort("d"));
  out = Step();
  EXPECT_EQ(out.rows.size(), 2u);
  EXPECT_TRUE(loop_->idle());
}

TEST_F(EncodingLoopTest, OutOfMemoryLosesNoRequest) {
  // Each allocation of a step fails once, one after the other; whatever fails, each request gets
  // one row, and the next ones are served.
  for (int64_t nth = 1;; ++nth) {
    Open({.max_input_tokens = 4, .max_batch_tokens = 3});
    TokenizedEmbedReqInput hasty = Request("hasty", {{1, 1}});
    hasty.timeout_s = 0.5;
    Add(Request("a", {{1}, {1}, {2, 2}}));
    Add(std::move(hasty));
    Add(Request("aborted", {{3}}));
    bool failed = false;
    std::map<std::string, int> rows;
    const auto count = [&](const BatchTokenIdOut& out) {
      for (const BatchTokenIdOut::Row& row : out.rows) ++rows[row.rid];
    };
    BatchTokenIdOut first;
    {
      const FailingNew failing(nth);
      loop_->Step(0.6);
      BatchTokenIdOut out = loop_->TakeRows();
      failed = failing.failed();
      first = std::move(out);
    }
    count(first);
    loop_->Abort("aborted");
    for (int i = 0; i < 10; ++i) count(Step(0.6));
    EXPECT_TRUE(loop_->idle()) << nth;
    EXPECT_EQ(rows, (std::map<std::string, int>{{"a", 1}, {"aborted", 1}, {"hasty", 1}})) << nth;
    if (!failed) break;
  }
}

TEST_F(EncodingLoopTest, AbortedAndOverdueRequestsEndOnce) {
  Open({.max_input_tokens = 3, .max_batch_tokens = 1});
  Add(Request("a", {{1}, {2}}));
  TokenizedEmbedReqInput hasty = Request("b", {{1}, {2}});
  hasty.timeout_s = 0.5;
  Add(std::move(hasty));
  Step(0.1);
  EXPECT_TRUE(loop_->Abort("a"));
  EXPECT_FALSE(loop_->Abort("a"));
  EXPECT_FALSE(loop_->Abort("none"));
  BatchTokenIdOut out = loop_->TakeRows();
  ASSERT_EQ(out.rows.size(), 1);
  EXPECT_EQ(out.rows[0].status, absl::CancelledError("aborted"));
  EXPECT_TRUE(out.rows[0].results.empty());
  out = Step(0.6);
  ASSERT_EQ(out.rows.size(), 1);
  EXPECT_EQ(out.rows[0].rid, "b");
  EXPECT_EQ(out.rows[0].status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(loop_->idle());
  EXPECT_TRUE(Step(0.7).rows.empty());
}

}  // namespace
}  // namespace shortlist
