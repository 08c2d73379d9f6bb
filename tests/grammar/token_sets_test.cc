#include "grammar/token_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/grammar/random_expressions.h"

namespace shortlist {
namespace {

constexpr int64_t kNoLimit = Expressions::kNoLimit;

std::shared_ptr<HeadCache> MakeCache(const std::vector<std::string>& tokens) {
  return std::make_shared<HeadCache>(std::make_shared<const TokenTrie>(
      std::vector<std::string_view>(tokens.begin(), tokens.end())));
}

/// Every string of up to 4 of the bytes 'a' to 'c', some twice, and tokens without bytes.
std::vector<std::string> SmallVocab() {
  std::vector<std::string> tokens;
  ForEachText(4, [&](const std::string& text) { tokens.push_back(text); });
  for (const char* text : {"a", "bc", "", "aaaaaaaaaa", "abababab"}) tokens.push_back(text);
  return tokens;
}

/// By the definition: one token after the other, byte by byte.
void ExpectSet(TokenSets& sets, ExprId state) {
  const auto set = sets.Of(state);
  EXPECT_TRUE(std::ranges::is_sorted(set->ids));
  const int64_t vocab_size = sets.trie().vocab_size();
  EXPECT_LE(std::ssize(set->ids), vocab_size / 2 + 1);
  for (int32_t id = 0; id < vocab_size; ++id) {
    const std::string_view bytes = sets.trie().BytesOf(TokenId{id});
    ExprId after = state;
    for (const char byte : bytes) after = sets.grammar().Next(after, static_cast<uint8_t>(byte));
    ASSERT_EQ(sets.grammar().Next(state, bytes), after) << bytes;
    const bool expected = !bytes.empty() && !sets.grammar().IsDead(after);
    const bool is_listed = std::ranges::binary_search(set->ids, TokenId{id});
    ASSERT_EQ(is_listed != set->is_exception, expected) << id << " '" << bytes << "'";
  }
}

TEST(TokenSetsTest, RandomStatesMatchTokenByToken) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  const auto cache = MakeCache(SmallVocab());
  for (int round = 0; round < 1500; ++round) {
    auto expressions = std::make_unique<Expressions>();
    std::vector<RuleId> rules;
    std::vector<Tree::Ptr> trees;
    for (int rule = 0; rule < 2; ++rule) {
      rules.push_back(expressions->NewRule(std::to_string(rule)));
      trees.push_back(Tree::Random(random, /*depth=*/1 + round % 4, /*num_rules=*/2));
    }
    SCOPED_TRACE(testing::Message() << "round " << round << "\n"
                                    << trees[0]->Show() << "\n"
                                    << trees[1]->Show());
    for (int rule = 0; rule < 2; ++rule) {
      expressions->Define(rules[rule], trees[rule]->Build(*expressions, rules));
    }
    const ExprId start = expressions->Sequence(
        expressions->Repeat(expressions->Call(rules[0]), random() % 3, 3 + random() % 9),
        trees[1]->Build(*expressions, rules));
    const auto grammar = Grammar::Create(std::move(expressions), start);
    if (!grammar.ok()) continue;  // no text
    TokenSets sets(*grammar, cache, /*max_bytes=*/round % 2 == 0 ? 1 << 20 : 2000);
    for (int walk = 0; walk < 4; ++walk) {
      ExprId state = (*grammar)->Begin();
      for (int i = 0; i < 8 && !(*grammar)->IsDead(state); ++i) {
        ExpectSet(sets, state);
        if (HasFailure()) return;
        state = (*grammar)->Next(state, static_cast<uint8_t>('a' + random() % 3));
      }
    }
  }
}

/// A string of up to 20 letters between quotes, where a letter may be escaped.
ExprId QuotedString(Expressions& e, int64_t min, int64_t max) {
  const ExprId letter = e.Choice(e.Bytes(ByteSet::Range('b', 'c')),
                                 e.Sequence(e.Text("a"), e.Bytes(ByteSet::Range('a', 'c'))));
  return e.Sequence(e.Repeat(letter, min, max), e.Choice(e.Text("ab"), e.Text("aca")));
}

TEST(TokenSetsTest, CountedRepetitionsMatchTokenByToken) {
  const auto cache = MakeCache(SmallVocab());
  for (int64_t min = 0; min < 4; ++min) {
    for (int64_t max = min; max < 8; ++max) {
      auto expressions = std::make_unique<Expressions>();
      const ExprId start = QuotedString(*expressions, min, max);
      const auto grammar = Grammar::Create(std::move(expressions), start);
      ASSERT_TRUE(grammar.ok()) << grammar.status();
      TokenSets sets(*grammar, cache);
      ForEachText(4, [&](const std::string& text) {
        ExpectSet(sets, (*grammar)->Next((*grammar)->Begin(), text));
      });
    }
  }
}

/// A length limit that no token comes near, one that some reach, and what remains of both.
TEST(TokenSetsTest, LimitedStringsMatchTokenByToken) {
  const auto cache = MakeCache(SmallVocab());
  for (int64_t max = 3; max < 20; ++max) {
    auto expressions = std::make_unique<Expressions>();
    Expressions& e = *expressions;
    const ExprId words =
        e.Repeat(e.Choice(e.Text("bca"), e.Repeat(e.Text("a"), 1, kNoLimit)), 0, kNoLimit);
    const ExprId any = e.Bytes(ByteSet::Range('a', 'c'));
    const ExprId start =
        e.Sequence(e.Both(words, e.Repeat(any, max % 3, max)), e.Choice(e.Text("cb"), any));
    const auto grammar = Grammar::Create(std::move(expressions), start);
    ASSERT_TRUE(grammar.ok()) << grammar.status();
    TokenSets sets(*grammar, cache);
    SCOPED_TRACE(testing::Message() << "at most " << max);
    ForEachText(4, [&](const std::string& text) {
      ExpectSet(sets, (*grammar)->Next((*grammar)->Begin(), text));
    });
  }
}

TEST(TokenSetsTest, GrammarsShareHeads) {
  const auto cache = MakeCache(SmallVocab());
  int64_t num_bytes = 0;
  for (int round = 0; round < 3; ++round) {
    auto expressions = std::make_unique<Expressions>();
    for (int i = 0; i < round; ++i) expressions->Text("cb" + std::to_string(i));  // other ids
    const ExprId start = QuotedString(*expressions, 1, 7);
    const auto grammar = Grammar::Create(std::move(expressions), start);
    TokenSets sets(*grammar, cache);
    ForEachText(4, [&](const std::string& text) {
      ExpectSet(sets, (*grammar)->Next((*grammar)->Begin(), text));
    });
    if (round > 0) {
      EXPECT_EQ(cache->num_bytes(), num_bytes);
    }
    num_bytes = cache->num_bytes();
  }
  EXPECT_GT(num_bytes, 0);
}

TEST(TokenSetsTest, LimitOfMemoryIsKept) {
  const auto cache = MakeCache(SmallVocab());
  auto expressions = std::make_unique<Expressions>();
  const ExprId start = QuotedString(*expressions, 0, 1000);
  const auto grammar = Grammar::Create(std::move(expressions), start);
  constexpr int64_t kMaxBytes = 20'000;
  TokenSets sets(*grammar, cache, kMaxBytes);
  ExprId state = (*grammar)->Begin();
  const auto first = sets.Of(state);
  for (int i = 0; i < 900; ++i) {
    sets.Of(state);
    EXPECT_LE(sets.num_bytes(), kMaxBytes);
    state = (*grammar)->Next(state, 'b');
  }
  EXPECT_FALSE(first->ids.empty());  // the caller's set outlives its removal
  ExpectSet(sets, state);
}

TEST(TokenSetsTest, FullGrammarAllowsNothing) {
  auto expressions = std::make_unique<Expressions>(/*max_bytes=*/4000);
  const ExprId start = expressions->Repeat(expressions->Text("abcabcabc"), 0, kNoLimit);
  Expressions& e = *expressions;
  const auto grammar = Grammar::Create(std::move(expressions), start);
  ASSERT_TRUE(grammar.ok()) << grammar.status();
  TokenSets sets(*grammar, MakeCache(SmallVocab()));
  EXPECT_FALSE(sets.Of(start)->ids.empty());
  while (!e.is_full()) e.Text(std::to_string(e.num_bytes()) + " more");
  EXPECT_TRUE(sets.Of(start)->ids.empty());
  EXPECT_FALSE(sets.Of(start)->is_exception);
  EXPECT_FALSE((*grammar)->Accepts(start));
  EXPECT_TRUE((*grammar)->IsDead((*grammar)->Next(start, 'a')));
}

TEST(TokenSetsTest, ThreadsGetEqualSets) {
  auto expressions = std::make_unique<Expressions>();
  const ExprId start = QuotedString(*expressions, 2, 50);
  const auto grammar = Grammar::Create(std::move(expressions), start);
  TokenSets sets(*grammar, MakeCache(SmallVocab()), /*max_bytes=*/5000);
  std::vector<std::vector<TokenId>> ids(4);
  std::vector<std::thread> threads;
  for (std::vector<TokenId>& of_thread : ids) {
    threads.emplace_back([&] {
      ExprId state = (*grammar)->Begin();
      for (const char byte : std::string("bcaabbccabcbcbcbcaa")) {
        const auto set = sets.Of(state);
        of_thread.insert(of_thread.end(), set->ids.begin(), set->ids.end());
        state = (*grammar)->Next(state, static_cast<uint8_t>(byte));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<TokenId>& of_thread : ids) EXPECT_EQ(of_thread, ids[0]);
}

}  // namespace
}  // namespace shortlist
