#include "grammar/regex.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/char_class.h"
#include "grammar/json_text.h"

namespace shortlist {
namespace {

bool Accepts(Expressions& expressions, ExprId state, std::string_view text) {
  for (const char byte : text) state = expressions.After(state, static_cast<uint8_t>(byte));
  return expressions.IsNullable(state);
}

bool Matches(std::string_view pattern, std::string_view text) {
  Expressions expressions;
  const auto regex = CompileRegex(pattern, expressions);
  EXPECT_TRUE(regex.ok()) << regex.status();
  return regex.ok() && Accepts(expressions, *regex, text);
}

bool Finds(std::string_view pattern, std::string_view text) {
  Expressions expressions;
  const auto regex = CompileJsonPattern(pattern, expressions);
  EXPECT_TRUE(regex.ok()) << regex.status();
  return regex.ok() && Accepts(expressions, *regex, JsonText::Escape(text));
}

std::string ErrorOf(std::string_view pattern) {
  Expressions expressions;
  const auto regex = CompileRegex(pattern, expressions);
  EXPECT_EQ(regex.status().code(), absl::StatusCode::kInvalidArgument) << pattern;
  return std::string(regex.status().message());
}

TEST(CharClassTest, EveryCodePointHasItsOneSequence) {
  Expressions expressions;
  const ExprId any = CodePoints(expressions, std::vector<CodePointRange>{{0, kMaxCodePoint}});
  for (const std::string_view text :
       {"a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(Accepts(expressions, any, text)) << text;
  }
  for (const std::string_view text :
       {"", "\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "ab"}) {
    EXPECT_FALSE(Accepts(expressions, any, text)) << text;
  }
}

TEST(CharClassTest, RangesAreExact) {
  Expressions expressions;
  for (const CodePointRange range : {CodePointRange{0x41, 0x43},
                                     {0x7E, 0x82},
                                     {0x7FE, 0x802},
                                     {0xFFFE, 0x10001},
                                     {0x1F5FF, 0x1F650},
                                     {0xD7FE, 0xE001}}) {
    const ExprId chars = CodePoints(expressions, std::vector{range});
    for (uint32_t c = range.first - 2; c <= range.last + 2; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      const ExprId one = CodePoints(expressions, std::vector<CodePointRange>{{c, c}});
      EXPECT_EQ(expressions.IsProductive(expressions.Both(chars, one)),
                range.first <= c && c <= range.last)
          << c;
    }
  }
}

TEST(CharClassTest, ComplementOfComplementIsSame) {
  const CharClass chars =
      MakeCharClass(std::vector<CodePointRange>{{5, 3}, {10, 20}, {21, 25}, {0, 0}});
  EXPECT_EQ(chars, (CharClass{{0, 0}, {10, 25}}));
  EXPECT_EQ(Complement(Complement(chars)), chars);
  EXPECT_EQ(Complement({}), (CharClass{{0, kMaxCodePoint}}));
}

TEST(RegexTest, MatchesWholeText) {
  EXPECT_TRUE(Matches("a|bc", "bc"));
  EXPECT_FALSE(Matches("a|bc", "abc"));
  EXPECT_TRUE(Matches("^(?:a|(?<n>b)|(?P<m>c))+?$", "abc"));
  EXPECT_TRUE(Matches("(|a)b{2,}", "abbb"));
  EXPECT_FALSE(Matches("b{2}", "bbb"));
  EXPECT_TRUE(Matches("[^a-c]{3}", "d\xC3\xA9-"));
  EXPECT_TRUE(Matches("[\\w-.]+", "a-._9"));
  EXPECT_TRUE(Matches("\\x41\\u00e9\\u{1F600}\\cJ\\0\\/",
                      std::string("A\xC3\xA9\xF0\x9F\x98\x80\n\0/", 10)));
  EXPECT_TRUE(Matches("\\ud83d\\ude00", "\xF0\x9F\x98\x80"));
  EXPECT_FALSE(Matches(".", "\n"));
  EXPECT_TRUE(Matches("\\d\\D\\w\\W\\s\\S", "1a_- x"));
  EXPECT_TRUE(Matches("", ""));
}

TEST(RegexTest, CountsAreNotCopied) {
  Expressions expressions(int64_t{1} << 20);
  const auto regex = CompileRegex("(([a-z]{1,1000}){1,1000}){1,1000000}", expressions);
  ASSERT_TRUE(regex.ok()) << regex.status();
  EXPECT_FALSE(expressions.is_full());
  EXPECT_TRUE(Accepts(expressions, *regex, "abc"));
}

TEST(JsonPatternTest, AnchorsAreOptional) {
  EXPECT_TRUE(Finds("b", "abc"));
  EXPECT_FALSE(Finds("^b", "abc"));
  EXPECT_TRUE(Finds("c$", "abc"));
  EXPECT_TRUE(Finds("^a|b$", "ax"));
  EXPECT_TRUE(Finds("^a|b$", "xb"));
  EXPECT_FALSE(Finds("^a|b$", "xbx"));
  EXPECT_TRUE(Finds("(^|,)a(,|$)", "b,a"));
  EXPECT_FALSE(Finds("(^|,)a(,|$)", "ba"));
  EXPECT_TRUE(Finds("^(?:(^a)?b)$", "b"));
  EXPECT_TRUE(Finds("", "anything"));
}

TEST(JsonPatternTest, CharactersAreEscaped) {
  EXPECT_TRUE(Finds("^[\"\\\\]+$", "\"\\"));
  EXPECT_TRUE(Finds("^\\n\\u0001$", "\n\x01"));
  Expressions expressions;
  const auto regex = CompileJsonPattern("^.$", expressions);
  ASSERT_TRUE(regex.ok());
  EXPECT_TRUE(Accepts(expressions, *regex, "\\\""));
  EXPECT_FALSE(Accepts(expressions, *regex, "\""));
  EXPECT_FALSE(Accepts(expressions, *regex, "\\u0061"));
}

TEST(RegexTest, ErrorsNamePositionAndReason) {
  EXPECT_EQ(ErrorOf("a(?=b)"),
            "regular expression, position 1: lookahead and lookbehind are not supported");
  EXPECT_EQ(ErrorOf("(a)\\1"), "regular expression, position 3: references are not supported");
  EXPECT_EQ(ErrorOf("a\\b"), "regular expression, position 1: word boundaries are not supported");
  EXPECT_EQ(
      ErrorOf("(?i)a"),
      "regular expression, position 0: flags, comments and this kind of group are not supported");
  for (const std::string_view pattern :
       {"(",       ")",      "[",      "[]",   "[b-a]",  "a{2,1}", "a{1000001}",  "a{",
        "*",       "a**",    "a++",    "\\",   "\\p{L}", "\\u12",  "\\u{110000}", "\\ud800",
        "a^b",     "a$b",    "(^a)*",  "(?<a", "\xFF",   "\\a",    "\\07",        "(?<=a)b",
        "(?<!a)b", "(?!a)b", "\\k<n>", "\\c1", "^*"}) {
    EXPECT_NE(ErrorOf(pattern).find("position"), std::string::npos) << pattern;
  }
  ErrorOf(std::string(65537, 'a'));
  std::string nested;
  for (int i = 0; i < 65; ++i) nested += '(';
  ErrorOf(nested + "a" + std::string(65, ')'));
}

/// A random pattern of a few characters; anchors stand at the ends of alternatives.
std::string RandomPattern(std::mt19937& random, int depth) {
  std::string pattern;
  const int num_parts = static_cast<int>(random() % 3) + 1;
  for (int i = 0; i < num_parts; ++i) {
    static constexpr const char* kAtoms[] = {"a", "b", "\"", "[ab]", "[^a]", ".", "\\w", "c"};
    if (depth > 0 && random() % 3 == 0) {
      pattern +=
          "(?:" + RandomPattern(random, depth - 1) + "|" + RandomPattern(random, depth - 1) + ")";
    } else {
      pattern += kAtoms[random() % 8];
    }
    static constexpr const char* kQuantifiers[] = {"*", "+", "?", "{2}", "{1,2}", "{2,}", "*?"};
    if (random() % 3 == 0) pattern += kQuantifiers[random() % 7];
  }
  return pattern;
}

TEST(RegexTest, AgreesWithStandardLibrary) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string pattern = RandomPattern(random, 2) + "|" + RandomPattern(random, 1);
    if (random() % 3 == 0) pattern = "^" + pattern;
    if (random() % 3 == 0) pattern += "$";
    const std::regex oracle(pattern);
    Expressions expressions;
    const auto whole = CompileRegex(pattern, expressions);
    const auto search = CompileJsonPattern(pattern, expressions);
    ASSERT_TRUE(whole.ok() && search.ok()) << whole.status() << search.status();
    for (int k = 0; k < 60; ++k) {
      std::string text;
      for (size_t size = random() % 6; text.size() < size;) text += "ab\"c-"[random() % 5];
      EXPECT_EQ(Accepts(expressions, *whole, text), std::regex_match(text, oracle))
          << pattern << " " << text;
      EXPECT_EQ(Accepts(expressions, *search, JsonText::Escape(text)),
                std::regex_search(text, oracle))
          << pattern << " " << text;
    }
  }
}

}  // namespace
}  // namespace shortlist
