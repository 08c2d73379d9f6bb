#include "text/tokenizer/regex.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "text/tokenizer/pattern.h"

namespace shortlist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> FindAll(const std::string& expression, const std::string& text) {
  Pattern pattern;
  auto regex = Regex::Compile(expression);
  EXPECT_TRUE(regex.ok()) << regex.status();
  pattern.regex = *std::move(regex);
  std::vector<Match> matches;
  EXPECT_TRUE(pattern
                  .ForEachMatch(text, /*budget=*/nullptr,
                                [&](Match match) {
                                  matches.push_back(match);
                                  return absl::OkStatus();
                                })
                  .ok());
  std::vector<std::string> found;
  for (const Match& match : matches)
    found.push_back(text.substr(match.begin, match.end - match.begin));
  return found;
}

std::string Error(const std::string& expression) {
  return std::string(Regex::Compile(expression).status().message());
}

TEST(RegexTest, SearchStartAnchorMatchesOnlyThere) {
  EXPECT_TRUE(FindAll(R"(\Gb)", std::string(64, 'a') + "b").empty());
  EXPECT_THAT(FindAll(R"(\Gb)", "bba"), ElementsAre("b", "b"));
}

TEST(RegexTest, EscapesFollowOniguruma) {
  EXPECT_THAT(FindAll(R"(\s)", "a\u0085b\u180ec\u3000"), ElementsAre("\u0085", "\u3000"));
  EXPECT_THAT(FindAll(R"(\S+)", "a\u180eb c"), ElementsAre("a\u180eb", "c"));
  EXPECT_THAT(FindAll(R"(\w+)", "a\u0301_b-\u00bd\u2167"),
              ElementsAre("a\u0301_b", "\u00bd\u2167"));
  EXPECT_THAT(FindAll(R"(\W+)", "a-b\u00b2"), ElementsAre("-"));
  EXPECT_THAT(FindAll(R"([\w]+)", "a\u00b2b"), ElementsAre("a", "b"));
  EXPECT_THAT(FindAll(R"([^\w]+)", "a\u00b2b"), ElementsAre("\u00b2"));
  EXPECT_THAT(FindAll(R"(\h+)", "xFa9 g"), ElementsAre("Fa9"));
  EXPECT_THAT(FindAll(R"(\d+)", "1\u06632\u00b2"), ElementsAre("1\u06632"));
  EXPECT_THAT(FindAll(R"([^\s\d]+)", "ab1 c"), ElementsAre("ab", "c"));
  EXPECT_THAT(FindAll(R"([\S]+)", "ab c"), ElementsAre("ab", "c"));
  EXPECT_THAT(FindAll(R"([]a]+)", "x]a"), ElementsAre("]a"));
  EXPECT_THAT(FindAll(R"([[:alpha:]_]+)", "ab_1"), ElementsAre("ab_"));
  EXPECT_THAT(FindAll("^b$", "a\nb\nc"), ElementsAre("b"));
}

/// Expectations of the tokenizers library 0.23.3 (Oniguruma 6.9).
TEST(RegexTest, WordBoundariesFollowOniguruma) {
  EXPECT_THAT(FindAll(R"(\b.)", "a\u0301 \u00bd\u2177"), ElementsAre("a", " ", "\u00bd"));
  EXPECT_THAT(FindAll(R"(\B.)", "a\u0301b \u00bd\u2177,"), ElementsAre("\u0301", "b", "\u2177"));
  for (const char* const text : {"a\u00b2", "a\u0660", "a\u0301", "a_"}) {
    EXPECT_THAT(FindAll(R"(a\b)", text), ElementsAre()) << text;
  }
  for (const char* const text : {"a\u200d", "a\u2460", "a-", "a"}) {
    EXPECT_THAT(FindAll(R"(a\b)", text), ElementsAre("a")) << text;
  }
  EXPECT_THAT(FindAll(R"([\b])", "\b b"), ElementsAre("\b"));
}

/// Which characters of a text are in the bracket and which are not.
void ExpectMembers(const std::string& name, const std::string& members, const std::string& others) {
  SCOPED_TRACE(name);
  const std::string text =
      "aZ1_$. \t\n\u00a0\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2028\u2167\u24b6";
  std::string in, out;
  for (const std::string& part : FindAll("[[:" + name + ":]]+", text)) in += part;
  for (const std::string& part : FindAll("[^[:" + name + ":]]+", text)) out += part;
  EXPECT_EQ(in, members);
  EXPECT_EQ(out, others);
}

