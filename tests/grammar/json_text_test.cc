#include "grammar/json_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

class JsonTextTest : public testing::Test {
 protected:
  bool Accepts(ExprId state, std::string_view text) {
    EXPECT_EQ(expressions_.Check(state), "");
    for (const char byte : text) state = expressions_.After(state, static_cast<uint8_t>(byte));
    return expressions_.IsNullable(state);
  }

  Expressions expressions_;
  JsonText text_{expressions_, /*max_white_space=*/2};
};

TEST_F(JsonTextTest, PlainCharHasOneSpelling) {
  for (uint32_t c = 0; c < 0x80; ++c) {
    const std::string escaped = JsonText::Escape(std::string(1, static_cast<char>(c)));
    EXPECT_TRUE(Accepts(text_.PlainChar(), escaped)) << c;
    EXPECT_TRUE(Accepts(text_.AnyChar(), escaped)) << c;
    EXPECT_EQ(Accepts(text_.PlainChar(), std::string(1, static_cast<char>(c))),
              escaped.size() == 1);
    EXPECT_TRUE(
        Accepts(JsonText::Chars(expressions_, std::vector<CodePointRange>{{c, c}}), escaped));
  }
  for (const std::string_view other :
       {"\\/", "\\u0041", "\\u000A", "\\u000a", "\\u001F", "\\u0022"}) {
    EXPECT_FALSE(Accepts(text_.PlainChar(), other)) << other;
    EXPECT_TRUE(Accepts(text_.AnyChar(), other)) << other;
  }
}

TEST_F(JsonTextTest, SurrogatesComeInPairs) {
  EXPECT_TRUE(Accepts(text_.AnyChar(), "\\ud83d\\uDE00"));
  EXPECT_TRUE(Accepts(text_.AnyChar(), "\\uD7ff"));
  EXPECT_TRUE(Accepts(text_.AnyChar(), "\\ue000"));
  EXPECT_FALSE(Accepts(text_.AnyChar(), "\\ud83d"));
  EXPECT_FALSE(Accepts(text_.AnyChar(), "\\ude00\\ud83d"));
  EXPECT_FALSE(Accepts(text_.AnyChar(), "\\ud83da"));
}

TEST_F(JsonTextTest, NumbersAreBounded) {
  for (const std::string_view number : {"0", "-0", "10", "-1.50", "0.1e5", "1E-07", "12e+3"}) {
    EXPECT_TRUE(Accepts(text_.Number(), number)) << number;
  }
  for (const std::string_view number : {"", "-", "01", "1.", ".5", "1e", "1e100", "+1", "0x1"}) {
    EXPECT_FALSE(Accepts(text_.Number(), number)) << number;
  }
  EXPECT_TRUE(Accepts(text_.Integer(), "-10"));
  EXPECT_FALSE(Accepts(text_.Integer(), "-0"));
  EXPECT_FALSE(Accepts(text_.Integer(), "1.0"));
  EXPECT_TRUE(Accepts(text_.Integer(), std::string(32, '9')));
  EXPECT_FALSE(Accepts(text_.Integer(), std::string(33, '9')));
}

TEST_F(JsonTextTest, AnyOfIsExact) {
  const ExprId texts = text_.AnyOf({"b", "", "abc", "ab", "abd", "b"});
  for (const std::string_view text : {"", "ab", "abc", "abd", "b"}) {
    EXPECT_TRUE(Accepts(texts, text)) << text;
  }
  for (const std::string_view text : {"a", "abcd", "bb", "c"}) {
    EXPECT_FALSE(Accepts(texts, text)) << text;
  }
  EXPECT_EQ(text_.AnyOf({}), expressions_.Nothing());
}

TEST_F(JsonTextTest, LiteralAllowsBoundedWhiteSpace) {
  const auto value = nlohmann::ordered_json::parse(R"({"b": [1, 2.50, "x\"y"], "a": {}})");
  const ExprId literal = text_.Literal(value);
  EXPECT_TRUE(Accepts(literal, R"({"b":[1,2.5,"x\"y"],"a":{}})"));
  EXPECT_TRUE(Accepts(literal, R"({ "b" : [ 1, 2.5,  "x\"y" ], "a": { } })"));
  EXPECT_FALSE(Accepts(literal, R"({   "b":[1,2.5,"x\"y"],"a":{}})"));
  EXPECT_FALSE(Accepts(literal, R"({"a":{},"b":[1,2.5,"x\"y"]})"));
}

TEST_F(JsonTextTest, AnyValueNestsToBound) {
  const ExprId any = text_.AnyValue();
  for (const std::string_view text :
       {"null", "true", "[]", "{}", "[1,[2,\"a\"],{\"a\": [ ]}]", "\"\\u0041\"", "-1e5"}) {
    EXPECT_TRUE(Accepts(any, text)) << text;
  }
  for (const std::string_view text : {"", "nul", "[1,]", "{\"a\"}", "{1:2}", " 1", "1 ", "'a'"}) {
    EXPECT_FALSE(Accepts(any, text)) << text;
  }
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(Accepts(any, nested(JsonText::kMaxDepth - 1)));
  EXPECT_FALSE(Accepts(any, nested(JsonText::kMaxDepth)));
}

}  // namespace
}  // namespace shortlist
