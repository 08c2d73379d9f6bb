#include "grammar/ebnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/grammar.h"

namespace shortlist {
namespace {

using testing::HasSubstr;

bool Matches(const Grammar& grammar, std::string_view text) {
  return grammar.Accepts(grammar.Next(grammar.Begin(), text));
}

std::shared_ptr<const Grammar> Compile(std::string_view text) {
  auto grammar = Grammar::OfEbnf(text);
  EXPECT_TRUE(grammar.ok()) << grammar.status() << "\n" << text;
  return grammar.ok() ? *grammar : nullptr;
}

void ExpectTexts(std::string_view grammar_text, const std::vector<std::string>& accepted,
                 const std::vector<std::string>& rejected) {
  const auto grammar = Compile(grammar_text);
  if (grammar == nullptr) return;
  for (const std::string& text : accepted) {
    EXPECT_TRUE(Matches(*grammar, text)) << text.substr(0, 80);
  }
  for (const std::string& text : rejected) {
    EXPECT_FALSE(Matches(*grammar, text)) << text.substr(0, 80);
  }
}

std::string ErrorOf(std::string_view text) {
  const auto grammar = Grammar::OfEbnf(text);
  return grammar.ok() ? "" : std::string(grammar.status().message());
}

TEST(EbnfTest, ItemsAndOperators) {
  ExpectTexts("root ::= \"a\" 'b'", {"ab"}, {"", "a", "abb"});
  ExpectTexts("root ::= \"a\" | \"bc\" |", {"", "a", "bc"}, {"abc", "b"});
  ExpectTexts("root ::= \"ab\"* [c-d]+ .?", {"c", "ababd", "cd\xC3\xA9"}, {"ab", "aabc", "c\xC3"});
  ExpectTexts("root ::= (\"a\" (\"b\" | \"c\"))+", {"ab", "acab"}, {"", "a", "abb"});
  ExpectTexts("root ::= 'a'{2} 'b'{1,} 'c'{,2} 'd'{ 1 , 2 }", {"aabd", "aabbbccdd"},
              {"abd", "aad", "aabcccd", "aabddd"});
  ExpectTexts("root ::= 'a' ?+\n  'b'", {"b", "aab"}, {"a"});
}

TEST(EbnfTest, ClassesHoldCodePoints) {
  ExpectTexts("root ::= [a-c\xC3\xA4-\xC3\xBC]", {"b", "\xC3\xB6"}, {"d", "\xC3", "\xC3\xA3"});
  ExpectTexts("root ::= [^a\\n]", {"b", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"},
              {"a", "\n", "\xED\xA0\x80", "\xFF", "bb"});
  ExpectTexts("root ::= [-a]+ [b-] [\\]\\-\\^\\\\\"]", {"-a--]", "ab-", "ab\\", "ab\""}, {"cb]"});
  ExpectTexts("root ::= [^]", {"x", "\n"}, {""});
}

TEST(EbnfTest, EscapesAreCodePoints) {
  ExpectTexts(R"(root ::= "\n\t\"\\\x41\u00e9\u{1F600}\U0001F600\'\/")",
              {"\n\t\"\\A\xC3\xA9\xF0\x9F\x98\x80\xF0\x9F\x98\x80'/"}, {});
  ExpectTexts(R"(root ::= [\x41-\x43] [\u{E9}])", {"B\xC3\xA9"}, {"D\xC3\xA9"});
  ExpectTexts(R"(root ::= "\0\xe9")", {std::string("\0\xC3\xA9", 3)}, {"\xE9"});
}

TEST(EbnfTest, RulesSpanLines) {
  const char* text =
      "# a list\n"
      "root ::= item   # one\n"
      "   ( \",\"\n"
      "     item )*\n"
      "item ::=\n"
      "   [0-9]+ |\n"
      "   \"[\" root \"]\" # nested\n"
      "\n"
      "unused-rule_2.x ::= \"x\"";
  ExpectTexts(text, {"1", "12,[3,[4]],5"}, {"", "1,", "[1", "x"});
}

TEST(EbnfTest, JsonGrammarOfLlamaCpp) {
  const char* text = R"(
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
)";
  ExpectTexts(
      text,
      {"{}", "{\"a\": [1, -2.5e3, {\"b\": null}], \"c\\u00e9\": \"\xC3\xA9\"}", "{\n \"a\":1}"},
      {"[]", "{\"a\"}", "{\"a\": \"\n\"}", "{\"a\": 01}", "{   }"});
}

TEST(EbnfTest, ErrorsNamePlace) {
  EXPECT_EQ(ErrorOf("root ::= \"a\" )"),
            "grammar, line 1, column 14: expected a rule, or an item of one");
  EXPECT_THAT(ErrorOf("root ::= \"\xC3\xA9\"\n  ?? *% \"x\""),
              HasSubstr("line 2, column 7: expected a"));
  EXPECT_THAT(ErrorOf("root ::= \"abc\n"), HasSubstr("column 14: the text is not closed"));
  EXPECT_THAT(ErrorOf("root ::= [abc"), HasSubstr("the character class is not closed"));
  EXPECT_THAT(ErrorOf("root ::= [c-a]"), HasSubstr("column 13: the range ends before"));
  EXPECT_THAT(ErrorOf("root ::= []"), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf("root ::= (\"a\" \"b\""), HasSubstr("expected )"));
  EXPECT_THAT(ErrorOf("root ::= (=\"a\")"), HasSubstr("lookahead"));
  EXPECT_THAT(ErrorOf("root = \"a\""), HasSubstr("column 6: expected ::="));
  EXPECT_THAT(ErrorOf("root ::= a\na ::= b c\n"), HasSubstr("line 2, column 7: rule b is not"));
  EXPECT_THAT(ErrorOf("root ::= \"a\"\nroot ::= \"b\""), HasSubstr("line 2, column 1: rule root"));
  EXPECT_THAT(ErrorOf("a ::= \"a\""), HasSubstr("no rule root"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no rule root"));
  EXPECT_THAT(ErrorOf("root ::= \"\\q\""), HasSubstr("column 11: unknown escape"));
  EXPECT_THAT(ErrorOf("root ::= \"\\x4\""), HasSubstr("expected 2 hexadecimal"));
  EXPECT_THAT(ErrorOf("root ::= \"\\uD800\""), HasSubstr("no Unicode character"));
  EXPECT_THAT(ErrorOf("root ::= \"\\u{}\""), HasSubstr("hexadecimal"));
  EXPECT_THAT(ErrorOf("root ::= \"\\u{110000}\""), HasSubstr("no Unicode character"));
  EXPECT_THAT(ErrorOf("root ::= \"a\"{3,2}"), HasSubstr("at most 2 and at least 3"));
  EXPECT_THAT(ErrorOf("root ::= \"a\"{}"), HasSubstr("expected a number"));
  EXPECT_THAT(ErrorOf("root ::= \"a\"{,}"), HasSubstr("expected a number"));
  EXPECT_THAT(ErrorOf("root ::= \"a\"{1"), HasSubstr("expected }"));
  EXPECT_THAT(ErrorOf("root ::= \"\xFF\""), HasSubstr("byte 10 of the text is not UTF-8"));
  EXPECT_THAT(ErrorOf("root ::= root \"a\" | \"b\""), HasSubstr("rule root is left-recursive"));
  EXPECT_THAT(ErrorOf("root ::= \"a\" root"), HasSubstr("accepts no text"));
  EXPECT_THAT(ErrorOf(std::string("root ::= \"a\" \0", 14)), HasSubstr("expected a name"));
}

TEST(EbnfTest, BoundsAreKept) {
  const auto nested = [](int depth) {
    return "root ::= " + std::string(depth, '(') + "\"a\"" + std::string(depth, ')');
  };
  ExpectTexts(nested(64), {"a"}, {});
  EXPECT_THAT(ErrorOf(nested(65)), HasSubstr("more than 64 nested groups"));
  EXPECT_THAT(ErrorOf(nested(100'000)), HasSubstr("more than 64 nested groups"));
  ExpectTexts("root ::= \"a\"{20000}", {std::string(20'000, 'a')}, {std::string(19'999, 'a')});
  EXPECT_EQ(Compile("root ::= \"a\"{1000000}")->min_length(), 1'000'000);
  EXPECT_THAT(ErrorOf("root ::= \"a\"{1000001}"), HasSubstr("more than 1000000 repetitions"));
  EXPECT_THAT(ErrorOf("root ::= \"a\"{99999999999999999999999}"), HasSubstr("more than 1000000"));
  EXPECT_THAT(ErrorOf(std::string((1 << 20) + 1, ' ')), HasSubstr("1048577 bytes of text"));
  std::string many = "root ::= \"a\"\n";
  for (int i = 0; i < 100'000; ++i) many += "r" + std::to_string(i) + "::=\n";
  EXPECT_THAT(ErrorOf(many.substr(0, 1 << 20)),
              HasSubstr(many.size() > 1 << 20 ? "bytes" : "rules"));
}

TEST(EbnfTest, LongGrammarsCompileInLinearTime) {
  std::string text = "root ::= ";
  while (text.size() < 1'000'000) text += "\"a\" ";
  const auto grammar = Grammar::OfEbnf(text);
  EXPECT_TRUE(grammar.ok()) << grammar.status();
  text = "root ::= ";
  for (int i = 0; text.size() < 1'000'000; ++i) text += "'word" + std::to_string(i) + "' | ";
  EXPECT_TRUE(Matches(*Compile(text), "word4711"));
  text = "root ::= r0\n";
  for (int i = 0; text.size() < 1'000'000; ++i) {
    text += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + " | \"b\"\n";
    if (text.size() >= 1'000'000) text += "r" + std::to_string(i + 1) + " ::= \"c\"";
  }
  EXPECT_TRUE(Matches(*Compile(text), "aaab"));
  EXPECT_THAT(ErrorOf("root ::= \"a\"" + std::string(1'000'000, '?')), "");
}

}  // namespace
}  // namespace shortlist
