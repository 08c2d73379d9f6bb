#include "vocab/dynamic_vocabulary_manager.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;

std::unique_ptr<DynamicVocabularyManager> Manager(const std::vector<int32_t>& base,
                                                  int64_t vocab_size, int64_t capacity,
                                                  const std::vector<int32_t>& pinned = {}) {
  auto manager = DynamicVocabularyManager::Create(
      Base(base, vocab_size), {.dynamic_capacity = capacity, .pinned = Ids(pinned)});
  EXPECT_TRUE(manager.ok()) << manager.status();
  return *std::move(manager);
}

std::vector<int32_t> Rows(const DynamicVocabularyManager& manager) {
  return ToVector(manager.Active()->rows());
}

TEST(DynamicVocabularyManagerTest, RejectsInvalidOptions) {
  const auto create = [](int64_t capacity, const std::vector<int32_t>& pinned) {
    return DynamicVocabularyManager::Create(Base({}, /*vocab_size=*/10),
                                            {.dynamic_capacity = capacity, .pinned = Ids(pinned)})
        .status();
  };
  EXPECT_THAT(std::string(create(-1, {}).message()), HasSubstr("-1 not in [0, 10]"));
  EXPECT_THAT(std::string(create(11, {}).message()), HasSubstr("11 not in [0, 10]"));
  EXPECT_THAT(std::string(create(2, {10}).message()), HasSubstr("token id 10 at index 0"));
  EXPECT_EQ(create(2, {-1}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(DynamicVocabularyManagerTest, NullBaseIsRejected) {
  const absl::Status created = DynamicVocabularyManager::Create(nullptr, {}).status();
  EXPECT_EQ(created.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(created.message()), HasSubstr("full head"));
  const auto manager = Manager({4, 2}, /*vocab_size=*/10, /*capacity=*/3);
  EXPECT_EQ(manager->ReplaceBase(nullptr).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Rows(*manager), ElementsAre(2, 4));
}

TEST(DynamicVocabularyManagerTest, AddExtendsBaseOnce) {
  const auto manager = Manager({4, 2}, /*vocab_size=*/10, /*capacity=*/3);
  const uint64_t version = manager->Active()->version();
  EXPECT_TRUE(manager->Add(Ids({7, 4, 7, 1})).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(2, 4, 7, 1));
  EXPECT_EQ(manager->ActiveSize(), 4);
  EXPECT_GT(manager->Active()->version(), version);
}

TEST(DynamicVocabularyManagerTest, UnchangedVocabularyKeepsSnapshot) {
  const auto manager = Manager({4, 2}, /*vocab_size=*/10, /*capacity=*/3);
  EXPECT_TRUE(manager->Add(Ids({7})).ok());
  const auto snapshot = manager->Active();
  EXPECT_TRUE(manager->Add(Ids({7, 2})).ok());
  EXPECT_TRUE(manager->Observe(Ids({7, 2}), {}).ok());
  EXPECT_EQ(manager->Active(), snapshot);
}

TEST(DynamicVocabularyManagerTest, IdOutOfRangeChangesNothing) {
  const auto manager = Manager({4, 2}, /*vocab_size=*/10, /*capacity=*/3);
  for (const int32_t bad : {-1, 10, std::numeric_limits<int32_t>::max()}) {
    const absl::Status status = manager->Add(Ids({7, bad}));
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("token id " + std::to_string(bad) + " at index 1 not in [0, 10)"));
    EXPECT_EQ(manager->Observe(Ids({7, bad}), {}).code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(manager->Observe(Ids({7}), Ids({bad})).code(), absl::StatusCode::kOutOfRange);
  }
  EXPECT_THAT(Rows(*manager), ElementsAre(2, 4));
  EXPECT_EQ(manager->Stats().num_emitted, 0);
}

TEST(DynamicVocabularyManagerTest, EvictsLeastRecentAndReusesItsRow) {
  const auto manager = Manager({0}, /*vocab_size=*/10, /*capacity=*/3);
  for (const int32_t id : {5, 6, 7, 5}) EXPECT_TRUE(manager->Add(Ids({id})).ok());
  EXPECT_TRUE(manager->Add(Ids({8})).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(0, 5, 8, 7));
}

TEST(DynamicVocabularyManagerTest, EvictsLessFrequentAmongEquallyOld) {
  const auto manager = Manager({0}, /*vocab_size=*/10, /*capacity=*/3);
  EXPECT_TRUE(manager->Add(Ids({5, 5, 6, 7, 7})).ok());
  EXPECT_TRUE(manager->Add(Ids({8})).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(0, 5, 8, 7));
}

TEST(DynamicVocabularyManagerTest, PinnedIdsStay) {
  const auto manager = Manager({0}, /*vocab_size=*/10, /*capacity=*/2, /*pinned=*/{5, 6});
  EXPECT_TRUE(manager->Add(Ids({5, 7})).ok());
  EXPECT_TRUE(manager->Add(Ids({8, 6, 9})).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(0, 5, 6));
  EXPECT_EQ(manager->Stats().num_evicted, 2);
}

TEST(DynamicVocabularyManagerTest, WithoutCapacityNothingIsAdded) {
  const auto manager = Manager({0}, /*vocab_size=*/10, /*capacity=*/0);
  EXPECT_TRUE(manager->Add(Ids({5})).ok());
  EXPECT_TRUE(manager->Observe(Ids({5}), {}).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(0));
  EXPECT_THAT(manager->Escapes(), ElementsAre(Pair(TokenId{5}, 1)));
}

TEST(DynamicVocabularyManagerTest, ObserveLearnsEscapesAndCounts) {
  const auto manager = Manager({0, 1}, /*vocab_size=*/10, /*capacity=*/4);
  EXPECT_TRUE(manager->Observe(Ids({1, 7, 7, 3}), Ids({1, 0, 9})).ok());
  EXPECT_TRUE(manager->Observe(Ids({7}), {}).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(0, 1, 7, 3));
  EXPECT_THAT(manager->Escapes(), ElementsAre(Pair(TokenId{7}, 2), Pair(TokenId{3}, 1)));
  const VocabStats stats = manager->Stats();
  EXPECT_EQ(stats.num_emitted, 5);
  EXPECT_EQ(stats.num_covered(), 2);
  EXPECT_EQ(stats.num_drafted, 3);
  EXPECT_EQ(stats.num_unmapped, 1);
  EXPECT_EQ(stats.num_added, 2);
  EXPECT_EQ(stats.base_size, 2);
  EXPECT_EQ(stats.dynamic_size, 2);
  EXPECT_EQ(stats.dynamic_capacity, 4);
}

TEST(DynamicVocabularyManagerTest, TailRowsAreCoveredAndJoinSharedPart) {
  const auto manager = Manager({0, 1}, /*vocab_size=*/10, /*capacity=*/4);
  EXPECT_TRUE(manager
                  ->Observe(Ids({1, 7, 3}), {}, /*snapshot=*/nullptr,
                            std::vector{RowSource::kBase, RowSource::kPrompt, RowSource::kNone})
                  .ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(0, 1, 7, 3));
  EXPECT_THAT(manager->Escapes(), ElementsAre(Pair(TokenId{3}, 1)));
  const VocabStats stats = manager->Stats();
  EXPECT_EQ(stats.num_covered(), 2);
  EXPECT_EQ(stats.num_held[Index(RowSource::kPrompt)], 1);
  EXPECT_EQ(stats.num_held[Index(RowSource::kNone)], 1);
}

TEST(DynamicVocabularyManagerTest, ObserveUsesSnapshotOfItsStep) {
  const auto manager = Manager({0}, /*vocab_size=*/10, /*capacity=*/1);
  EXPECT_TRUE(manager->Add(Ids({5})).ok());
  const auto snapshot = manager->Active();
  EXPECT_TRUE(manager->Add(Ids({6})).ok());
  EXPECT_TRUE(manager->Observe(Ids({5}), Ids({5}), snapshot.get()).ok());
  EXPECT_EQ(manager->Stats().num_unmapped, 0);
  EXPECT_EQ(manager->Stats().num_covered(), 1);
}

TEST(DynamicVocabularyManagerTest, ObserveRejectsMismatchedArguments) {
  const auto manager = Manager({1, 2}, /*vocab_size=*/10, /*capacity=*/2);
  const auto other = Manager({1, 2}, /*vocab_size=*/11, /*capacity=*/2)->Active();
  EXPECT_THAT(std::string(manager->Observe(Ids({3}), {}, other.get()).message()),
              HasSubstr("vocabulary of 11 tokens, not 10"));
  const std::vector<RowSource> held(2, RowSource::kNone);
  EXPECT_THAT(std::string(manager->Observe(Ids({3}), {}, nullptr, held).message()),
              HasSubstr("held tells of 2 tokens, 1 were emitted"));
  EXPECT_EQ(manager->Stats().num_emitted, 0);
}

TEST(DynamicVocabularyManagerTest, FullHeadLearnsNothing) {
  const auto created =
      DynamicVocabularyManager::Create(*VocabBase::FullHead(10), {.dynamic_capacity = 4});
  ASSERT_TRUE(created.ok()) << created.status();
  DynamicVocabularyManager& manager = **created;
  EXPECT_TRUE(manager.Observe(Ids({1, 7}), Ids({2})).ok());
  EXPECT_TRUE(manager.Add(Ids({3})).ok());
  EXPECT_TRUE(manager.Active()->is_full_head());
  EXPECT_EQ(manager.ActiveSize(), 0);
  EXPECT_EQ(manager.Stats().num_emitted, 2);
  EXPECT_EQ(manager.Stats().num_covered(), 2);
  EXPECT_TRUE(manager.Escapes().empty());
}

TEST(DynamicVocabularyManagerTest, EmptyBaseLearnsFromEscapes) {
  const auto manager = Manager({}, /*vocab_size=*/10, /*capacity=*/4);
  EXPECT_TRUE(manager->Observe(Ids({1, 7}), Ids({})).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(1, 7));
  EXPECT_EQ(manager->Stats().num_emitted, 2);
  EXPECT_EQ(manager->Stats().num_covered(), 0);
  EXPECT_EQ(manager->Escapes().size(), 2u);
}

TEST(DynamicVocabularyManagerTest, FullHeadMayBeSwitchedOnAndOff) {
  const auto manager = Manager({0}, /*vocab_size=*/10, /*capacity=*/4);
  EXPECT_TRUE(manager->Add(Ids({9, 5})).ok());
  EXPECT_TRUE(manager->ReplaceBase(*VocabBase::FullHead(10)).ok());
  EXPECT_TRUE(manager->Active()->is_full_head());
  EXPECT_TRUE(manager->ReplaceBase(Base({1}, /*vocab_size=*/10)).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(1));
  EXPECT_TRUE(manager->Add(Ids({5})).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(1, 5));
}

TEST(DynamicVocabularyManagerTest, ReplaceBaseKeepsDynamicOrder) {
  const auto manager = Manager({0}, /*vocab_size=*/10, /*capacity=*/4);
  EXPECT_TRUE(manager->Add(Ids({9, 5, 7})).ok());
  EXPECT_TRUE(manager->ReplaceBase(Base({5, 1}, /*vocab_size=*/10)).ok());
  EXPECT_THAT(Rows(*manager), ElementsAre(1, 5, 9, 7));
  EXPECT_EQ(manager->Stats().num_evicted, 0);
  EXPECT_EQ(manager->ReplaceBase(Base({1}, /*vocab_size=*/11)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Rows(*manager), ElementsAre(1, 5, 9, 7));
}

/// The contract by linear search over a plain list of rows.
class Oracle {
 public:
  Oracle(std::set<int32_t> base, size_t capacity, std::set<int32_t> pinned)
      : base_(std::move(base)), capacity_(capacity), pinned_(std::move(pinned)) {}

  void Add(const std::vector<int32_t>& ids) {
    ++time_;
    for (const int32_t id : ids) Touch(id);
  }
  void Observe(const std::vector<int32_t>& emitted) {
    ++time_;
    const std::vector<int32_t> rows = Rows();
    for (const int32_t id : emitted) {
      if (std::find(rows.begin(), rows.end(), id) == rows.end()) ++escapes_[id];
    }
    for (const int32_t id : emitted) Touch(id);
  }
  void ReplaceBase(std::set<int32_t> base) {
    base_ = std::move(base);
    std::erase_if(rows_, [&](const Row& row) { return base_.contains(row.id); });
  }
  std::vector<int32_t> Rows() const {
    std::vector<int32_t> rows(base_.begin(), base_.end());
    for (const Row& row : rows_) rows.push_back(row.id);
    return rows;
  }
  const std::map<int32_t, int64_t>& escapes() const { return escapes_; }

 private:
  struct Row {
    int32_t id;
    int64_t last_used, frequency, entered;
  };
  void Touch(int32_t id) {
    if (base_.contains(id)) return;
    for (Row& row : rows_) {
      if (row.id != id) continue;
      row.last_used = time_;
      ++row.frequency;
      return;
    }
    const Row fresh{id, time_, 1, entered_};
    if (rows_.size() < capacity_) {
      rows_.push_back(fresh);
      ++entered_;
      return;
    }
    Row* victim = nullptr;
    const auto rank = [](const Row& s) { return std::tie(s.last_used, s.frequency, s.entered); };
    for (Row& row : rows_) {
      if (pinned_.contains(row.id)) continue;
      if (victim == nullptr || rank(row) < rank(*victim)) victim = &row;
    }
    if (victim == nullptr) return;
    *victim = fresh;
    ++entered_;
  }

  std::set<int32_t> base_;
  size_t capacity_;
  std::set<int32_t> pinned_;
  std::vector<Row> rows_;
  std::map<int32_t, int64_t> escapes_;
  int64_t time_ = 0, entered_ = 0;
};

TEST(DynamicVocabularyManagerTest, MatchesOracle) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    constexpr int32_t kVocabSize = 60;
    const auto random_set = [&](int count) {
      const std::vector<int32_t> ids = RandomIds(random, count, kVocabSize);
      return std::set<int32_t>(ids.begin(), ids.end());
    };
    const auto to_vector = [](const std::set<int32_t>& ids) {
      return std::vector<int32_t>(ids.begin(), ids.end());
    };
    const std::set<int32_t> base = random_set(static_cast<int>(random() % 15));
    const std::set<int32_t> pinned = random_set(static_cast<int>(random() % 6));
    const int64_t capacity = random() % 12;
    const auto manager = Manager(to_vector(base), kVocabSize, capacity, to_vector(pinned));
    Oracle oracle(base, capacity, pinned);
    for (int step = 0; step < 150; ++step) {
      const auto ids = RandomIds(random, static_cast<int>(random() % 10), kVocabSize);
      switch (random() % 16) {
        case 0: {
          const std::set<int32_t> fresh = random_set(static_cast<int>(random() % 15));
          ASSERT_TRUE(manager->ReplaceBase(Base(to_vector(fresh), kVocabSize)).ok());
          oracle.ReplaceBase(fresh);
          break;
        }
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
        case 6:
          ASSERT_TRUE(manager->Add(Ids(ids)).ok());
          oracle.Add(ids);
          break;
        default:
          ASSERT_TRUE(manager->Observe(Ids(ids), {}).ok());
          oracle.Observe(ids);
      }
      ASSERT_THAT(Rows(*manager), ElementsAreArray(oracle.Rows()));
    }
    std::map<int32_t, int64_t> escapes;
    for (const auto& [id, count] : manager->Escapes()) escapes[Raw(id)] = count;
    EXPECT_EQ(escapes, oracle.escapes());
  }
}

/// Seconds that the test below runs: a tenth, or $SHORTLIST_STRESS_SECONDS.
std::chrono::duration<double> StressTime() {
  const char* const seconds = std::getenv("SHORTLIST_STRESS_SECONDS");
  return std::chrono::duration<double>(seconds != nullptr ? std::atof(seconds) : 0.1);
}

/// Eight threads add, observe, read and reload. Every snapshot that a reader sees is whole,
/// versions never go back and name one snapshot each, rows are stable while the base stays, and
/// pinned ids stay present.
TEST(DynamicVocabularyManagerTest, ConcurrentReadersSeeConsistentSnapshots) {
  constexpr int32_t kVocabSize = 500;
  constexpr int64_t kCapacity = 50;
  const std::vector<int32_t> pinned = {7, 11, 499};
  const auto manager = Manager({1, 2, 3}, kVocabSize, kCapacity, pinned);
  ASSERT_TRUE(manager->Add(Ids(pinned)).ok());
  const auto end = std::chrono::steady_clock::now() + StressTime();
  std::atomic<int> num_writers{5};
  std::mutex mutex;
  std::map<uint64_t, uint64_t> serial_of_version;  // guarded by mutex
  std::vector<std::thread> threads;
  for (int reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&] {
      std::shared_ptr<const ActiveVocab> last;
      while (num_writers.load(std::memory_order_relaxed) > 0) {
        const auto active = manager->Active();
        ASSERT_LE(active->size(), active->base_size() + kCapacity);
        for (int32_t row = 0; row < active->size(); row += 7) {
          ASSERT_EQ(active->Find(active->ToTokenId(DraftId{row})), DraftId{row});
        }
        for (const int32_t id : pinned) ASSERT_TRUE(active->Contains(TokenId{id})) << id;
        if (last != nullptr) {
          ASSERT_GE(active->version(), last->version());
          ASSERT_EQ(active->version() == last->version(), active == last);
        }
        if (last != nullptr && active->base() == last->base()) {
          for (int32_t row = 0; row < last->size(); ++row) {
            const auto now = active->Find(last->ToTokenId(DraftId{row}));
            if (now.has_value() && active->version() == last->version() + 1) {
              ASSERT_EQ(*now, DraftId{row});
            }
          }
        }
        {
          const std::lock_guard lock(mutex);
          const auto [entry, is_new] =
              serial_of_version.emplace(active->version(), active->serial());
          ASSERT_EQ(entry->second, active->serial());
          if (serial_of_version.size() > 1000) serial_of_version.erase(serial_of_version.begin());
        }
        manager->Stats();
        last = active;
      }
    });
  }
  for (uint32_t writer = 0; writer < 5; ++writer) {
    threads.emplace_back([&, writer] {
      std::mt19937 random(writer);
      for (int32_t step = 0; std::chrono::steady_clock::now() < end; ++step) {
        // One id per call: of several, one may take the row of another that comes back elsewhere.
        const auto ids = Ids(RandomIds(random, /*count=*/1, kVocabSize));
        if (writer == 4) {
          ASSERT_TRUE(manager->ReplaceBase(Base({20 + step % 400, 450}, kVocabSize)).ok());
          ASSERT_TRUE(manager->ReplaceBase(Base({440}, kVocabSize)).ok());
        } else if (writer % 2 == 0) {
          ASSERT_TRUE(manager->Add(ids).ok());
        } else {
          const auto snapshot = manager->Active();
          ASSERT_TRUE(manager->Observe(ids, {}, snapshot.get()).ok());
          manager->Escapes();
        }
      }
      --num_writers;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace shortlist
