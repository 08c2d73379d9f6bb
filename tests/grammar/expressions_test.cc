#include "grammar/expressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/grammar/random_expressions.h"

namespace shortlist {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kNoLimit = Expressions::kNoLimit;

ExprId AfterText(Expressions& expressions, ExprId of, std::string_view text) {
  for (const char c : text) of = expressions.After(of, static_cast<uint8_t>(c));
  return of;
}

bool Matches(Expressions& expressions, ExprId of, std::string_view text) {
  return expressions.IsNullable(AfterText(expressions, of, text));
}

ExprId Byte(Expressions& expressions, char c) { return expressions.Text(std::string_view(&c, 1)); }

uint32_t PrintedSeed() {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  return seed;
}

/// Compares all short texts with the definition.
void ExpectSameTexts(Expressions& expressions, ExprId id, const Tree& tree,
                     const std::vector<Tree::Ptr>& rules) {
  constexpr size_t kMaxLen = 6;
  std::set<std::string> prefixes;
  int64_t min_length = kNoLimit;
  ForEachText(kMaxLen, [&](const std::string& text) {
    const bool is_match = tree.Matches(text, rules);
    ASSERT_EQ(Matches(expressions, id, text), is_match) << text;
    if (!is_match) return;
    min_length = std::min(min_length, static_cast<int64_t>(text.size()));
    for (size_t length = 0; length <= text.size(); ++length) {
      prefixes.insert(text.substr(0, length));
    }
  });
  if (min_length != kNoLimit) {
    EXPECT_EQ(expressions.MinLength(id), min_length);
  }
  ForEachText(2, [&](const std::string& text) {
    const ExprId state = AfterText(expressions, id, text);
    // A state is dead only as Nothing(), and then no text goes on so.
    if (!text.empty()) {
      EXPECT_EQ(expressions.IsProductive(state), state != expressions.Nothing());
    }
    if (prefixes.contains(text)) {
      EXPECT_NE(state, expressions.Nothing()) << text;
    }
    const int64_t length = expressions.MinLength(state);
    if (length != kNoLimit && length + text.size() <= kMaxLen) {
      EXPECT_TRUE(prefixes.contains(text)) << text;
    }
  });
}

TEST(ExpressionsTest, RandomExpressionsMatchDefinition) {
  std::mt19937 random(PrintedSeed());
  for (int round = 0; round < 1500; ++round) {
    const Tree::Ptr tree = Tree::Random(random, /*depth=*/1 + round % 4, /*num_rules=*/0);
    SCOPED_TRACE(testing::Message() << "round " << round << ": " << tree->Show());
    Expressions expressions;
    const ExprId id = tree->Build(expressions);
    ASSERT_EQ(expressions.Check(id), "");
    ExpectSameTexts(expressions, id, *tree, {});
    if (HasFailure()) return;
  }
}

TEST(ExpressionsTest, RandomRulesMatchDefinition) {
  std::mt19937 random(PrintedSeed());
  for (int round = 0; round < 700; ++round) {
    std::vector<Tree::Ptr> trees;
    Expressions expressions;
    std::vector<RuleId> rules;
    for (int rule = 0; rule < 3; ++rule) {
      trees.push_back(Tree::Random(random, /*depth=*/1 + round % 3, /*num_rules=*/3));
      rules.push_back(expressions.NewRule(std::to_string(rule)));
    }
    SCOPED_TRACE(testing::Message() << "round " << round << ": " << trees[0]->Show() << "\n"
                                    << trees[1]->Show() << "\n"
                                    << trees[2]->Show());
    for (int rule = 0; rule < 3; ++rule) {
      expressions.Define(rules[rule], trees[rule]->Build(expressions, rules));
    }
    const ExprId start = expressions.Call(rules[0]);
    ASSERT_EQ(expressions.Check(start), "");
    ExpectSameTexts(expressions, start, *trees[0], trees);
    if (HasFailure()) return;
  }
}

TEST(ExpressionsTest, EqualExpressionsHaveEqualIds) {
  Expressions e;
  const ExprId a = Byte(e, 'a'), b = Byte(e, 'b'), text = e.Text("xyz");
  EXPECT_EQ(e.Sequence(e.Sequence(a, text), b), e.Sequence(a, e.Sequence(text, b)));
  EXPECT_EQ(e.Sequence(a, e.Empty()), a);
  EXPECT_EQ(e.Sequence(a, e.Nothing()), e.Nothing());
  EXPECT_EQ(e.Choice(e.Choice(text, a), b), e.Choice(b, e.Choice(a, text)));
  EXPECT_EQ(e.Choice(a, b), e.Bytes(ByteSet::Range('a', 'b')));
  EXPECT_EQ(e.Choice(text, e.Nothing()), text);
  EXPECT_EQ(e.After(e.Text("abc"), 'a'), e.Text("bc"));
  EXPECT_EQ(AfterText(e, e.Text("left-common"), "left"),
            AfterText(e, e.Text("rite-common"), "rite"));
  EXPECT_EQ(e.Repeat(text, 1, 1), text);
  EXPECT_EQ(e.Repeat(text, 0, 1), e.Optional(text));
  EXPECT_EQ(e.Both(text, text), text);
  EXPECT_EQ(e.Except(text, text), e.Nothing());
  EXPECT_EQ(e.Both(e.Repeat(a, 2, 5), e.Repeat(a, 7, 9)), e.Nothing());
}

TEST(ExpressionsTest, FormsAreEqualInOtherExpressions) {
  const auto build = [](Expressions& e) {
    const ExprId word = e.Repeat(e.Bytes(ByteSet::Range('a', 'z')), 1, 9);
    return e.Choice(e.Sequence(e.Text("xy"), e.Except(word, e.Text("no"))), e.Text("12"));
  };
  Expressions first, second;
  second.Choice(second.Text("12"), second.Repeat(second.Text("no"), 2, 3));  // other ids
  EXPECT_EQ(first.FormOf(build(first)), second.FormOf(build(second)));
  EXPECT_NE(first.FormOf(build(first)), first.FormOf(first.Text("12")));
  EXPECT_NE(first.FormOf(first.Repeat(first.Text("12"), 1, 23)),
            first.FormOf(first.Repeat(first.Text("12"), 11, 23)));
  EXPECT_EQ(first.FormOf(first.Text(std::string(5000, 'x'))), std::nullopt);
  EXPECT_EQ(first.FormOf(first.Call(first.NewRule("rule"))), std::nullopt);
}

TEST(ExpressionsTest, LoopReturnsToSameState) {
  Expressions e;
  const ExprId string =
      e.Sequence(e.Repeat(e.Bytes(~ByteSet::Range('"', '"')), 0, kNoLimit), Byte(e, '"'));
  EXPECT_EQ(AfterText(e, string, "any text"), string);
  EXPECT_EQ(e.FirstBytes(string), ~ByteSet());
}

TEST(ExpressionsTest, AmbiguousCountsStaySmall) {
  Expressions e;
  const ExprId word = e.Repeat(Byte(e, 'a'), 1, kNoLimit);
  ExprId state = e.Repeat(word, 0, 1'000'000);
  state = AfterText(e, state, std::string(5000, 'a'));
  EXPECT_TRUE(e.IsNullable(state));
  EXPECT_LT(e.num_bytes(), 5'000'000);
}

TEST(ExpressionsTest, CheckNamesBrokenRule) {
  Expressions e;
  const RuleId undefined = e.NewRule("no-body");
  EXPECT_THAT(e.Check(e.Sequence(Byte(e, 'a'), e.Call(undefined))),
              HasSubstr("no-body is not defined"));
  const RuleId left = e.NewRule("left"), hidden = e.NewRule("hidden");
  e.Define(left, e.Sequence(e.Optional(Byte(e, 'a')), e.Call(hidden)));
  e.Define(hidden, e.Choice(Byte(e, 'b'), e.Sequence(e.Call(left), Byte(e, 'c'))));
  EXPECT_THAT(e.Check(e.Call(left)), HasSubstr("is left-recursive"));
  EXPECT_EQ(e.After(e.Call(left), 'b'), e.Nothing());  // fails closed
  const RuleId endless = e.NewRule("endless");
  e.Define(endless, e.Sequence(Byte(e, 'a'), e.Call(endless)));
  ASSERT_EQ(e.Check(e.Call(endless)), "");
  EXPECT_FALSE(e.IsProductive(e.Call(endless)));
  EXPECT_EQ(e.After(e.Choice(Byte(e, 'b'), e.Call(endless)), 'a'), e.Nothing());
  const RuleId fine = e.NewRule("fine");
  e.Define(fine, e.Choice(Byte(e, 'x'),
                          e.Sequence(Byte(e, '('), e.Sequence(e.Call(fine), Byte(e, ')')))));
  ASSERT_EQ(e.Check(e.Call(fine)), "");
  EXPECT_EQ(e.MinLength(e.Sequence(Byte(e, '('), e.Call(fine))), 2);
  EXPECT_THAT(e.Check(e.Both(e.Call(fine), e.Text("(x)"))), HasSubstr("calls a rule"));
}

TEST(ExpressionsTest, DeepNestingNeedsNoStack) {
  Expressions e;
  const RuleId list = e.NewRule("list");
  e.Define(list, e.Sequence(Byte(e, '['), e.Sequence(e.Optional(e.Call(list)), Byte(e, ']'))));
  ASSERT_EQ(e.Check(e.Call(list)), "");
  constexpr size_t kDepth = 100'000;
  const ExprId inside = AfterText(e, e.Call(list), std::string(kDepth, '['));
  EXPECT_TRUE(e.IsNullable(AfterText(e, inside, std::string(kDepth, ']'))));
  EXPECT_EQ(e.MinLength(inside), kDepth);

  ExprId nested = Byte(e, 'x');
  for (int i = 0; i < 50'000; ++i) {
    nested = e.Repeat(e.Choice(e.Sequence(Byte(e, '('), nested), Byte(e, 'y')), 2, 3);
  }
  EXPECT_EQ(e.After(nested, '('), AfterText(e, nested, "("));
  ExprId optionals = e.Empty();
  for (int i = 0; i < 2000; ++i) {
    optionals = e.Sequence(e.Optional(e.Bytes(ByteSet::Range('0', '0' + i % 10))), optionals);
  }
  EXPECT_NE(e.After(optionals, '0'), e.Nothing());
}

TEST(ExpressionsTest, DeeplyNestedIntersectionsFailClosed) {
  Expressions e;
  ExprId all = e.Repeat(e.Bytes(ByteSet::Range('a', 'z')), 0, kNoLimit);
  for (int i = 0; i < 1000; ++i) {
    all = e.Both(all, e.Repeat(e.Bytes(ByteSet::Range('a', 'z')), 0, 1000 + i));
  }
  EXPECT_EQ(all, e.Nothing());
  EXPECT_TRUE(e.is_full());
}

TEST(ExpressionsTest, LongTextCostsLinearTime) {
  Expressions e;
  std::string text(100'000, 'a');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * i % 7);
  const ExprId start = e.Sequence(e.Text(text), Byte(e, '!'));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(Matches(e, start, text + "!"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_LT(e.num_bytes(), 25'000'000);
  const ExprId other = e.Text("x" + text);
  EXPECT_EQ(e.MinLength(e.After(other, 'x')), static_cast<int64_t>(text.size()));
  Expressions large(int64_t{256} << 20);
  EXPECT_TRUE(Matches(large, large.Text(std::string(1 << 20, 'z')), std::string(1 << 20, 'z')));
}

TEST(ExpressionsTest, ChoiceOfManyTextsIsTrie) {
  Expressions e;
  std::vector<ExprId> options;
  std::vector<std::string> texts;
  for (int i = 0; i < 10'000; ++i)
    texts.push_back("the same beginning " + std::to_string(i * 7919));
  for (const std::string& text : texts) options.push_back(e.Sequence(e.Text(text), Byte(e, ';')));
  const ExprId choice = e.Choice(options);
  for (const std::string& text : texts) ASSERT_TRUE(Matches(e, choice, text + ";"));
  EXPECT_FALSE(Matches(e, choice, "the same beginning 1;"));
  EXPECT_LT(e.num_bytes(), 20'000'000);
  // Added one by one.
  Expressions slow;
  ExprId all = slow.Nothing();
  for (const std::string& text : texts) all = slow.Choice(all, slow.Text(text));
  EXPECT_TRUE(Matches(slow, all, texts.back()));
  EXPECT_FALSE(slow.is_full());
  // Each the beginning of the next.
  Expressions deep;
  options.clear();
  for (int i = 1; i < 3000; ++i) options.push_back(deep.Text(std::string(i, 'a')));
  EXPECT_TRUE(Matches(deep, deep.Choice(options), std::string(2999, 'a')));
  EXPECT_FALSE(Matches(deep, deep.Choice(options), std::string(3000, 'a')));
}

TEST(ExpressionsTest, ManyOptionalPropertiesFit) {
  Expressions e;
  const ExprId value = e.Repeat(e.Bytes(ByteSet::Range('0', '9')), 1, kNoLimit);
  ExprId rest = e.Text("}");
  for (int i = 5000; i > 0; --i) {
    const ExprId key = e.Text("\"property" + std::to_string(i) + "\":");
    rest = e.Sequence(e.Optional(e.Sequence(key, e.Sequence(value, Byte(e, ',')))), rest);
  }
  EXPECT_TRUE(Matches(e, rest, "\"property17\":5,\"property4999\":6,}"));
  EXPECT_FALSE(Matches(e, rest, "\"property4999\":6,\"property17\":5,}"));
  EXPECT_LT(e.num_bytes(), 30'000'000);
}

TEST(ExpressionsTest, FullFailsClosed) {
  // The classic expression whose automaton has 2^30 states.
  Expressions e(int64_t{1} << 20);
  const ExprId ab = e.Bytes(ByteSet::Range('a', 'b'));
  const ExprId start =
      e.Sequence(e.Repeat(ab, 0, kNoLimit), e.Sequence(Byte(e, 'a'), e.Repeat(ab, 30, 30)));
  std::mt19937 random(1);
  ExprId state = start;
  for (int i = 0; i < 1'000'000 && state != e.Nothing(); ++i)
    state = e.After(state, 'a' + random() % 2);
  EXPECT_EQ(state, e.Nothing());
  EXPECT_TRUE(e.is_full());
  EXPECT_LE(e.num_bytes(), int64_t{1} << 20);
  EXPECT_NE(e.Check(start), "");
  EXPECT_EQ(e.Text("something new"), e.Nothing());
}

TEST(ExpressionsTest, HardIntersectionEnds) {
  Expressions e(int64_t{16} << 20);
  const ExprId ab = e.Bytes(ByteSet::Range('a', 'b')), any = e.Repeat(ab, 0, kNoLimit);
  ExprId all = any;
  for (int i = 5; i < 25; ++i) {  // a shortest string needs all of them at once
    all = e.Both(all,
                 e.Sequence(any, e.Sequence(Byte(e, i % 2 == 0 ? 'a' : 'b'), e.Repeat(ab, i, i))));
  }
  if (!e.is_full()) {
    EXPECT_EQ(e.MinLength(all), 25);
  }
}

TEST(ExpressionsTest, ThreadsShareStates) {
  Expressions e;
  const RuleId list = e.NewRule("list");
  e.Define(list, e.Choice(e.Text("null"),
                          e.Sequence(Byte(e, '['), e.Sequence(e.Call(list), Byte(e, ']')))));
  const ExprId start = e.Call(list);
  ASSERT_EQ(e.Check(start), "");
  const std::string text = std::string(500, '[') + "null" + std::string(500, ']');
  std::vector<ExprId> ends(4);
  std::vector<std::thread> threads;
  for (ExprId& end : ends) threads.emplace_back([&] { end = AfterText(e, start, text); });
  for (std::thread& thread : threads) thread.join();
  for (const ExprId end : ends) EXPECT_EQ(end, e.Empty());
}

}  // namespace
}  // namespace shortlist
