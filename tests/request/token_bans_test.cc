#include "request/token_bans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = TokenConstraint::State;
using Words = std::vector<std::vector<TokenId>>;

constexpr int32_t kVocab = 5;

std::vector<TokenId> Ids(const std::vector<int32_t>& raw) {
  std::vector<TokenId> ids;
  for (const int32_t id : raw) ids.push_back(TokenId{id});
  return ids;
}

/// By the definition, from the whole output.
bool MayFollow(const std::vector<TokenId>& output, TokenId token, const TokenBans& bans,
               const std::vector<TokenId>& stops, int64_t min_new_tokens) {
  std::vector<TokenId> with = output;
  with.push_back(token);
  for (const std::vector<TokenId>& word : bans.bad_words()) {
    if (with.size() >= word.size() && std::equal(word.rbegin(), word.rend(), with.rbegin())) {
      return false;
    }
  }
  const bool is_stop = std::ranges::find(stops, token) != stops.end();
  if (is_stop && std::ssize(output) < min_new_tokens) return false;
  const std::vector<TokenId>& allowed = bans.allowed_token_ids();
  return allowed.empty() || std::ranges::find(allowed, token) != allowed.end();
}

TEST(TokenBansTest, IncrementalStateMatchesWholeOutput) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::vector<TokenId> allowed, stops;
    for (int32_t id = 0; id < kVocab; ++id) {
      if (round % 3 > 0 && random() % 3 > 0) allowed.push_back(TokenId{id});
      if (random() % 4 == 0) stops.push_back(TokenId{id});
    }
    Words words(random() % 7);
    for (std::vector<TokenId>& word : words) {
      word.resize(1 + random() % 4);
      for (TokenId& id : word) id = TokenId{static_cast<int32_t>(random() % 3)};
    }
    const auto bans = std::make_shared<const TokenBans>(allowed, words);
    const auto min_new_tokens = static_cast<int64_t>(random() % 6);
    const BanConstraint constraint(bans, stops, min_new_tokens);
    std::vector<TokenId> output;
    State state = constraint.Begin();
    for (int i = 0; i < 12; ++i) {
      const TokenSet set = constraint.Allowed(state);
      for (int32_t id = 0; id < kVocab; ++id) {
        const bool expected = MayFollow(output, TokenId{id}, *bans, stops, min_new_tokens);
        EXPECT_EQ(constraint.Allows(state, TokenId{id}), expected) << i << ", token " << id;
        const bool is_listed = std::ranges::binary_search(set.ids(), TokenId{id});
        EXPECT_EQ(is_listed != set.is_exception(), expected) << i << ", token " << id;
      }
      output.push_back(TokenId{static_cast<int32_t>(random() % 3)});  // allowed or not
      state = constraint.Next(state, output.back());
    }
  }
}

TEST(TokenBansTest, DraftedTokensDoNotChangeState) {
  const auto bans =
      std::make_shared<const TokenBans>(std::vector<TokenId>(), Words{Ids({1, 2, 3}), Ids({2, 4})});
  const BanConstraint constraint(bans, {}, /*min_new_tokens=*/0);
  const State one = constraint.Next(constraint.Begin(), TokenId{1});
  const State two = constraint.Next(one, TokenId{2});
  EXPECT_THAT(constraint.Allowed(two).ids(), ElementsAre(TokenId{3}, TokenId{4}));
  EXPECT_THAT(constraint.Allowed(one).ids(), IsEmpty());
  EXPECT_EQ(constraint.Next(one, TokenId{2}), two);
}

TEST(TokenBansTest, LongMinimumAndManyWordsFitState) {
  Words words;
  for (int32_t i = 0; i < 200; ++i) words.push_back(Ids({i, i + 1, i + 2, i + 3}));
  const auto bans = std::make_shared<const TokenBans>(std::vector<TokenId>(), words);
  const int64_t min_new_tokens = int64_t{1} << 31;
  const BanConstraint constraint(bans, Ids({7}), min_new_tokens);
  State state = constraint.Begin();
  for (const int32_t id : {199, 200, 201}) state = constraint.Next(state, TokenId{id});
  EXPECT_THAT(constraint.Allowed(state).ids(), ElementsAre(TokenId{7}, TokenId{202}));
}

TEST(TokenBansTest, OnlyChoiceIsForced) {
  const auto bans = std::make_shared<const TokenBans>(Ids({2, 4}), Words{Ids({2}), Ids({4, 4, 4})});
  const BanConstraint constraint(bans, {}, /*min_new_tokens=*/0);
  // 4, 4; then no token may follow.
  EXPECT_THAT(constraint.Forced(constraint.Begin()), ElementsAre(TokenId{4}, TokenId{4}));
  const BanConstraint free(nullptr, Ids({1}), /*min_new_tokens=*/3);
  EXPECT_THAT(free.Forced(free.Begin()), IsEmpty());
  EXPECT_THAT(free.Allowed(free.Begin()).ids(), ElementsAre(TokenId{1}));
}

}  // namespace
}  // namespace shortlist
