#include "head/row_tails.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

std::vector<TokenId> Ids(const std::vector<int32_t>& raw) {
  std::vector<TokenId> ids;
  for (int32_t id : raw) ids.push_back(TokenId{id});
  return ids;
}

TEST(RowTailsTest, SuccessorsFollowRequestTail) {
  std::vector<std::vector<TokenId>> successors(10);
  successors[4] = Ids({9, 2, 7, 5, 8});
  auto base = VocabBase::Create(Ids({1, 2}), /*vocab_size=*/10, successors, /*max_successors=*/3);
  ASSERT_TRUE(base.ok()) << base.status();
  const ActiveVocab active(1, *base, /*dynamic=*/{7});
  RowTails tails;
  tails.Clear(active);
  tails.Add(std::vector<int32_t>{3, 5}, TokenId{4});
  tails.Add({}, TokenId{4});
  tails.Add(std::vector<int32_t>{9}, TokenId{6});
  ASSERT_EQ(tails.of_tokens().size(), 3u);
  EXPECT_THAT(tails.of_tokens()[0], ElementsAre(3, 5, 9));  // 2, 7 and 5 are scored anyway
  EXPECT_THAT(tails.of_tokens()[1], ElementsAre(9, 5));
  EXPECT_THAT(tails.of_tokens()[2], ElementsAre(9));
  tails.Clear(active);
  EXPECT_THAT(tails.of_tokens(), IsEmpty());
}

TEST(RowTailsTest, EachRowIsScoredExactlyOnce) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr int32_t kVocab = 60;
  const auto some = [&](int most, const std::set<int32_t>& but) {
    std::vector<int32_t> ids;
    std::set<int32_t> taken = but;
    for (int i = random() % (most + 1); i > 0; --i) {
      const auto id = static_cast<int32_t>(random() % kVocab);
      if (taken.insert(id).second) ids.push_back(id);
    }
    return ids;
  };
  const auto with = [](std::set<int32_t> set, const std::vector<int32_t>& more) {
    set.insert(more.begin(), more.end());
    return set;
  };
  RowTails tails;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<TokenId>> successors(kVocab);
    for (auto& of_token : successors) of_token = Ids(some(12, {}));
    const std::vector<int32_t> base_ids = some(10, {});
    const int64_t most = random() % 8;
    auto base = VocabBase::Create(Ids(base_ids), kVocab, successors, most);
    ASSERT_TRUE(base.ok()) << base.status();
    const std::vector<int32_t> dynamic = some(5, with({}, base_ids));
    const ActiveVocab active(round + 1, *base, dynamic);
    const std::set<int32_t> shared = with(with({}, base_ids), dynamic);

    tails.Clear(active);
    std::vector<std::vector<int32_t>> expected;
    for (int m = random() % 5; m > 0; --m) {
      const std::vector<int32_t> own = some(6, shared);
      const auto last = static_cast<int32_t>(random() % kVocab);
      std::vector<int32_t> sketched = some(9, {});
      std::ranges::sort(sketched);
      tails.Add(own, TokenId{last}, sketched);
      expected.push_back(own);
      std::vector<int32_t> outside;  // of the base, likeliest first
      for (const TokenId id : successors[last]) {
        if (!std::ranges::count(base_ids, Raw(id))) outside.push_back(Raw(id));
      }
      outside.resize(std::min<size_t>(outside.size(), most));
      const std::set<int32_t> scored = with(shared, own);
      for (const int32_t id : outside) {
        if (!scored.contains(id)) expected.back().push_back(id);
        EXPECT_TRUE((*base)->IsSuccessor(TokenId{last}, TokenId{id}));
      }
      const std::set<int32_t> before = with(shared, expected.back());
      for (const int32_t id : sketched) {
        if (!before.contains(id)) expected.back().push_back(id);
      }
    }
    ASSERT_EQ(tails.of_tokens().size(), expected.size());
    for (size_t m = 0; m < expected.size(); ++m) {
      EXPECT_THAT(tails.of_tokens()[m], ElementsAreArray(expected[m]));
    }
  }
}

}  // namespace
}  // namespace shortlist
