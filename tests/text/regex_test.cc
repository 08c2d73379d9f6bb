#include "text/regex.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "text/pattern.h"

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
                  .ForEachMatch(text,
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

TEST(RegexTest, EscapesMeanWhatOnigurumaMeans) {
  EXPECT_THAT(FindAll(R"(\s)", "a\u0085b\u180ec\u3000"), ElementsAre("\u0085", "\u3000"));
  EXPECT_THAT(FindAll(R"(\S+)", "a\u180eb c"), ElementsAre("a\u180eb", "c"));
  EXPECT_THAT(FindAll(R"(\w+)", "a\u0301_b-\u00bd\u2167"), ElementsAre("a\u0301_b", "\u2167"));
  EXPECT_THAT(FindAll(R"(\W+)", "a-b"), ElementsAre("-"));
  EXPECT_THAT(FindAll(R"(\h+)", "xFa9 g"), ElementsAre("Fa9"));
  EXPECT_THAT(FindAll(R"(\d+)", "1\u06632\u00b2"), ElementsAre("1\u06632"));
  EXPECT_THAT(FindAll(R"([^\s\d]+)", "ab1 c"), ElementsAre("ab", "c"));
  EXPECT_THAT(FindAll(R"([\S]+)", "ab c"), ElementsAre("ab", "c"));
  EXPECT_THAT(FindAll(R"([]a]+)", "x]a"), ElementsAre("]a"));
  EXPECT_THAT(FindAll(R"([[:alpha:]_]+)", "ab_1"), ElementsAre("ab_"));
  EXPECT_THAT(FindAll("^b$", "a\nb\nc"), ElementsAre("b"));
}

TEST(RegexTest, EmptyMatchesMoveOn) {
  EXPECT_THAT(FindAll("x*", "axb"), ElementsAre("", "x", ""));
  EXPECT_THAT(FindAll("", "\u00e9"), ElementsAre("", ""));
}

TEST(RegexTest, RefusesWithReasons) {
  EXPECT_THAT(Error("a(b"), HasSubstr("missing closing parenthesis at byte 3"));
  EXPECT_THAT(Error("[a&&b]"), HasSubstr("set intersection"));
  EXPECT_THAT(Error("[a[b]]"), HasSubstr("class within a class"));
  EXPECT_THAT(Error("[[:alpha]"), HasSubstr("[: without :]"));
  EXPECT_THAT(Error(R"(a\Kb)"), HasSubstr("\\K"));
  EXPECT_THAT(Error(R"([\W])"), HasSubstr("\\W"));
  EXPECT_THAT(Error(R"(\C)"), HasSubstr("\\C"));
  EXPECT_THAT(Error(std::string(65537, 'a')), HasSubstr("more than 65536 bytes"));
  EXPECT_FALSE(Regex::Compile("\\").ok());
  EXPECT_FALSE(Regex::Compile("(((((a{1000}){1000}){1000}){1000}){1000})").ok());
}

TEST(RegexTest, CatastrophesEnd) {
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
