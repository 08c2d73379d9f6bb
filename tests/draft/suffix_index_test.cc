#include "draft/suffix_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <random>
#include <vector>

namespace shortlist {
namespace {

std::vector<TokenId> Tokens(const std::vector<int32_t>& ids) {
  std::vector<TokenId> tokens;
  for (const int32_t id : ids) tokens.push_back(TokenId{id});
  return tokens;
}

/// SuffixIndex from its contract, without links: searches all tokens.
class LinearIndex {
 public:
  explicit LinearIndex(int64_t capacity) : capacity_(capacity) {}

  void Append(SuffixIndex::Owner owner, const std::vector<TokenId>& tokens) {
    if (is_open_ && held_.back().owner != owner) EndText();
    for (const TokenId token : tokens) Push({owner, Raw(token)});
    is_open_ |= !tokens.empty();
  }
  void EndText() {
    if (is_open_) Push({held_.back().owner, kEnd});
    is_open_ = false;
  }
  void DropOldest() {
    held_.pop_front();
    if (held_.empty()) is_open_ = false;
  }
  SuffixMatch Find(SuffixIndex::Owner owner, const std::vector<TokenId>& text) const {
    for (auto order = SuffixIndex::kOrders.rbegin(); order != SuffixIndex::kOrders.rend();
         ++order) {
      std::vector<SuffixMatch> places;
      for (int64_t at = std::ssize(held_) - 1; at >= *order; --at) {
        if (held_[at].owner != owner || held_[at].id == kEnd) continue;
        const int64_t length = MatchLength(at, text);
        if (length >= *order) places.push_back({TokenId{held_[at].id}, length});
        if (std::ssize(places) == SuffixIndex::kMaxPlaces) break;
      }
      if (!places.empty()) return Count(places);
    }
    return {};
  }

 private:
  struct Token {
    SuffixIndex::Owner owner;
    int32_t id;
  };
  static constexpr int32_t kEnd = -1;

  void Push(Token token) {
    if (std::ssize(held_) == capacity_) held_.pop_front();
    held_.push_back(token);
  }
  int64_t MatchLength(int64_t at, const std::vector<TokenId>& text) const {
    int64_t length = 0;
    while (length < std::min({at, std::ssize(text), SuffixIndex::kMaxLength}) &&
           held_[at - 1 - length].id == Raw(text[text.size() - 1 - length])) {
      ++length;
    }
    return length;
  }
  static SuffixMatch Count(const std::vector<SuffixMatch>& places) {
    SuffixMatch best;
    for (const SuffixMatch& place : places) best.length = std::max(best.length, place.length);
    for (const SuffixMatch& place : places) {
      if (place.length < best.length) continue;
      ++best.num_places;
      const auto count = static_cast<int32_t>(
          std::count_if(places.begin(), places.end(), [&](const SuffixMatch& other) {
            return other.length == best.length && other.next == place.next;
          }));
      if (count <= best.num_next) continue;
      best.next = place.next;
      best.num_next = count;
    }
    return best;
  }

