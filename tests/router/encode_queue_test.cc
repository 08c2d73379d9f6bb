#include "router/encode_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <random>

namespace shortlist {
namespace {

std::unique_ptr<EncodeReq> Request(std::string client, std::vector<int64_t> lengths,
                                   double arrival_s = 0.0, int32_t priority = 0) {
  auto req = std::make_unique<EncodeReq>();
  for (const int64_t length : lengths) {
    req->inputs.push_back({.ids = std::vector<TokenId>(length, TokenId{1})});
  }
  req->client = std::move(client);
  req->arrival_s = arrival_s;
  req->priority = priority;
  return req;
}

using Taken = std::vector<std::pair<EncodeReq*, size_t>>;

/// The next inputs, as long as they have at most `max_tokens` tokens together, but at least one.
Taken Take(EncodeQueue& queue, int64_t max_tokens) {
  Taken taken;
  while (!queue.empty()) {
    const EncodeQueue::Item front = queue.Front();
    const auto num_tokens = std::ssize(front.req->inputs[front.input].ids);
    if (!taken.empty() && num_tokens > max_tokens) break;
    queue.TakeFront();
    max_tokens -= num_tokens;
    taken.emplace_back(front.req, front.input);
  }
  return taken;
}

TEST(EncodeQueueTest, TakesWholeInputsWithinBudgetAndAtLeastOne) {
  EncodeQueue queue;
  const auto req = Request("a", {4, 4, 4, 100, 1});
  queue.Add(*req);
  EXPECT_EQ(Take(queue, 11), (Taken{{req.get(), 0}, {req.get(), 1}}));
  EXPECT_EQ(Take(queue, 11), (Taken{{req.get(), 2}}));
  EXPECT_EQ(Take(queue, 11), (Taken{{req.get(), 3}}));
  EXPECT_EQ(Take(queue, 11), (Taken{{req.get(), 4}}));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(Take(queue, 11), Taken());
}

TEST(EncodeQueueTest, ShortRequestOvertakesLongOneOfSameClient) {
  EncodeQueue queue;
  const auto bulk = Request("a", std::vector<int64_t>(100, 10));
  queue.Add(*bulk);
  Take(queue, 50);
  const auto query = Request("a", {3});
  queue.Add(*query);
  EXPECT_EQ(Take(queue, 10).front(), std::pair(query.get(), size_t{0}));
}

TEST(EncodeQueueTest, PriorityOrdersRequestsOfSameClientOnly) {
  EncodeQueue queue;
  const auto low = Request("a", {10, 10}, 0.0, 0), high = Request("a", {10, 10}, 0.0, 5);
  const auto other = Request("b", {10, 10}, 0.0, -7);
  for (EncodeReq* req : {low.get(), high.get(), other.get()}) queue.Add(*req);
  EXPECT_EQ(Take(queue, 60), (Taken{{high.get(), 0},
                                    {other.get(), 0},
                                    {high.get(), 1},
                                    {other.get(), 1},
                                    {low.get(), 0},
                                    {low.get(), 1}}));
}

TEST(EncodeQueueTest, ReturningClientGetsNoExtraShare) {
  EncodeQueue queue;
  const auto bulk = Request("a", std::vector<int64_t>(1000, 1));
  queue.Add(*bulk);
  Take(queue, 500);
  const auto late = Request("b", std::vector<int64_t>(500, 1));
  queue.Add(*late);
  const Taken taken = Take(queue, 100);
  EXPECT_EQ(std::count_if(taken.begin(), taken.end(),
                          [&](const auto& item) { return item.first == bulk.get(); }),
            50);
}

TEST(EncodeQueueTest, ShortRequestsDoNotStarveLongOnes) {
  // A pass of 64 tokens takes 0.1 s, and in each a short request arrives that fills it.
  EncodeQueue queue;
  const auto old = Request("a", std::vector<int64_t>(20, 64));
  queue.Add(*old);
  std::deque<std::unique_ptr<EncodeReq>> stream;
  double now_s = 0.0;
  int64_t num_short = 0;
  while (old->num_taken < old->inputs.size()) {
    stream.push_back(Request("a", {64}, now_s));
    queue.Add(*stream.back());
    for (const auto& [req, input] : Take(queue, 64)) num_short += req != old.get() ? 1 : 0;
    now_s += 0.1;
    ASSERT_LT(now_s, 100.0);
  }
  // All but the last of its tokens are worth 19 * 64 / kAgeing = 19 s of waiting.
  EXPECT_LE(num_short, 200);
}

TEST(EncodeQueueTest, ShortRequestOvertakesLongOneOfSlowModel) {
  // A pass of 64 tokens takes a second; the long request has been computed for ten.
  EncodeQueue queue;
  const auto bulk = Request("a", std::vector<int64_t>(20, 64));
  queue.Add(*bulk);
  for (int i = 0; i < 10; ++i) Take(queue, 64);
  const auto query = Request("a", {16}, /*arrival_s=*/9.5);
  queue.Add(*query);
  EXPECT_EQ(Take(queue, 16).front().first, query.get());
}

TEST(EncodeQueueTest, RandomRequestsAreTakenOnceInOrderAndFairly) {
  const auto seed = static_cast<uint32_t>(std::random_device()());
  std::printf("seed %u\n", seed);
  std::mt19937 rng(seed);
  const auto draw = [&rng](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  constexpr int64_t kLongest = 40;
  EncodeQueue queue;
  std::vector<std::unique_ptr<EncodeReq>> all;
  std::map<const EncodeReq*, size_t> num_seen;
  std::map<std::string, int64_t> since_both;  // tokens taken while clients x and y both waited
  double now_s = 0.0;
  const auto waits = [&](const std::string& client) { return queue.size_of(client) > 0; };
  for (int step = 0; step < 3000; ++step) {
    now_s += 0.01;
    if (draw(0, 2) == 0) {
      std::vector<int64_t> lengths(draw(1, 12));
      for (int64_t& length : lengths) length = draw(1, kLongest);
      const std::string client(1, static_cast<char>('x' + draw(0, 2)));
      all.push_back(Request(client, lengths, now_s, static_cast<int32_t>(draw(-1, 1))));
      queue.Add(*all.back());
    }
    if (!all.empty() && draw(0, 20) == 0) {
      EncodeReq* const req = all[draw(0, std::ssize(all) - 1)].get();
      if (num_seen[req] < req->inputs.size()) {
        queue.Remove(*req);
        num_seen[req] = req->inputs.size();
        req->num_taken = req->inputs.size();
      }
    }
    if (!waits("x") || !waits("y")) since_both.clear();
    const int64_t budget = draw(1, 120);
    const bool was_empty = queue.empty();
    const Taken items = Take(queue, budget);
    ASSERT_EQ(items.empty(), was_empty);
    int64_t num_tokens = 0;
    for (const auto& [req, input] : items) {
      ASSERT_EQ(input, num_seen[req]++);
      const auto length = std::ssize(req->inputs[input].ids);
      num_tokens += length;
      since_both[req->client] += length;
    }
    ASSERT_TRUE(num_tokens <= budget || items.size() == 1);
    if (waits("x") && waits("y")) {
      // Each is at most an input ahead when it is its turn, at both ends of the time.
      ASSERT_LE(std::abs(since_both["x"] - since_both["y"]), 2 * (kLongest + 120));
    }
  }
  while (!queue.empty()) {
    for (const auto& [req, input] : Take(queue, 100)) ASSERT_EQ(input, num_seen[req]++);
  }
  for (const auto& req : all) EXPECT_EQ(num_seen[req.get()], req->inputs.size());
}

}  // namespace
}  // namespace shortlist