TEST(RegexTest, BracketsFollowOniguruma) {
  ExpectMembers("alpha", "aZ\u00aa\u2167\u24b6",
                "1_$. \t\n\u00a0\u00ad\u00b2\u00d7\u0301\u0660\u2028");
  ExpectMembers("alnum", "aZ1\u00aa\u0660\u2167\u24b6",
                "_$. \t\n\u00a0\u00ad\u00b2\u00d7\u0301\u2028");
  ExpectMembers("digit", "1\u0660",
                "aZ_$. \t\n\u00a0\u00aa\u00ad\u00b2\u00d7\u0301\u2028\u2167\u24b6");
  ExpectMembers("lower", "a\u00aa",
                "Z1_$. \t\n\u00a0\u00ad\u00b2\u00d7\u0301\u0660\u2028\u2167\u24b6");
  ExpectMembers("upper", "Z\u2167\u24b6",
                "a1_$. \t\n\u00a0\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2028");
  ExpectMembers("punct", "_$.\u00d7\u24b6",
                "aZ1 \t\n\u00a0\u00aa\u00ad\u00b2\u0301\u0660\u2028\u2167");
  ExpectMembers("space", " \t\n\u00a0\u2028",
                "aZ1_$.\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2167\u24b6");
  ExpectMembers("word", "aZ1_\u00aa\u0301\u0660\u2167\u24b6",
                "$. \t\n\u00a0\u00ad\u00b2\u00d7\u2028");
  ExpectMembers("xdigit", "a1",
                "Z_$. \t\n\u00a0\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2028\u2167\u24b6");
  ExpectMembers("cntrl", "\t\n",
                "aZ1_$. \u00a0\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2028\u2167\u24b6");
  ExpectMembers("graph", "aZ1_$.\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2167\u24b6",
                " \t\n\u00a0\u2028");
  ExpectMembers("print", "aZ1_$. \u00a0\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2167\u24b6",
                "\t\n\u2028");
  ExpectMembers("blank", " \t\u00a0",
                "aZ1_$.\n\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2028\u2167\u24b6");
  ExpectMembers("ascii", "aZ1_$. \t\n",
                "\u00a0\u00aa\u00ad\u00b2\u00d7\u0301\u0660\u2028\u2167\u24b6");
  EXPECT_THAT(FindAll("[[:alpha:][:digit:]-]+", "ab1-\u0301c"), ElementsAre("ab1-", "c"));
  EXPECT_THAT(FindAll("[[:^digit:]]+", "ab1\u00b2c"), ElementsAre("ab", "\u00b2c"));
  EXPECT_THAT(FindAll("[[:^punct:]]+", "ab$c"), ElementsAre("ab", "c"));
}

TEST(RegexTest, EmptyMatchesAdvance) {
  EXPECT_THAT(FindAll("x*", "axb"), ElementsAre("", "x", ""));
  EXPECT_THAT(FindAll("", "\u00e9"), ElementsAre("", ""));
}

TEST(RegexTest, RejectsWithReasons) {
  EXPECT_THAT(Error("a(b"), HasSubstr("missing closing parenthesis at byte 3"));
  EXPECT_THAT(Error("[a&&b]"), HasSubstr("set intersection"));
  EXPECT_THAT(Error("[a[b]]"), HasSubstr("class within a class"));
  EXPECT_THAT(Error("[[:alpha]"), HasSubstr("[: without :]"));
  EXPECT_THAT(Error("[[:letter:]]"), HasSubstr("[:letter:] is not supported"));
  EXPECT_THAT(Error("[[:^word:]]"), HasSubstr("[:^word:] is not supported"));
  EXPECT_THAT(Error("[[:^:]]"), HasSubstr("[:^:] is not supported"));
  EXPECT_THAT(Error("[[:]]"), HasSubstr("[: without :]"));
  EXPECT_THAT(Error(R"(a\Kb)"), HasSubstr("\\K"));
  EXPECT_THAT(Error(R"(a\X)"), HasSubstr("\\X is not supported at byte 1"));
  EXPECT_THAT(Error(R"([\W])"), HasSubstr("\\W"));
  EXPECT_THAT(Error(R"(\C)"), HasSubstr("\\C"));
  EXPECT_THAT(Error(std::string(65537, 'a')), HasSubstr("more than 65536 bytes"));
  EXPECT_FALSE(Regex::Compile("\\").ok());
  EXPECT_FALSE(Regex::Compile("(((((a{1000}){1000}){1000}){1000}){1000})").ok());
}

TEST(RegexTest, CatastrophicMatchesEnd) {
  const auto regex = Regex::Compile("(a+a+)+[bc]");
  ASSERT_TRUE(regex.ok());
  const auto match = regex->Find(std::string(60, 'a'), 0);
  EXPECT_EQ(match.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(match.status().message()), HasSubstr("(a+a+)+[bc]"));
}

TEST(RegexTest, LongTextsMatch) {
  EXPECT_THAT(FindAll(R"((?:a|b)+)", std::string(200'000, 'a')).size(), 1u);
  EXPECT_THAT(FindAll(R"(\s+(?!\S)|\s+)", std::string(200'000, ' ') + "x").size(), 2u);
}

}  // namespace
}  // namespace shortlist
