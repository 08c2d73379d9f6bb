#include "vocab/counting/coverage.h"

#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

constexpr int32_t kVocabSize = 60;

TEST(CoverageMeterTest, MatchesBruteForce) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::vector<TokenId>> successors(kVocabSize);
  for (auto& of_token : successors) {
    std::set<int32_t> distinct;
    for (int32_t id : RandomIds(random, 4, kVocabSize)) distinct.insert(id);
    for (const int32_t id : distinct) of_token.push_back(TokenId{id});
  }
  std::vector<int32_t> base_ids;
  for (int32_t id = 0; id < 20; ++id) base_ids.push_back(id * 2);
  const auto base = VocabBase::Create(Ids(base_ids), kVocabSize, successors, /*max_successors=*/2);
  ASSERT_TRUE(base.ok());
  constexpr int64_t kTail = 5;
  auto meter = CoverageMeter::Create(*base, {.num_tail_rows = kTail});
  ASSERT_TRUE(meter.ok());
  for (int request = 0; request < 50; ++request) {
    const std::vector<int32_t> prompt =
        RandomIds(random, static_cast<int>(random() % 9), kVocabSize);
    const std::vector<int32_t> output = RandomIds(random, 40, kVocabSize);
    const auto coverage = meter->Replay(Ids(prompt), Ids(output));
    ASSERT_TRUE(coverage.ok()) << coverage.status();

    std::deque<int32_t> tail;  // most recent last
    const auto add = [&](int32_t id) {
      if (std::ranges::count(base_ids, id) > 0) return;
      std::erase(tail, id);
      tail.push_back(id);
      if (std::ssize(tail) > kTail) tail.pop_front();
    };
    for (const int32_t id : prompt) add(id);
    Coverage want;
    int32_t last = prompt.empty() ? -1 : prompt.back();
    for (const int32_t id : output) {
      std::vector<int32_t> following;
      for (size_t i = 0; last >= 0 && i < successors[last].size() && following.size() < 2; ++i) {
        const int32_t next = Raw(successors[last][i]);
        if (std::ranges::count(base_ids, next) == 0) following.push_back(next);
      }
      ++want.num_tokens;
      const auto is_in_tail = [&](int32_t next) { return std::ranges::count(tail, next) > 0; };
      const int64_t rows = 20 + std::ssize(tail) + std::ssize(following) -
                           std::ranges::count_if(following, is_in_tail);
      want.num_rows += rows;
      want.max_rows = std::max(want.max_rows, rows);
      if (std::ranges::count(base_ids, id) > 0) {
        ++want.in_base;
      } else if (std::ranges::count(following, id) > 0) {
        ++want.in_successors;
      } else if (is_in_tail(id)) {
        ++want.in_tail;
      }
      add(id);
      last = id;
    }
    EXPECT_EQ(coverage->num_tokens, want.num_tokens);
    EXPECT_EQ(coverage->in_base, want.in_base);
    EXPECT_EQ(coverage->in_tail, want.in_tail);
    EXPECT_EQ(coverage->in_successors, want.in_successors);
    EXPECT_EQ(coverage->num_rows, want.num_rows);
    EXPECT_EQ(coverage->max_rows, want.max_rows);
  }
}

TEST(CoverageMeterTest, SharedPartKeepsEscapesForLaterRequests) {
  auto meter = CoverageMeter::Create(Base({1}, 10), {.dynamic_capacity = 2});
  ASSERT_TRUE(meter.ok());
  EXPECT_EQ(meter->Replay({}, Ids({1, 7, 7}))->in_dynamic, 1);
  EXPECT_EQ(meter->Replay({}, Ids({7}))->in_dynamic, 1);
  EXPECT_EQ(meter->Replay({}, Ids({8, 9, 7}))->num_covered(), 0);  // 8 and 9 have taken its place
}

TEST(CoverageMeterTest, FullHeadCoversAndScoresAll) {
  auto full = VocabBase::FullHead(10);
  auto meter = CoverageMeter::Create(*full, {});
  const auto coverage = meter->Replay({}, Ids({1, 9}));
  EXPECT_EQ(coverage->num_covered(), 2);
  EXPECT_EQ(coverage->num_rows, 20);
}

TEST(CoverageMeterTest, IdsOutsideVocabularyAreRejected) {
  auto meter = CoverageMeter::Create(Base({1}, 10), {});
  EXPECT_THAT(std::string(meter->Replay({}, Ids({10})).status().message()),
              HasSubstr("token id 10 at index 0 not in [0, 10)"));
  EXPECT_FALSE(meter->Replay(Ids({-1}), {}).ok());
  EXPECT_FALSE(CoverageMeter::Create(Base({1}, 10), {.num_tail_rows = -1}).ok());
  EXPECT_FALSE(CoverageMeter::Create(Base({1}, 10), {.dynamic_capacity = 11}).ok());
}

}  // namespace
}  // namespace shortlist
