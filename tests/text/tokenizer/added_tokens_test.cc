#include "text/tokenizer/added_tokens.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace shortlist {
namespace {

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

std::vector<AddedToken> TokensOf(const std::vector<std::string>& contents) {
  std::vector<AddedToken> tokens;
  for (const std::string& content : contents) {
    tokens.push_back({.content = content, .id = static_cast<int32_t>(tokens.size())});
  }
  return tokens;
}

/// Parts as "text|" and "<id>".
std::string Show(const AddedTokenMatcher& matcher, const std::string& text) {
  std::vector<AddedTokenMatcher::Part> parts;
  EXPECT_TRUE(matcher.Split(text, /*parse_special=*/true, kNoLimit, parts));
  std::string shown;
  for (const auto& part : parts) {
    shown += part.token == nullptr ? std::string(part.text) + "|"
                                   : "<" + std::to_string(part.token->id) + ">";
  }
  return shown;
}

/// The same by trying every key at every position.
std::string ShowPlainly(const std::vector<std::string>& keys, const std::string& text) {
  std::string shown, between;
  for (size_t at = 0; at < text.size();) {
    size_t best = keys.size();
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].empty() || text.compare(at, keys[i].size(), keys[i]) != 0) continue;
      if (best == keys.size() || keys[i].size() > keys[best].size()) best = i;
    }
    if (best == keys.size()) {
      between += text[at++];
      continue;
    }
    if (!between.empty()) shown += between + "|";
    between.clear();
    shown += "<" + std::to_string(best) + ">";
    at += keys[best].size();
  }
  return between.empty() ? shown : shown + between + "|";
}

TEST(AddedTokenMatcherTest, SpecialTokenHasNoLiteralBytes) {
  std::vector<AddedToken> tokens = TokensOf({"<s>", "</s>"});
  tokens[0].special = true;
  const AddedTokenMatcher matcher(tokens, {"_<s>", "</s>"});
  const std::string text = "_<s>_<s></s>_<s>";
  std::vector<AddedTokenMatcher::Part> parts;
  const auto show = [&](const std::vector<ByteRange>& literal) {
    EXPECT_TRUE(matcher.Split(text, /*parse_special=*/true, kNoLimit, parts, literal));
    std::string shown;
    for (const auto& part : parts) shown += part.token == nullptr ? std::string(part.text) : "#";
    return shown;
  };
  EXPECT_EQ(show({}), "####");
  EXPECT_EQ(show({{4, 9}}), "#_<s>##");  // only special tokens
  EXPECT_EQ(show({{3, 4}, {12, 13}}),
            "_<s>###");  // characters added by the normaliser do not count
  EXPECT_EQ(show({{0, 1}, {6, 7}, {15, 16}}), "#_<s>#_<s>");
  EXPECT_EQ(show({{0, 16}}), "_<s>_<s>#_<s>");
}

TEST(AddedTokenMatcherTest, FindsLeftmostLongestKeys) {
  std::mt19937 random(/*seed=*/1);
  const auto random_text = [&](size_t max_size) {
    std::string text;
    for (size_t i = random() % (max_size + 1); i > 0; --i) text += "ab<"[random() % 3];
    return text;
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> keys;
    for (size_t i = random() % 8; i > 0; --i) keys.push_back(random_text(6));
    const AddedTokenMatcher matcher(TokensOf(keys), keys);
    for (int i = 0; i < 10; ++i) {
      const std::string text = random_text(60);
      ASSERT_EQ(Show(matcher, text), ShowPlainly(keys, text)) << testing::PrintToString(keys);
    }
  }
}

/// As the tokenizers library has it (0.23.3).
TEST(AddedTokenMatcherTest, StrippingSpaceTokenTakesWholeRun) {
  const auto show = [](bool lstrip, bool rstrip, const std::string& text) {
    std::vector<AddedToken> tokens = TokensOf({" "});
    tokens[0].lstrip = lstrip;
    tokens[0].rstrip = rstrip;
    return Show(AddedTokenMatcher(tokens, {" "}), text);
  };
  EXPECT_EQ(show(true, true, "a    b"), "a|<0>b|");
  EXPECT_EQ(show(true, true, "    "), "<0>");
  EXPECT_EQ(show(true, true, "a \n \n b c"), "a|<0>b|<0>c|");
  EXPECT_EQ(show(true, false, "a \n b"), "a|<0><0>b|");
  EXPECT_EQ(show(false, true, "a   b"), "a|<0><0><0>b|");
  EXPECT_EQ(show(false, false, "a  b"), "a|<0><0>b|");

  // White space that one token took is not taken again by the next (the library stops there).
  std::vector<AddedToken> tokens = TokensOf({"<x>", "\n"});
  tokens[0].rstrip = true;
  tokens[1].lstrip = true;
  EXPECT_EQ(Show(AddedTokenMatcher(tokens, {"<x>", "\n"}), "a<x> \n \n b\n"), "a|<0>b|<1>");
}

TEST(AddedTokenMatcherTest, LongRunsOfWhiteSpaceTakeLinearTime) {
  for (const bool lstrip : {false, true}) {
    for (const bool rstrip : {false, true}) {
      std::vector<AddedToken> tokens = TokensOf({" "});
      tokens[0].lstrip = lstrip;
      tokens[0].rstrip = rstrip;
      std::vector<AddedTokenMatcher::Part> parts;
      const size_t num_spaces = 1 << 20;
      EXPECT_TRUE(
          AddedTokenMatcher(tokens, {" "})
              .Split(std::string(num_spaces, ' ') + "x", /*parse_special=*/true, kNoLimit, parts));
      EXPECT_EQ(parts.size(), lstrip && rstrip ? 2u : num_spaces + 1);
    }
  }
  std::vector<AddedToken> tokens = TokensOf({"\t", " "});
  tokens[0].rstrip = true;
  std::string text;
  for (int i = 0; i < 1 << 19; ++i) text += "\t ";
  std::vector<AddedTokenMatcher::Part> parts;
  EXPECT_TRUE(
      AddedTokenMatcher(tokens, {"\t", " "}).Split(text, /*parse_special=*/true, kNoLimit, parts));
  EXPECT_EQ(parts.size(), text.size());
}

TEST(AddedTokenMatcherTest, LongTextsSplitLikeShortOnes) {
  const std::vector<std::string> keys = {"<x>", std::string(1000, 'a') + "b", "aa"};
  const AddedTokenMatcher matcher(TokensOf(keys), keys);
  std::mt19937 random(/*seed=*/2);
  std::string text;
  while (text.size() < 300'000) {
    text += random() % 2 ? keys[random() % 3] : std::string(random() % 1500, 'a');
  }
  EXPECT_EQ(Show(matcher, text), ShowPlainly(keys, text));
}

/// Tokens whose common beginning a text repeats: nothing is looked at once for each token or byte
/// of it.
TEST(AddedTokenMatcherTest, ManySharedPrefixesTakeLinearTime) {
  std::vector<std::string> keys;
  for (int i = 0; i < 50'000; ++i) keys.push_back(std::string(i % 50, 'p') + std::to_string(i));
  const AddedTokenMatcher matcher(TokensOf(keys), keys);
  std::vector<AddedTokenMatcher::Part> parts;
  const std::string text(1 << 20, 'p');
  EXPECT_TRUE(matcher.Split(text, /*parse_special=*/true, kNoLimit, parts));
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].token, nullptr);
}

}  // namespace
}  // namespace shortlist
