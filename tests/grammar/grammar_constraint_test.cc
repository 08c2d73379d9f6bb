#include "grammar/grammar_constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "tests/grammar/random_expressions.h"

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using State = TokenConstraint::State;

/// A vocabulary with an encoder that takes the longest token first.
class Vocab {
 public:
  explicit Vocab(std::vector<std::string> tokens)
      : tokens_(std::move(tokens)),
        cache_(std::make_shared<HeadCache>(std::make_shared<const TokenTrie>(
            std::vector<std::string_view>(tokens_.begin(), tokens_.end())))) {}

  GrammarConstraint Constrain(std::shared_ptr<const Grammar> grammar,
                              std::vector<TokenId> end_ids) const {
    return GrammarConstraint(std::make_shared<TokenSets>(std::move(grammar), cache_),
                             std::move(end_ids),
                             [this](std::string_view text) { return Encode(text); });
  }
  std::vector<TokenId> Encode(std::string_view text) const {
    std::vector<TokenId> ids;
    while (!text.empty()) {
      int32_t longest = -1;
      for (int32_t id = 0; id < std::ssize(tokens_); ++id) {
        const std::string& token = tokens_[id];
        const bool is_longer = longest < 0 || token.size() > tokens_[longest].size();
        if (!token.empty() && text.starts_with(token) && is_longer) longest = id;
      }
      if (longest < 0) return {};
      ids.push_back(TokenId{longest});
      text.remove_prefix(tokens_[longest].size());
    }
    return ids;
  }
  TokenId IdOf(std::string_view token) const {
    return TokenId{static_cast<int32_t>(std::ranges::find(tokens_, token) - tokens_.begin())};
  }
  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }

 private:
  std::vector<std::string> tokens_;
  std::shared_ptr<HeadCache> cache_;
};

std::shared_ptr<const Grammar> ChoiceOf(std::vector<std::string> texts) {
  auto grammar = Grammar::OfChoice(texts);
  EXPECT_TRUE(grammar.ok()) << grammar.status();
  return *grammar;
}

State After(const GrammarConstraint& constraint, State state, const std::vector<TokenId>& tokens) {
  for (const TokenId token : tokens) state = constraint.Next(state, token);
  return state;
}

TEST(GrammarConstraintTest, AllowsEqualsAllowed) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  std::vector<std::string> tokens;
  ForEachText(3, [&](const std::string& text) { tokens.push_back(text); });
  tokens.insert(tokens.end(), {"", "ab", "abcabc", ""});
  const Vocab vocab(tokens);
  for (int round = 0; round < 1000; ++round) {
    const Tree::Ptr tree = Tree::Random(random, /*depth=*/1 + round % 4, /*num_rules=*/0);
    SCOPED_TRACE(testing::Message() << "round " << round << ": " << tree->Show());
    auto expressions = std::make_unique<Expressions>();
    const ExprId start = tree->Build(*expressions);
    const auto grammar = Grammar::Create(std::move(expressions), start);
    if (!grammar.ok()) continue;
    // One end token has bytes, one has none.
    const std::vector<TokenId> end_ids = {TokenId{vocab.size() - 1}, vocab.IdOf("ab")};
    const GrammarConstraint constraint = vocab.Constrain(*grammar, end_ids);
    State state = constraint.Begin();
    std::string text;
    for (int i = 0; i < 6; ++i) {
      const TokenSet set = constraint.Allowed(state);
      ASSERT_TRUE(std::ranges::is_sorted(set.ids()));
      for (int32_t id = 0; id < vocab.size(); ++id) {
        const bool is_listed = std::ranges::binary_search(set.ids(), TokenId{id});
        ASSERT_EQ(constraint.Allows(state, TokenId{id}), is_listed != set.is_exception()) << id;
      }
      const bool may_end = tree->Matches(text);
      ASSERT_EQ(constraint.Allows(state, end_ids[0]), may_end) << text;
      ASSERT_EQ(constraint.Allows(state, end_ids[1]), may_end) << text;
      State forced = state;
      for (const TokenId token : constraint.Forced(state)) {
        ASSERT_TRUE(constraint.Allows(forced, token));
        forced = constraint.Next(forced, token);
      }
      const TokenId next{static_cast<int32_t>(random() % (vocab.size() - 4))};
      if (next == end_ids[1] || tokens[Raw(next)].empty()) continue;
      text += tokens[Raw(next)];
      state = constraint.Next(state, next);
    }
  }
}

TEST(GrammarConstraintTest, EndsOnlyWhereTextEnds) {
  const Vocab vocab({"ye", "s", "yes", "no", "", "<end>"});
  const TokenId end = vocab.IdOf("<end>");
  const GrammarConstraint constraint = vocab.Constrain(ChoiceOf({"yes", "no", "yesno"}), {end});
  EXPECT_THAT(constraint.Allowed(constraint.Begin()).ids(),
              ElementsAre(vocab.IdOf("ye"), vocab.IdOf("yes"), vocab.IdOf("no")));
  const State yes = constraint.Next(constraint.Begin(), vocab.IdOf("yes"));
  EXPECT_EQ(After(constraint, constraint.Begin(), {vocab.IdOf("ye"), vocab.IdOf("s")}), yes);
  EXPECT_THAT(constraint.Allowed(yes).ids(), ElementsAre(vocab.IdOf("no"), end));
  const State ended = constraint.Next(yes, end);
  EXPECT_THAT(constraint.Allowed(ended).ids(), IsEmpty());
  EXPECT_FALSE(constraint.Allowed(ended).is_exception());
  EXPECT_FALSE(constraint.Allows(ended, end));
  EXPECT_THAT(constraint.Forced(ended), IsEmpty());
  EXPECT_EQ(constraint.Next(ended, vocab.IdOf("no")), ended);
}

