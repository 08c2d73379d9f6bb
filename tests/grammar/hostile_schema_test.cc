// Schemas that need much work or memory for their size. Each must end in a grammar or in an
// InvalidArgument.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/grammar/schema_grammar.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr char kStepsError[] = "steps to compile";

/// An object of `count` members "a0", "a1", ..., each of which is `value`.
ordered_json WideObject(int count, const ordered_json& value) {
  ordered_json::object_t object;
  for (int i = 0; i < count; ++i) object.emplace_back(absl::StrCat("a", i), value);
  return object;
}

ordered_json Repeated(size_t count, const ordered_json& value) {
  return ordered_json::array_t(count, value);
}

TEST(HostileSchemaTest, EndsInGrammarOrError) {
  std::string products = R"({"allOf": [)";
  for (int i = 0; i < 30; ++i) {
    products += absl::StrCat(i == 0 ? "" : ",", R"({"anyOf": [{"minLength": )", i,
                             R"(}, {"required": ["a)", i, "\"]}]}");
  }
  ExpectError(products + "]}", "cases");

  std::string nots = "{}";
  for (int i = 0; i < 60; ++i) nots = R"({"not": {"anyOf": [)" + nots + R"(, {"minItems": 3}]}})";
  EXPECT_FALSE(SchemaGrammar(nots).status().ok());

  std::string chain = R"({"$defs": {)";
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&chain, "\"d", i, R"(": {"$ref": "#/$defs/d)", i + 1, "\"},");
  }
  ExpectError(chain + R"("d5000": {}}, "$ref": "#/$defs/d0"})", "nest too deep");

  std::string one_of = R"({"oneOf": [)";
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&one_of, i == 0 ? "" : ",", R"({"items": {"minimum": )", i, "}}");
  }
  EXPECT_FALSE(SchemaGrammar(one_of + "]}").status().ok());

  const auto wide = [](int count) {
    return ordered_json{{"type", "object"}, {"properties", WideObject(count, {{"type", "null"}})}};
  };
  EXPECT_TRUE(SchemaGrammar::Of(wide(1000)).Accepts(R"({"a3": null, "a999": null})"));
  ordered_json counted = wide(300);
  counted["maxProperties"] = 200;
  EXPECT_TRUE(SchemaGrammar::Of(counted).Accepts(R"({"a3": null, "a299": null})"));
  counted = wide(1000);
  counted["maxProperties"] = 200;
  ExpectInvalid(SchemaGrammar::Of(counted).status(), kStepsError);

  std::string deep;
  for (int i = 0; i < 200; ++i) deep += R"({"items":)";
  ExpectError(deep + "{}" + std::string(200, '}'), "deeper");
  ExpectError(R"({"description": ")" + std::string(1 << 20, 'x') + "\"}", "bytes");
}

