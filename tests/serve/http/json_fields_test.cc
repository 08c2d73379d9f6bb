#include "serve/http/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "serve/http/api_error.h"

namespace shortlist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

nlohmann::json Body(const std::string& text) {
  auto body = ParseRequestBody(text);
  EXPECT_TRUE(body.ok()) << body.status();
  return body.ok() ? *body : nlohmann::json::object();
}

TEST(JsonFieldsTest, ReadsFieldsAndAppliesDefaults) {
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

TEST(JsonFieldsTest, FirstErrorNamesFieldValueAndBound) {
  const nlohmann::json body = Body(R"({"n": 9, "p": "high"})");
  JsonFields fields(body, "sampling_params.");
  EXPECT_EQ(fields.Integer("n", 1, 1, 5), 1);
  EXPECT_EQ(fields.Number("p", 0.25, {0.0, 1.0}), 0.25);
  EXPECT_EQ(fields.status().message(), "sampling_params.n: 9 is not an integer in [1, 5]");
  EXPECT_EQ(ParamOf(fields.status()), "sampling_params.n");
  EXPECT_EQ(HttpStatusOf(fields.status()), 400);
}

TEST(JsonFieldsTest, RejectsNonNumbers) {
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

TEST(JsonFieldsTest, RejectsValuesOutOfBounds) {
  const nlohmann::json body = Body(R"({"p": 0})");
  JsonFields in(body), out(body);
  in.Number("p", 1.0, {0.0, 1.0});
  out.Number("p", 1.0, {0.0, 1.0, /*above_low=*/true});
  EXPECT_TRUE(in.status().ok());
  EXPECT_THAT(std::string(out.status().message()), HasSubstr("(0, 1]"));
}

TEST(JsonFieldsTest, RejectsBodiesOtherThanObject) {
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

TEST(JsonFieldsTest, RejectsUnsupportedFieldsThatAreSet) {
  const nlohmann::json body = Body(R"({"a": null, "b": false, "c": [], "d": 0, "e": "", "f": 1})");
  JsonFields fields(body);
  fields.Refuse({"a", "b", "c", "d", "e"}, "not supported");
  EXPECT_TRUE(fields.status().ok());
  fields.Refuse({"f"}, "not supported");
  EXPECT_EQ(fields.status().message(), "f: not supported");
}

TEST(JsonFieldsTest, UnreadFieldsAreRejected) {
  const nlohmann::json body = Body(R"({"n": 1, "user": "me", "x": null, "zeta": 0})");
  JsonFields fields(body, "sampling_params.");
  fields.Integer("n", 1, 1, 5);
  fields.Accept({"user"});
  fields.RefuseUnknown();
  EXPECT_EQ(fields.status().message(), "sampling_params.zeta: there is no such field");
  EXPECT_EQ(ParamOf(fields.status()), "sampling_params.zeta");
  EXPECT_EQ(HttpStatusOf(fields.status()), 400);
}

TEST(JsonFieldsTest, MisspeltNameGetsSuggestion) {
  const std::pair<const char*, const char*> cases[] = {
      {"max_token", "max_tokens"},    {"maxTokens", "max_tokens"},   {"temprature", "temperature"},
      {"Temperature", "temperature"}, {"tempreture", "temperature"}, {"topp", "top_p"}};
  for (const auto& [wrong, right] : cases) {
    const nlohmann::json body = {{wrong, 1}};
    JsonFields fields(body);
    fields.Number("temperature", 1.0, {0.0, 2.0});
    fields.Number("top_p", 1.0, {0.0, 1.0});
    fields.OptionalInteger("max_tokens", 1, 10);
    fields.RefuseUnknown();
    EXPECT_THAT(std::string(fields.status().message()),
                HasSubstr(std::string("did you mean \"") + right + "\"?"))
        << wrong;
  }
  for (const std::string& name : {std::string(), std::string("q"), std::string("completely_else"),
                                  std::string(100'000, 'x')}) {
    const nlohmann::json body = {{name, 1}};
    JsonFields fields(body);
    fields.Number("temperature", 1.0, {0.0, 2.0});
    fields.Integer("n", 1, 1, 5);
    fields.RefuseUnknown();
    const std::string message(fields.status().message());
    EXPECT_THAT(message, HasSubstr("there is no such field"));
    EXPECT_THAT(message, testing::Not(HasSubstr("did you mean"))) << name.substr(0, 40);
    EXPECT_LT(message.size(), 300u);
  }
}

TEST(JsonFieldsTest, DefaultValueIsAccepted) {
  const nlohmann::json body = Body(R"({"a": ["text"], "b": ["text", "audio"], "c": null})");
  JsonFields fields(body);
  const nlohmann::json text = nlohmann::json::array({"text"});
  fields.RefuseUnless("a", text, "only text");
  fields.RefuseUnless("c", text, "only text");
  fields.RefuseUnknown();
  EXPECT_EQ(ParamOf(fields.status()), "b");
  JsonFields other(body);
  other.RefuseUnless("b", text, "only text");
  EXPECT_EQ(other.status().message(), "b: only text");
}

}  // namespace
}  // namespace shortlist
