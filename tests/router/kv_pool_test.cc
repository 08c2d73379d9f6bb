#include "router/kv_pool.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace shortlist {
namespace {

TEST(KvPoolTest, AllocatesEverySlotOnceThenFails) {
  KvPool pool(/*capacity=*/10);
  std::vector<int32_t> first(6), second(4), third(1);
  EXPECT_TRUE(pool.Allocate(first));
  EXPECT_TRUE(pool.Allocate(second));
  std::set<int32_t> all(first.begin(), first.end());
  all.insert(second.begin(), second.end());
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(*all.begin(), 0);
  EXPECT_EQ(*all.rbegin(), 9);
  EXPECT_FALSE(pool.Allocate(third));
  EXPECT_EQ(pool.num_free(), 0);
}

TEST(KvPoolTest, AllocatesAllOrNothing) {
  KvPool pool(/*capacity=*/3);
  std::vector<int32_t> slots(4, -1);
  EXPECT_FALSE(pool.Allocate(slots));
  EXPECT_EQ(pool.num_free(), 3);
  EXPECT_EQ(slots, std::vector<int32_t>(4, -1));
  EXPECT_TRUE(pool.Allocate({}));
}

TEST(KvPoolTest, AdjacentSlotsAreAllocatedInOrder) {
  KvPool pool(/*capacity=*/8);
  std::vector<int32_t> slots(5);
  ASSERT_TRUE(pool.Allocate(slots));
  EXPECT_EQ(slots, (std::vector<int32_t>{0, 1, 2, 3, 4}));
  pool.Free(std::span<const int32_t>(slots).last(3));
  std::vector<int32_t> again(4);
  ASSERT_TRUE(pool.Allocate(again));
  EXPECT_EQ(again, (std::vector<int32_t>{2, 3, 4, 5}));
}

TEST(KvPoolDeathTest, DoubleFreeAborts) {
  KvPool pool(/*capacity=*/2);
  const std::vector<int32_t> slots = {0};
  EXPECT_DEATH(pool.Free(slots), "broken invariant");
}

}  // namespace
}  // namespace shortlist
