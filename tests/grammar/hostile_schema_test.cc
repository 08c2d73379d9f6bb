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

  ordered_json wide = {{"type", "object"}};
  for (int i = 0; i < 1000; ++i) wide["properties"][absl::StrCat("p", i)] = {{"type", "null"}};
  SchemaGrammar optional(wide.dump());
  EXPECT_TRUE(optional.Accepts(R"({"p3": null, "p999": null})"));
  wide["maxProperties"] = 500;
  SchemaGrammar counted(wide.dump());

  std::string deep;
  for (int i = 0; i < 200; ++i) deep += R"({"items":)";
  ExpectError(deep + "{}" + std::string(200, '}'), "deeper");
  ExpectError(R"({"description": ")" + std::string(1 << 20, 'x') + "\"}", "bytes");
}

}  // namespace
}  // namespace shortlist
