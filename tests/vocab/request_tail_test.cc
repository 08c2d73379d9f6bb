#include "vocab/request_tail.h"

#include <algorithm>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

ActiveVocab Active(uint64_t version, const std::vector<int32_t>& base, int64_t vocab_size = 100) {
  return ActiveVocab(version, Base(base, vocab_size), {});
}

TEST(RequestTailTest, AddsWhatIsNotActiveInOrder) {
  RequestTail tail(/*capacity=*/4);
  tail.Add(Ids({5, 1, 7, 5, 9}), Active(1, {1}));
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(7, 5, 9));
  EXPECT_TRUE(tail.Contains(TokenId{5}));
  EXPECT_FALSE(tail.Contains(TokenId{1}));
}

TEST(RequestTailTest, NewcomerTakesTheRowOfTheLeastRecentlyAdded) {
  RequestTail tail(/*capacity=*/3);
  const ActiveVocab active = Active(1, {0});
  tail.Add(Ids({10, 11, 12}), active);
  tail.Add(Ids({10}), active);
  tail.Add(Ids({13}), active);
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(10, 13, 12));
}

TEST(RequestTailTest, OfMoreIdsThanFitTheLastOnesStay) {
  RequestTail tail(/*capacity=*/2);
  tail.Add(Ids({10, 11, 12, 13}), Active(1, {0}));
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(12, 13));
}

TEST(RequestTailTest, AddsNothingForFullHeadOrWithoutCapacity) {
  RequestTail tail(/*capacity=*/2);
  tail.Add(Ids({10}), *ActiveVocab::FullHead(100));
  EXPECT_THAT(ToVector(tail.ids()), IsEmpty());
  RequestTail none(/*capacity=*/0);
  none.Add(Ids({10}), Active(1, {0}));
  EXPECT_THAT(ToVector(none.ids()), IsEmpty());
}

TEST(RequestTailTest, ReconcileDropsWhatBecameActiveAndFillsTheHole) {
  RequestTail tail(/*capacity=*/4);
  tail.Add(Ids({10, 11, 12}), Active(1, {0}));
  tail.Reconcile(Active(2, {0, 10}));
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(12, 11));
  tail.Reconcile(*ActiveVocab::FullHead(100));
  EXPECT_THAT(ToVector(tail.ids()), IsEmpty());
}

/// Ids by recency, oldest first; every id of a call is named in order.
class Oracle {
 public:
  explicit Oracle(size_t capacity) : capacity_(capacity) {}

  void Add(const std::vector<int32_t>& ids, const std::set<int32_t>& active) {
    Reconcile(active);
    for (const int32_t id : ids) {
      if (active.contains(id)) continue;
      std::erase(by_age_, id);
      by_age_.push_back(id);
      if (by_age_.size() > capacity_) by_age_.erase(by_age_.begin());
    }
  }
  void Reconcile(const std::set<int32_t>& active) {
    std::erase_if(by_age_, [&](int32_t id) { return active.contains(id); });
  }
  const std::vector<int32_t>& ids() const { return by_age_; }

 private:
  size_t capacity_;
  std::vector<int32_t> by_age_;
};

TEST(RequestTailTest, MatchesAnOracleAndKeepsRows) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    const int capacity = std::uniform_int_distribution<int>(0, 12)(random);
    constexpr int32_t kVocabSize = 40;
    RequestTail tail(capacity);
    Oracle oracle(capacity);
    std::set<int32_t> active_ids;
    std::shared_ptr<ActiveVocab> active;
    uint64_t version = 0;
    const auto change_active = [&] {
      const int count = random() % 20 == 0 ? 0 : 8;
      const std::vector<int32_t> ids = RandomIds(random, count, kVocabSize);
      active_ids = {ids.begin(), ids.end()};
      active = std::make_shared<ActiveVocab>(
          ++version, Base({active_ids.begin(), active_ids.end()}, kVocabSize),
          std::vector<int32_t>{});
    };
    change_active();
    for (int step = 0; step < 100; ++step) {
      const std::vector<int32_t> before = ToVector(tail.ids());
      bool reconciled = false;
      if (random() % 8 == 0) {
        change_active();
        reconciled = true;
      }
      if (random() % 4 == 0) {
        tail.Reconcile(*active);
        oracle.Reconcile(active_ids);
      } else {
        const auto ids = RandomIds(random, static_cast<int>(random() % 20), kVocabSize);
        tail.Add(Ids(ids), *active);
        oracle.Add(ids, active_ids);
      }
      const std::vector<int32_t> after = ToVector(tail.ids());
      ASSERT_THAT(after, UnorderedElementsAreArray(oracle.ids()));
      if (reconciled) continue;
      for (size_t row = 0; row < before.size(); ++row) {
        const auto now = std::find(after.begin(), after.end(), before[row]);
        if (now != after.end()) {
          ASSERT_EQ(now - after.begin(), static_cast<int64_t>(row));
        }
      }
    }
  }
}

}  // namespace
}  // namespace shortlist