  const int64_t capacity_;
  std::deque<Token> held_;
  bool is_open_ = false;  // the last text goes on
};

TEST(SuffixIndexTest, CountsWhatFollowedTheLongestMatch) {
  SuffixIndex index(/*capacity=*/64);
  index.Append(/*owner=*/0, Tokens({1, 2, 3, 4, 1, 2, 5, 1, 2, 3}));
  const SuffixMatch match = index.Find(/*owner=*/0, Tokens({9, 1, 2}), {});
  EXPECT_EQ(match.next, TokenId{3});
  EXPECT_EQ(match.length, 2);
  EXPECT_EQ(match.num_places, 3);
  EXPECT_EQ(match.num_next, 2);
  // 4 1 2 occurred once, before 5.
  const SuffixMatch longer = index.Find(/*owner=*/0, Tokens({4}), /*drafted=*/Tokens({1, 2}));
  EXPECT_EQ(longer.next, TokenId{5});
  EXPECT_EQ(longer.length, 3);
  EXPECT_EQ(longer.num_places, 1);
}

TEST(SuffixIndexTest, TiesGoToTheLatestPlace) {
  SuffixIndex index(/*capacity=*/16);
  index.Append(/*owner=*/0, Tokens({1, 2, 3, 1, 2, 4}));
  EXPECT_EQ(index.Find(/*owner=*/0, Tokens({1, 2}), {}).next, TokenId{4});
}

TEST(SuffixIndexTest, MatchesStayWithinTexts) {
  SuffixIndex index(/*capacity=*/64);
  index.Append(/*owner=*/0, Tokens({1, 2}));
  index.EndText();
  index.Append(/*owner=*/0, Tokens({3, 4, 5}));
  EXPECT_EQ(index.Find(/*owner=*/0, Tokens({1, 2}), {}).length, 0);
  EXPECT_EQ(index.Find(/*owner=*/0, Tokens({2, 3}), {}).length, 0);
  EXPECT_EQ(index.Find(/*owner=*/0, Tokens({3, 4}), {}).next, TokenId{5});
}

TEST(SuffixIndexTest, OwnersFindTheirOwnTextsOnly) {
  SuffixIndex index(/*capacity=*/64);
  index.Append(/*owner=*/7, Tokens({1, 2, 3}));
  index.Append(/*owner=*/8, Tokens({1, 2, 4}));
  EXPECT_EQ(index.Find(/*owner=*/7, Tokens({1, 2}), {}).next, TokenId{3});
  EXPECT_EQ(index.Find(/*owner=*/8, Tokens({1, 2}), {}).next, TokenId{4});
  EXPECT_EQ(index.Find(/*owner=*/9, Tokens({1, 2}), {}).length, 0);
}

TEST(SuffixIndexTest, ShortTextsHaveNoMatch) {
  SuffixIndex index(/*capacity=*/16);
  EXPECT_EQ(index.Find(/*owner=*/0, {}, {}).length, 0);
  EXPECT_EQ(index.Find(/*owner=*/0, Tokens({1, 1, 1}), {}).length, 0);
  index.Append(/*owner=*/0, Tokens({1, 1}));
  EXPECT_EQ(index.Find(/*owner=*/0, Tokens({1, 1}), {}).length, 0);
  index.Append(/*owner=*/0, Tokens({1}));
  EXPECT_EQ(index.Find(/*owner=*/0, Tokens({1}), {}).length, 0);
  EXPECT_EQ(index.Find(/*owner=*/0, Tokens({1}), Tokens({1})).length, 2);
}

TEST(SuffixIndexTest, ProbabilityRisesWithLengthAndAgreement) {
  const auto probability = [](int64_t length, int32_t num_next, int32_t num_places) {
    return SuffixMatch{TokenId{1}, length, num_places, num_next}.Probability();
  };
  EXPECT_EQ(SuffixMatch().Probability(), 0.0);
  EXPECT_LT(probability(2, 1, 1), probability(3, 1, 1));
  EXPECT_LT(probability(2, 1, 1), probability(2, 2, 2));
  EXPECT_LT(probability(4, 1, 2), probability(4, 1, 1));
  EXPECT_LT(probability(4, 2, 3), probability(4, 3, 4));
  EXPECT_LT(probability(SuffixIndex::kMaxLength, SuffixIndex::kMaxPlaces, SuffixIndex::kMaxPlaces),
            1.0);
}

/// Appends, ends, drops and searches at random, with few distinct tokens and a small capacity.
void CompareWithLinearIndex(std::mt19937& random, int64_t& num_found, int64_t& num_counted) {
  const int64_t capacity = SuffixIndex::kMinCapacity << (random() % 4);
  const uint32_t num_ids = 1 + random() % 5, num_owners = 1 + random() % 3;
  SuffixIndex index(capacity);
  LinearIndex linear(capacity);
  const auto tokens = [&](uint32_t most) {
    std::vector<TokenId> made;
    for (uint32_t n = random() % most; n > 0; --n) {
      made.push_back(TokenId{static_cast<int32_t>(random() % num_ids)});
    }
    return made;
  };
  for (int step = 0; step < 40; ++step) {
    const SuffixIndex::Owner owner = random() % num_owners;
    const std::vector<TokenId> appended = tokens(30);
    index.Append(owner, appended);
    linear.Append(owner, appended);
    if (random() % 2 == 0) {
      index.EndText();
      linear.EndText();
    }
    if (random() % 8 == 0) {
      const int64_t begin = std::min<int64_t>(index.begin() + random() % 20, index.end());
      for (int64_t dropped = index.begin(); dropped < begin; ++dropped) linear.DropOldest();
      index.DropBefore(begin);
    }
    for (int search = 0; search < 3; ++search) {
      const SuffixIndex::Owner of = random() % num_owners;
      std::vector<TokenId> text = tokens(40);
      const std::vector<TokenId> drafted = tokens(3);
      const SuffixMatch match = index.Find(of, text, drafted);
      text.insert(text.end(), drafted.begin(), drafted.end());
      const SuffixMatch expected = linear.Find(of, text);
      ASSERT_EQ(match.length, expected.length) << "step " << step;
      ASSERT_EQ(match.num_places, expected.num_places) << "step " << step;
      ASSERT_EQ(match.num_next, expected.num_next) << "step " << step;
      ASSERT_EQ(match.next, expected.next) << "step " << step;
      num_found += match.length > 0 ? 1 : 0;
      num_counted += match.num_next > 1 && match.num_next < match.num_places ? 1 : 0;
    }
  }
}

TEST(SuffixIndexTest, CountsEqualLinearSearch) {
  int64_t num_found = 0, num_counted = 0;
  for (uint32_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    CompareWithLinearIndex(random, num_found, num_counted);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(num_found, 10'000);
  EXPECT_GT(num_counted, 1'000);
}

}  // namespace
}  // namespace shortlist