TEST(GrammarConstraintTest, DisallowedTokenLeadsToDeadState) {
  const Vocab vocab({"a", "b", "", "<end>"});
  const GrammarConstraint constraint = vocab.Constrain(ChoiceOf({"aa"}), {TokenId{3}});
  for (const int32_t token : {1, 2}) {
    const State dead = constraint.Next(constraint.Begin(), TokenId{token});
    EXPECT_THAT(constraint.Allowed(dead).ids(), IsEmpty());
    EXPECT_FALSE(constraint.Allowed(dead).is_exception());
    EXPECT_FALSE(constraint.Allows(dead, TokenId{3}));
    EXPECT_THAT(constraint.Forced(dead), IsEmpty());
  }
}

TEST(GrammarConstraintTest, ForcedBytesAreEncodedUpToReplaceableToken) {
  const Vocab vocab({"{\"", "name", "\"", "\":", "\": ", "x", "y", "e", "nam", "<end>"});
  const GrammarConstraint constraint =
      vocab.Constrain(ChoiceOf({"{\"name\": x", "{\"name\": y"}), {TokenId{9}});
  // The last token cannot become longer.
  EXPECT_THAT(constraint.Forced(constraint.Begin()),
              ElementsAre(vocab.IdOf("{\""), vocab.IdOf("name"), vocab.IdOf("\": ")));
  const GrammarConstraint open =
      vocab.Constrain(ChoiceOf({"{\"name\": x", "{\"name\"y"}), {TokenId{9}});
  // After `{"name"` the token `"` could be `": `.
  EXPECT_THAT(open.Forced(open.Begin()), ElementsAre(vocab.IdOf("{\""), vocab.IdOf("name")));
  // Whole text; then nothing is forced.
  const GrammarConstraint only = vocab.Constrain(ChoiceOf({"{\"name"}), {TokenId{9}});
  const std::vector<TokenId> all = only.Forced(only.Begin());
  EXPECT_THAT(all, ElementsAre(vocab.IdOf("{\""), vocab.IdOf("name")));
  EXPECT_THAT(only.Forced(After(only, only.Begin(), all)), IsEmpty());
}

TEST(GrammarConstraintTest, ForcedIsEmptyIfEncoderWritesOtherBytes) {
  const auto cache = std::make_shared<HeadCache>(std::make_shared<const TokenTrie>(
      std::vector<std::string_view>{"a", "b", " a", "<end>", ""}));
  const auto sets = std::make_shared<TokenSets>(ChoiceOf({"ab"}), cache);
  for (const std::vector<int32_t>& raw : std::vector<std::vector<int32_t>>{
           {2, 1}, {0}, {0, 1, 1}, {0, 3}, {0, 4, 1}, {0, -1}, {0, 99}, {}}) {
    const GrammarConstraint constraint(sets, {TokenId{3}}, [&](std::string_view) {
      std::vector<TokenId> ids;
      for (const int32_t id : raw) ids.push_back(TokenId{id});
      return ids;
    });
    EXPECT_THAT(constraint.Forced(constraint.Begin()), IsEmpty());
  }
}

TEST(GrammarConstraintTest, ForcedEndsAtCharacter) {
  const Vocab vocab({"a", "\xC3", "\xA9", "\xAA", "\xC3\xA9"});
  const GrammarConstraint constraint = vocab.Constrain(ChoiceOf({"aa\xC3\xA9", "aa\xC3\xAA"}), {});
  EXPECT_THAT(constraint.Forced(constraint.Begin()), ElementsAre(TokenId{0}, TokenId{0}));
}

TEST(GrammarTest, RejectsWhatAcceptsNothing) {
  EXPECT_THAT(Grammar::OfChoice({}).status().message(), HasSubstr("accepts no text"));
  auto expressions = std::make_unique<Expressions>();
  const ExprId call = expressions->Call(expressions->NewRule("missing"));
  EXPECT_THAT(Grammar::Create(std::move(expressions), call).status().message(),
              HasSubstr("rule missing is not defined"));
  auto small = std::make_unique<Expressions>(/*max_bytes=*/500);
  const ExprId text = small->Text(std::string(1000, 'x'));
  EXPECT_EQ(Grammar::Create(std::move(small), text).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(GrammarTest, EmptyTextIsAccepted) {
  const auto grammar = ChoiceOf({"", "a"});
  EXPECT_TRUE(grammar->Accepts(grammar->Begin()));
  EXPECT_EQ(grammar->min_length(), 0);
}

}  // namespace
}  // namespace shortlist
