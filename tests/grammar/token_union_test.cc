#include "grammar/token_union.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <set>
#include <vector>

namespace shortlist {
namespace {

using Tokens = std::set<TokenId>;

std::vector<TokenId> ToVector(const Tokens& tokens) { return {tokens.begin(), tokens.end()}; }

Tokens RandomTokens(std::mt19937& random, int64_t vocab_size, uint32_t max_size) {
  Tokens tokens;
  for (uint32_t i = random() % (max_size + 1); i > 0; --i) {
    tokens.insert(TokenId{static_cast<int32_t>(random() % vocab_size)});
  }
  return tokens;
}

TEST(TokenUnionTest, RandomUnionsMatchSets) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    const int64_t vocab_size = 1 + random() % 1000;
    TokenUnion tokens(vocab_size);
    Tokens expected;
    for (uint32_t parts = random() % 4; parts > 0; --parts) {
      const Tokens ids = RandomTokens(random, vocab_size, round % 200);
      if (random() % 2 == 0) {
        tokens.Add(ToVector(ids));
        expected.insert(ids.begin(), ids.end());
        continue;
      }
      const Tokens others = RandomTokens(random, vocab_size, 5);
      tokens.AddAllExcept(ToVector(ids), ToVector(others));
      for (int32_t id = 0; id < vocab_size; ++id) {
        if (!ids.contains(TokenId{id}) && !others.contains(TokenId{id}))
          expected.insert(TokenId{id});
      }
    }
    const AllowedTokens set = std::move(tokens).Build();
    Tokens listed;
    for (int32_t id = 0; id < vocab_size; ++id) {
      if (expected.contains(TokenId{id}) != set.is_exception) listed.insert(TokenId{id});
    }
    ASSERT_EQ(set.ids, ToVector(listed)) << "round " << round;
    ASSERT_LE(std::ssize(set.ids), vocab_size / 2 + 1) << "round " << round;
  }
}

TEST(TokenUnionTest, MergeKeepsOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const Tokens ids = RandomTokens(random, 500, 300);
    const Tokens others = RandomTokens(random, 500, 20);
    Tokens with = ids, without = ids;
    with.insert(others.begin(), others.end());
    for (const TokenId id : others) without.erase(id);
    EXPECT_EQ(MergeTokens(ToVector(ids), ToVector(others), /*with_others=*/true), ToVector(with));
    EXPECT_EQ(MergeTokens(ToVector(ids), ToVector(others), /*with_others=*/false),
              ToVector(without));
  }
}

}  // namespace
}  // namespace shortlist
