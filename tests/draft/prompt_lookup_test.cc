#include "draft/prompt_lookup.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace shortlist {
namespace {

std::vector<TokenId> Tokens(const std::vector<int32_t>& ids) {
  std::vector<TokenId> tokens;
  for (int32_t id : ids) tokens.push_back(TokenId{id});
  return tokens;
}

/// Find from its contract, place by place.
PromptLookup::Match BruteForce(const std::vector<TokenId>& text,
                               const std::vector<TokenId>& drafted) {
  std::vector<TokenId> both = text;
  both.insert(both.end(), drafted.begin(), drafted.end());
  PromptLookup::Match best;
  int64_t num_places = 0;
  for (int64_t at = std::ssize(text) - 1; at >= 0; --at) {
    int64_t length = 0;
    while (length < PromptLookup::kMaxLength && length < at && length < std::ssize(both) &&
           text[at - 1 - length] == both[both.size() - 1 - length]) {
      ++length;
    }
    if (length < PromptLookup::kMinLength) continue;
    if (length > best.length) best = {text[at], length};
    if (++num_places == PromptLookup::kMaxCandidates) break;
  }
  return best;
}

TEST(PromptLookupTest, FindsContinuationOfLongestMatch) {
  PromptLookup lookup;
  // 1 2 3 stood before 4, and 9 2 3 later before 5.
  const std::vector<TokenId> text = Tokens({1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3});
  const PromptLookup::Match match = lookup.Find(text, {});
  EXPECT_EQ(match.next, TokenId{4});
  EXPECT_EQ(match.length, 3);
  const std::vector<TokenId> drafted = Tokens({4, 9});
  EXPECT_EQ(lookup.Find(text, drafted).next, TokenId{2});
  EXPECT_EQ(lookup.Find(text, drafted).length, 5);
  EXPECT_EQ(lookup.Find(text, Tokens({7})).length, 0);
}

TEST(PromptLookupTest, TiesGoToLatestMatch) {
  PromptLookup lookup;
  EXPECT_EQ(lookup.Find(Tokens({1, 2, 3, 1, 2, 4, 1, 2}), {}).next, TokenId{4});
}

TEST(PromptLookupTest, MatchesLinearSearch) {
  const uint64_t seed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int64_t num_found = 0, num_long = 0;
  for (int run = 0; run < 200; ++run) {
    const int32_t num_ids = 1 + static_cast<int32_t>(random() % 6);
    const auto id = [&] { return TokenId{static_cast<int32_t>(random() % num_ids)}; };
    PromptLookup lookup;
    std::vector<TokenId> text;
    for (int step = 0; step < 30; ++step) {
      // Grows by new tokens, or by a piece of itself.
      const size_t from = text.empty() ? 0 : random() % text.size();
      const bool copies = random() % 2 == 0;
      for (uint64_t n = random() % 8; n > 0; --n) {
        text.push_back(copies && !text.empty() ? text[from + n % (text.size() - from)] : id());
      }
      std::vector<TokenId> drafted;
      for (uint64_t n = random() % 5; n > 0; --n) drafted.push_back(id());
      const PromptLookup::Match expected = BruteForce(text, drafted);
      const PromptLookup::Match match = lookup.Find(text, drafted);
      ASSERT_EQ(match.length, expected.length) << "run " << run << ", step " << step;
      ASSERT_EQ(match.next, expected.next) << "run " << run << ", step " << step;
      num_found += match.length > 0 ? 1 : 0;
      num_long += match.length == PromptLookup::kMaxLength ? 1 : 0;
    }
  }
  EXPECT_GT(num_found, 1000);
  EXPECT_GT(num_long, 100);
}

TEST(PromptLookupTest, ShortTextsHaveNoMatch) {
  PromptLookup lookup;
  EXPECT_EQ(lookup.Find({}, {}).length, 0);
  EXPECT_EQ(lookup.Find({}, Tokens({1, 1, 1})).length, 0);
  EXPECT_EQ(lookup.Find(Tokens({1}), Tokens({1})).length, 0);
  EXPECT_EQ(lookup.Find(Tokens({1, 1}), Tokens({1})).length, 0);
  EXPECT_EQ(lookup.Find(Tokens({1, 1, 1}), Tokens({1})).length, 2);
}

}  // namespace
}  // namespace shortlist
