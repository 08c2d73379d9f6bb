#include "router/forward_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace shortlist {
namespace {

class ForwardQueueTest : public testing::Test {
 protected:
  ForwardQueueTest() : pool_(/*capacity=*/200), cache_(pool_, {}) {
    root_ = cache_.OpenNamespace("");
  }

  void Cache(const std::vector<int32_t>& ids) {
    std::vector<TokenId> tokens;
    for (int32_t id : ids) tokens.push_back(TokenId{id});
    std::vector<int32_t> slots(tokens.size());
    ASSERT_TRUE(pool_.Allocate(slots));
    const RadixCache::Inserted inserted = cache_.Insert(root_, tokens, slots, {});
    pool_.Free(std::span<const int32_t>(slots).first(inserted.existing_len));
  }

  Req& Add(ForwardQueue& queue, const std::string& rid, const std::vector<int32_t>& ids,
           double arrival_s = 0.0, int32_t priority = 0) {
    reqs_.push_back(std::make_unique<TokensReq>());
    TokensReq& req = *reqs_.back();
    req.rid = rid;
    for (int32_t id : ids) req.tokens.push_back(TokenId{id});
    req.prompt_len = req.num_tokens();
    req.arrival_s = arrival_s;
    req.arrival_number = reqs_.size();
    req.priority = priority;
    req.root = root_;
    req.match = cache_.MatchPrefix(root_, MatchableTokens(req, cache_));
    req.state = Req::State::kQueued;
    queue.Add(req);
    return req;
  }

  std::string Order(ForwardQueue& queue) {
    queue.Order(cache_);
    std::string order;
    for (int64_t i = 0; i < queue.size(); ++i) order += queue.at(i).rid;
    return order;
  }

  KvPool pool_;
  RadixCache cache_;
  int32_t root_;
  std::vector<std::unique_ptr<TokensReq>> reqs_;
};

TEST_F(ForwardQueueTest, LpmTakesLongestCachedPrefixFirst) {
  Cache({1, 2, 3, 4, 5});
  ForwardQueue queue(SchedulePolicy::kLpm, /*ageing=*/0.0, /*seed=*/1);
  Add(queue, "a", {9, 9});
  Add(queue, "b", {1, 2, 9});
  Add(queue, "c", {1, 2, 3, 4, 9});
  Add(queue, "d", {1, 2, 8});
  EXPECT_EQ(Order(queue), "cbda");
}

TEST_F(ForwardQueueTest, WaitingTimeCountsLikeCachedTokens) {
  Cache({1, 2, 3, 4, 5});
  ForwardQueue queue(SchedulePolicy::kLpm, /*ageing=*/2.0, /*seed=*/1);
  Add(queue, "a", {9, 9}, /*arrival_s=*/0.0);
  Add(queue, "b", {1, 2, 3, 4, 9}, /*arrival_s=*/1.9);
  Add(queue, "c", {1, 2, 3, 4, 9}, /*arrival_s=*/2.1);
  EXPECT_EQ(Order(queue), "bac");
}

TEST_F(ForwardQueueTest, MatchesFollowTheTree) {
  ForwardQueue queue(SchedulePolicy::kLpm, /*ageing=*/0.0, /*seed=*/1);
  Add(queue, "a", {1, 2, 3});
  Add(queue, "b", {4, 5, 6});
  EXPECT_EQ(Order(queue), "ab");
  Cache({4, 5});
  EXPECT_EQ(Order(queue), "ba");
  Cache({1, 2});
  EXPECT_EQ(Order(queue), "ab");
  cache_.Evict(100);
  EXPECT_EQ(Order(queue), "ab");
  EXPECT_EQ(reqs_[1]->match.len, 0);
}

TEST_F(ForwardQueueTest, DfsWeightFinishesHeaviestBranchFirst) {
  Cache({1, 2, 3});
  Cache({1, 2, 4});
  Cache({5});
  ForwardQueue queue(SchedulePolicy::kDfsWeight, /*ageing=*/0.0, /*seed=*/1);
  Add(queue, "a", {5, 9});
  Add(queue, "b", {1, 2, 3, 9});
  Add(queue, "c", {1, 2, 4, 9});
  Add(queue, "d", {1, 2, 4, 8});
  Add(queue, "e", {1, 2, 9});
  Add(queue, "f", {7});
  EXPECT_EQ(Order(queue), "cdbeaf");
}

TEST_F(ForwardQueueTest, FcfsAndPriority) {
  Cache({1, 2, 3});
  ForwardQueue queue(SchedulePolicy::kFcfs, /*ageing=*/0.0, /*seed=*/1);
  Add(queue, "a", {9});
  Add(queue, "b", {1, 2, 3, 4});
  Add(queue, "c", {1, 2}, /*arrival_s=*/0.0, /*priority=*/1);
  EXPECT_EQ(Order(queue), "cab");
  queue.Remove(*reqs_[0]);
  EXPECT_EQ(Order(queue), "cb");
}

TEST_F(ForwardQueueTest, RandomDependsOnSeedOnly) {
  const auto order = [this](uint64_t seed) {
    ForwardQueue queue(SchedulePolicy::kRandom, /*ageing=*/0.0, seed);
    for (char rid = 'a'; rid <= 'z'; ++rid) Add(queue, std::string(1, rid), {1});
    const std::string once = Order(queue);
    EXPECT_EQ(Order(queue), once);
    return once;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

}  // namespace
}  // namespace shortlist
