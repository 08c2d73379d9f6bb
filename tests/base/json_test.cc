#include "base/json.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const auto parsed = ParseJson(text, "request body");
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(parsed.status().message());
}

std::string Nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ParseJsonTest, NulByteDoesNotEndDocument) {
  const auto parsed = ParseJson(std::string("[1]\0garbage", 11), "test");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(std::string(parsed.status().message()).find("byte 3"), std::string::npos)
      << parsed.status();
}

TEST(JsonTest, ReadsADocument) {
  const auto parsed = ParseJson(R"({"a": [1, 2.5, null, true], "b": {"a": "x"}})", "test");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ((*parsed)["a"][0], 1);
  EXPECT_EQ((*parsed)["b"]["a"], "x");
}

TEST(JsonTest, KeepsKeyOrderOnRequest) {
  const std::string text =
      R"({"b":[1,-2,2.5,null,true,{"z":{},"a":[[],"x"]}],"a":{"y":1,"c":"é\n"},"0":false})";
  EXPECT_EQ(ParseOrderedJson(text).dump(), text);
  EXPECT_EQ(ParseOrderedJson(" 18446744073709551615").dump(), "18446744073709551615");
  std::string many = "{";
  for (int i = 0; i < 300'000; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  EXPECT_EQ(ParseOrderedJson(many + "}").size(), 300'000u);  // at once
}

TEST(JsonTest, DepthIsBounded) {
  EXPECT_TRUE(ParseJson(Nested(kMaxJsonDepth), "test").ok());
  EXPECT_THAT(ErrorOf(Nested(kMaxJsonDepth + 1)), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(ErrorOf(std::string(1000000, '[')), HasSubstr("nested deeper"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THAT(ErrorOf(objects), HasSubstr("nested deeper"));
}

TEST(JsonTest, RepeatedKeysAreRejectedByName) {
  EXPECT_THAT(ErrorOf(R"({"x": 1, "top": 2, "top": 3})"), HasSubstr("\"top\" appears twice"));
  EXPECT_THAT(ErrorOf(R"([{"a": {"b": 1, "b": 1}}])"), HasSubstr("\"b\" appears twice"));
  EXPECT_TRUE(ParseJson(R"([{"a": 1}, {"a": 2}, {"b": {"a": 1}, "a": 3}])", "test").ok());
}

TEST(JsonTest, SyntaxErrorsNameOriginAndByte) {
  const std::string error = ErrorOf(R"({"a": 1, })");
  EXPECT_THAT(error, HasSubstr("request body"));
  EXPECT_THAT(error, HasSubstr("byte 10"));
}

TEST(JsonTest, SyntaxErrorsNamePositionAndExpectedToken) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"a": })", "byte 7 (line 1, column 7): unexpected '}'; expected a value"},
      {"{\n  \"a\": 1,\n}", "byte 13 (line 3, column 1): unexpected '}'; expected a string"},
      {R"({"a" 1})", "byte 6 (line 1, column 6): unexpected number literal; expected ':'"},
      {"[1 2]", "byte 4 (line 1, column 4): unexpected number literal; expected ']'"},
      {"", "byte 1 (line 1, column 1): unexpected end of input; expected a value"},
      {"[tru]", "byte 5 (line 1, column 5): invalid literal"},
      {"[1e400]", "number overflow parsing '1e400'"},
      {"[\"a - b: c\" d]", "invalid literal"}};
  for (const auto& [text, expected] : cases) {
    const std::string error = ErrorOf(text);
    EXPECT_THAT(error, HasSubstr(expected)) << text;
    EXPECT_THAT(error, testing::Not(HasSubstr("exception"))) << text;
    EXPECT_THAT(error, testing::Not(HasSubstr("syntax error"))) << text;
  }
}

TEST(JsonTest, BrokenDocumentsAreRejected) {
  for (const char* text : {"", "   ", "{", "[1,", "nul", "{\"a\" 1}", "[1] [2]", "{\"a\": NaN}",
                           "\"\xff\"", "\"\xc3\"", "[1e]", "\"unterminated"}) {
    ErrorOf(text);
  }
}

TEST(JsonTest, FilesReportTheirPath) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("json_test." + std::to_string(getpid()))).string();
  const auto missing = ReadJsonFile(path, /*max_bytes=*/100);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  std::ofstream(path) << "{\"a\": }";
  const auto broken = ReadJsonFile(path, /*max_bytes=*/100);
  EXPECT_EQ(broken.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(broken.status().message()), HasSubstr(path));
  EXPECT_EQ(ReadJsonFile(path, /*max_bytes=*/3).status().code(),
            absl::StatusCode::kInvalidArgument);
  std::ofstream(path) << "{\"a\": 7}";
  const auto good = ReadJsonFile(path, /*max_bytes=*/100);
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ((*good)["a"], 7);
  std::filesystem::remove(path);
}

TEST(JsonTest, NumberOfValuesIsBounded) {
  EXPECT_TRUE(ParseJson("[1, 2, 3]", "test", /*max_values=*/4).ok());
  const auto list = ParseJson("[1, 2, 3, 4]", "test", /*max_values=*/4);
  EXPECT_THAT(std::string(list.status().message()), testing::HasSubstr("more than 4 values"));
  EXPECT_TRUE(ParseJson(R"({"a": 1, "b": []})", "test", /*max_values=*/17).ok());
  EXPECT_FALSE(ParseJson(R"({"a": 1, "b": []})", "test", /*max_values=*/16).ok());
}

}  // namespace
}  // namespace shortlist
