#include "serve/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "serve/api_error.h"

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

nlohmann::json Body(const std::string& text) {
  auto body = ParseRequestBody(text);
  EXPECT_TRUE(body.ok()) << body.status();
  return body.ok() ? *body : nlohmann::json::object();
}

TEST(JsonFieldsTest, ReadsWhatIsThereAndFallsBackOnWhatIsNot) {
  const nlohmann::json body =
      Body(R"({"n": 3, "whole": 16.0, "p": 0.5, "b": true, "s": "x", "l": ["a", "b"], "z": null})");
  JsonFields fields(body);
  EXPECT_EQ(fields.Integer("n", 1, 1, 5), 3);
  EXPECT_EQ(fields.Integer("whole", 1, 1, 20), 16);
  EXPECT_EQ(fields.Integer("z", 7, 1, 5), 7);
  EXPECT_EQ(fields.Number("p", 1.0, {0.0, 1.0}), 0.5);
  EXPECT_EQ(fields.Number("n", 1.0, {0.0, 5.0}), 3.0);
  EXPECT_TRUE(fields.Bool("b", false));
  EXPECT_EQ(fields.String("s", "y", 10), "x");
  EXPECT_EQ(fields.String("none", "y", 10), "y");
  EXPECT_THAT(fields.Strings("s", 3, 10), ElementsAre("x"));
  EXPECT_THAT(fields.Strings("l", 3, 10), ElementsAre("a", "b"));
  EXPECT_TRUE(fields.status().ok()) << fields.status();
}

TEST(JsonFieldsTest, TheFirstErrorNamesFieldValueAndBoundAndStays) {
  const nlohmann::json body = Body(R"({"n": 9, "p": "high"})");
  JsonFields fields(body, "sampling_params.");
  EXPECT_EQ(fields.Integer("n", 1, 1, 5), 1);
  EXPECT_EQ(fields.Number("p", 0.25, {0.0, 1.0}), 0.25);
  EXPECT_EQ(fields.status().message(), "sampling_params.n: 9 is no integer in [1, 5]");
  EXPECT_EQ(ParamOf(fields.status()), "sampling_params.n");
  EXPECT_EQ(HttpStatusOf(fields.status()), 400);
}

TEST(JsonFieldsTest, RefusesNumbersThatAreNone) {
  for (const char* value : {"1e400", "-1e400", "NaN", "Infinity", "0x10", "01", "+1", ".5"}) {
    EXPECT_FALSE(ParseRequestBody(std::string(R"({"n": )") + value + "}").ok()) << value;
  }
  for (const char* value : {"1.5", "true", "\"1\"", "[1]", "{}", "1e300", "18446744073709551615",
                            "-9223372036854775808", "0", "6"}) {
    const nlohmann::json body = Body(std::string(R"({"n": )") + value + "}");
    JsonFields fields(body);
    fields.Integer("n", 1, 1, 5);
    EXPECT_THAT(std::string(fields.status().message()), HasSubstr("[1, 5]")) << value;
  }
}

TEST(JsonFieldsTest, BoundsThatAreOut) {
  const nlohmann::json body = Body(R"({"p": 0})");
  JsonFields in(body), out(body);
  in.Number("p", 1.0, {0.0, 1.0});
  out.Number("p", 1.0, {0.0, 1.0, /*above_low=*/true});
  EXPECT_TRUE(in.status().ok());
  EXPECT_THAT(std::string(out.status().message()), HasSubstr("(0, 1]"));
}

TEST(JsonFieldsTest, RefusesBodiesThatAreNoPlainObject) {
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  for (const std::string& body :
       {std::string(), std::string("[]"), std::string("1"), std::string("{"),
        std::string("{\"a\":1,\"a\":2}"), "{\"a\":" + deep + "}", std::string("{\"a\":\"\xff\"}"),
        std::string("{\"a\":\"\\ud800\"}"), std::string("{}{}"), std::string("{}\0{}", 5)}) {
    const auto parsed = ParseRequestBody(body);
    EXPECT_EQ(HttpStatusOf(parsed.status()), 400) << body;
    EXPECT_FALSE(nlohmann::json::parse(OpenAiErrorBody(parsed.status())).empty()) << body;
  }
}

TEST(JsonFieldsTest, RefusesByNameWhatAsksForSomething) {
  const nlohmann::json body = Body(R"({"a": null, "b": false, "c": [], "d": 0, "e": "", "f": 1})");
  JsonFields fields(body);
  fields.Refuse({"a", "b", "c", "d", "e"}, "not supported");
  EXPECT_TRUE(fields.status().ok());
  fields.Refuse({"f"}, "not supported");
  EXPECT_EQ(fields.status().message(), "f: not supported");
}

}  // namespace
}  // namespace shortlist