TEST(HostileSchemaTest, BoundsCasesThatWaitForOtherChoices) {
  const ordered_json lengths = Repeated(999, {{"minLength", 0}});
  const ordered_json many = {{"anyOf", Repeated(300'000, ordered_json::object())}};
  ExpectInvalid(
      SchemaGrammar::Of({{"anyOf", lengths}, {"allOf", ordered_json::array({many})}}).status(),
      "cases");
  const ordered_json needs = WideObject(2000, ordered_json::array({"b"}));
  ExpectInvalid(SchemaGrammar::Of({{"dependentRequired", needs}}).status(),
                "more than 1000 choices");
  const ordered_json single = {{"anyOf", Repeated(1, {{"title", "t"}})}};
  ExpectInvalid(SchemaGrammar::Of({{"anyOf", lengths}, {"allOf", Repeated(1500, single)}}).status(),
                "more than 1000 choices");
}

TEST(HostileSchemaTest, BoundsChoicesOfAllCases) {
  const ordered_json reference = {{"$ref", "#/$defs/d"}};
  const ordered_json wide = {{"anyOf", Repeated(1000, ordered_json::object())}};
  const ordered_json defs = {{"d", {{"allOf", Repeated(300, wide)}}}};
  ExpectInvalid(SchemaGrammar::Of({{"anyOf", Repeated(999, reference)}, {"$defs", defs}}).status(),
                kStepsError);
}

TEST(HostileSchemaTest, BoundsCopiesOfValues) {
  const ordered_json reference = {{"$ref", "#/$defs/c"}};
  const ordered_json constant = {{"const", Repeated(200'000, 1)}};
  ExpectInvalid(
      SchemaGrammar::Of({{"anyOf", Repeated(1000, reference)}, {"$defs", {{"c", constant}}}})
          .status(),
      kStepsError);
}

TEST(HostileSchemaTest, BoundsProofsOfOneOf) {
  ordered_json arrays, multiples, types;
  for (int i = 0; i < 40; ++i) {
    arrays.push_back({{"type", "array"}, {"uniqueItems", true}, {"minItems", i}});
    multiples.push_back({{"multipleOf", 300}, {"minimum", i}});
    types.push_back({{"$ref", "#/$defs/t"}});
  }
  const ordered_json large = Repeated(100'000, ordered_json::array());
  ExpectInvalid(SchemaGrammar::Of({{"$defs", {{"a", large}}}, {"oneOf", arrays}}).status(),
                "uniqueItems");
  ExpectInvalid(SchemaGrammar::Of({{"type", "integer"}, {"oneOf", multiples}}).status(),
                "has no negation");
  const ordered_json strings = {{"t", {{"type", Repeated(80'000, "string")}}}};
  ExpectInvalid(SchemaGrammar::Of({{"$defs", strings}, {"oneOf", types}}).status(),
                "more than 7 types");
}

TEST(HostileSchemaTest, BoundsMultiples) {
  ordered_json same, different;
  for (int i = 0; i < 300; ++i) {
    same.push_back({{"multipleOf", 300}, {"minimum", i}});
    different.push_back({{"multipleOf", 200 + i}});
  }
  EXPECT_TRUE(SchemaGrammar::Of({{"type", "integer"}, {"anyOf", same}}).Accepts("600"));
  ExpectInvalid(SchemaGrammar::Of({{"type", "integer"}, {"anyOf", different}}).status(),
                kStepsError);
}

TEST(HostileSchemaTest, BoundsConjunctions) {
  ExpectInvalid(SchemaGrammar::Of({{"allOf", Repeated(300'000, ordered_json::object())}}).status(),
                kStepsError);
  ordered_json required;
  for (int i = 0; i < 20'000; ++i) {
    required.push_back({{"required", ordered_json::array({absl::StrCat("a", i)})}});
  }
  ExpectInvalid(SchemaGrammar::Of({{"type", "object"}, {"allOf", required}}).status(), kStepsError);
  const ordered_json negated = {{"anyOf", Repeated(50'000, {{"minLength", 5}})}};
  ExpectInvalid(SchemaGrammar::Of({{"type", "string"}, {"not", negated}}).status(), kStepsError);
}

TEST(HostileSchemaTest, StepsAreLinearInProperties) {
  for (const int count : {3'000, 30'000}) {
    int64_t steps_left = 1'000'000;
    const ordered_json members = WideObject(count, ordered_json::object());
    SchemaGrammar grammar = SchemaGrammar::Of({{"type", "object"}, {"properties", members}},
                                              {.steps_left = &steps_left});
    EXPECT_TRUE(grammar.status().ok()) << grammar.status();
    EXPECT_GT(steps_left, 1'000'000 - 5 * count);
  }
}

TEST(HostileSchemaTest, BoundsPatternsOfNames) {
  const ordered_json patterns = WideObject(50'000, true);
  ExpectInvalid(SchemaGrammar::Of({{"type", "object"}, {"patternProperties", patterns}}).status(),
                "more than 6 patterns");
}

TEST(HostileSchemaTest, ErrorNamesTheStepsThatWereLeft) {
  int64_t steps_left = 3;
  const ordered_json schema = {{"allOf", Repeated(9, {{"type", "null"}})}};
  ExpectInvalid(SchemaGrammar::Of(schema, {.steps_left = &steps_left}).status(),
                "more than 3 steps");
}

}  // namespace
}  // namespace shortlist
