#include "vocab/request_tail.h"

#include <algorithm>
#include <cstdint>
#include <map>
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

TEST(RequestTailTest, AddsInactiveIdsInOrder) {
  RequestTail tail(/*capacity=*/4);
  tail.Add(Ids({5, 1, 7, 5, 9}), Active(1, {1}));
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(7, 5, 9));
  EXPECT_TRUE(tail.Contains(TokenId{5}));
  EXPECT_FALSE(tail.Contains(TokenId{1}));
}

TEST(RequestTailTest, NewIdReplacesLeastRecentlyAdded) {
  RequestTail tail(/*capacity=*/3);
  const ActiveVocab active = Active(1, {0});
  tail.Add(Ids({10, 11, 12}), active);
  tail.Add(Ids({10}), active);
  tail.Add(Ids({13}), active);
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(10, 13, 12));
}

TEST(RequestTailTest, LastIdsAreKeptOnOverflow) {
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

TEST(RequestTailTest, ReconcileDropsActiveIdsAndFillsGaps) {
  RequestTail tail(/*capacity=*/4);
  tail.Add(Ids({10, 11, 12}), Active(1, {0}));
  tail.Reconcile(Active(2, {0, 10}));
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(12, 11));
  tail.Reconcile(*ActiveVocab::FullHead(100));
  EXPECT_THAT(ToVector(tail.ids()), IsEmpty());
}

TEST(RequestTailTest, SourceKeepsToBudgetAndOthersKeepRows) {
  RequestTail tail(/*capacity=*/4);
  const ActiveVocab active = Active(1, {0});
  EXPECT_EQ(tail.Add(Ids({10}), active, RowSource::kPrompt), 1);
  EXPECT_EQ(tail.Add(Ids({20, 21, 22}), active, RowSource::kContinuations, /*budget=*/2), 2);
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(10, 21, 22));
  EXPECT_EQ(tail.Add(Ids({23}), active, RowSource::kContinuations, /*budget=*/2), 1);
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(10, 23, 22));
  EXPECT_EQ(tail.Add(Ids({24}), active, RowSource::kContinuations, /*budget=*/0), 0);
}

TEST(RequestTailTest, RowBelongsToFirstSource) {
  RequestTail tail(/*capacity=*/4);
  const ActiveVocab active = Active(1, {0});
  tail.Add(Ids({10, 11}), active, RowSource::kContinuations, /*budget=*/2);
  EXPECT_EQ(tail.Add(Ids({10}), active, RowSource::kOutput), 0);
  tail.Add(Ids({10}), active, RowSource::kFallback);
  EXPECT_EQ(tail.SourceOf(TokenId{10}), RowSource::kOutput);
  EXPECT_EQ(tail.SourceOf(TokenId{11}), RowSource::kContinuations);
  EXPECT_EQ(tail.SourceOf(TokenId{12}), RowSource::kNone);
  EXPECT_THAT(RawIds(tail.IdsUpTo(RowSource::kPrefix)), ElementsAre(10));
  // The row that was taken over no longer counts in the budget.
  EXPECT_EQ(tail.Add(Ids({12}), active, RowSource::kContinuations, /*budget=*/2), 1);
  EXPECT_THAT(ToVector(tail.ids()), ElementsAre(10, 11, 12));
}

/// Rows with the time they were named last.
class Oracle {
 public:
  explicit Oracle(size_t capacity) : capacity_(capacity) {}

  void Add(const std::vector<int32_t>& ids, const std::set<int32_t>& active, RowSource source,
           size_t budget) {
    Reconcile(active);
    std::vector<int32_t> named;  // distinct, by the last time each is named
    for (const int32_t id : ids) {
      if (active.contains(id)) continue;
      std::erase(named, id);
      named.push_back(id);
    }
    while (named.size() > std::min(capacity_, budget)) named.erase(named.begin());
    std::vector<Row> missing;
    for (const int32_t id : named) {
      const auto row = rows_.find(id);
      if (row == rows_.end()) {
        missing.push_back({id, ++time_, source});
      } else {
        row->second = {id, ++time_, std::min(source, row->second.source)};
      }
    }
    for (const Row& row : missing) {
      const auto of_source = std::count_if(rows_.begin(), rows_.end(), [&](const auto& other) {
        return other.second.source == source;
      });
      const bool takes_own = static_cast<size_t>(of_source) >= budget;
      if (takes_own || rows_.size() == capacity_) {
        const Row* oldest = nullptr;
        for (const auto& [id, other] : rows_) {
          if (takes_own && other.source != source) continue;
          if (oldest == nullptr || other.time < oldest->time) oldest = &other;
        }
        rows_.erase(oldest->id);
      }
      rows_[row.id] = row;
    }
  }
  void Reconcile(const std::set<int32_t>& active) {
    std::erase_if(rows_, [&](const auto& row) { return active.contains(row.first); });
  }
  std::vector<int32_t> ids() const {
    std::vector<int32_t> ids;
    for (const auto& [id, row] : rows_) ids.push_back(id);
    return ids;
  }
  RowSource SourceOf(int32_t id) const { return rows_.at(id).source; }

 private:
  struct Row {
    int32_t id = 0;
    int64_t time = 0;
    RowSource source = RowSource::kNone;
  };
  size_t capacity_;
  int64_t time_ = 0;
  std::map<int32_t, Row> rows_;
};

TEST(RequestTailTest, MatchesOracleAndKeepsRows) {
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
        const bool is_guess = random() % 3 == 0;
        const RowSource source = is_guess ? RowSource::kContinuations : RowSource::kOutput;
        const int64_t budget = is_guess ? 3 : INT64_MAX;
        tail.Add(Ids(ids), *active, source, budget);
        oracle.Add(ids, active_ids, source, budget);
      }
      const std::vector<int32_t> after = ToVector(tail.ids());
      ASSERT_THAT(after, UnorderedElementsAreArray(oracle.ids()));
      for (const int32_t id : after) {
        ASSERT_EQ(tail.SourceOf(TokenId{id}), oracle.SourceOf(id)) << id;
      }
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
