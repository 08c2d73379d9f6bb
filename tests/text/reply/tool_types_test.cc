#include "text/reply/tool_types.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using Json = nlohmann::ordered_json;

TypeBits TypesOf(std::string_view schema) {
  const Json json = Json::parse(schema);
  return TypesOfSchema(json, json);
}

std::string Written(TypeBits types, std::string_view text) {
  std::string json;
  ValueWriter writer(types);
  for (const char c : text) writer.Write({&c, 1}, json);
  writer.End(json);
  return json;
}

TEST(ToolTypesTest, SchemasAllowTypes) {
  EXPECT_EQ(TypesOf(R"({"type": "string"})"), kStringType);
  EXPECT_EQ(TypesOf(R"({"type": ["integer", "null"]})"), kIntegerType | kNullType);
  EXPECT_EQ(TypesOf(R"({"type": "number"})"), kNumberType);
  EXPECT_EQ(TypesOf(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})"),
            kStringType | kNullType);
  EXPECT_EQ(TypesOf(R"({"enum": ["a", 1, 1.5, true, null]})"),
            kStringType | kNumberType | kBooleanType | kNullType);
  EXPECT_EQ(TypesOf(R"({"const": []})"), kArrayType);
  EXPECT_EQ(TypesOf(R"({"const": {}})"), kObjectType);
  EXPECT_EQ(TypesOf(R"({"type": "str"})"), kOtherTypes);
  EXPECT_EQ(TypesOf(R"({"anyOf": [{"type": "string"}, {}]})"), 0u);
  EXPECT_EQ(TypesOf("{}"), 0u);
}

TEST(ValueWriterTest, NullableStringsKeepTheirType) {
  const TypeBits types = kStringType | kNullType;
  EXPECT_EQ(Written(types, "12345"), R"("12345")");
  EXPECT_EQ(Written(types, "true"), R"("true")");
  EXPECT_EQ(Written(types, "True"), R"("True")");
  EXPECT_EQ(Written(types, " [1]"), R"(" [1]")");
  EXPECT_EQ(Written(types, "{\"a\": 1}"), R"("{\"a\": 1}")");
  EXPECT_EQ(Written(types, "null"), "null");
  EXPECT_EQ(Written(types, "None"), "null");
}

TEST(ValueWriterTest, JsonOfAnAllowedTypeIsJson) {
  EXPECT_EQ(Written(kStringType | kIntegerType, "-3"), "-3");
  EXPECT_EQ(Written(kStringType | kIntegerType, "1.5"), R"("1.5")");
  EXPECT_EQ(Written(kStringType | kNumberType, "1.5"), "1.5");
  EXPECT_EQ(Written(kStringType | kArrayType, " [1] "), "[1]");
  EXPECT_EQ(Written(kStringType | kObjectType, "{}"), "{}");
  EXPECT_EQ(Written(kStringType | kBooleanType, "False"), "false");
  EXPECT_EQ(Written(/*types=*/0, "7"), "7");
}

TEST(ValueWriterTest, WithoutStringsAnyJsonIsJson) {
  EXPECT_EQ(Written(kIntegerType, "1.0"), "1.0");
  EXPECT_EQ(Written(kIntegerType, "[1]"), "[1]");
  EXPECT_EQ(Written(kIntegerType, "many"), R"("many")");
}

TEST(ToolTypesTest, NamesAndTypesOfParameters) {
  const ToolTypes types(Json::parse(R"([1, {"function": 2}, {"function": {"name": 3}},
    {"function": {"name": "look", "parameters": {"properties": {"at": {"type": "string"}}}}},
    {"function": {"name": "say"}}])"));
  EXPECT_TRUE(types.Has("look"));
  EXPECT_FALSE(types.Has("loo"));
  EXPECT_TRUE(types.HasPrefix("loo"));
  EXPECT_TRUE(types.HasPrefix("look"));
  EXPECT_TRUE(types.HasPrefix(""));
  EXPECT_FALSE(types.HasPrefix("looks"));
  EXPECT_FALSE(types.HasPrefix("z"));
  EXPECT_EQ(types.TypesOf("look", "at"), kStringType);
  EXPECT_EQ(types.TypesOf("look", "by"), 0u);
  EXPECT_EQ(types.TypesOf("none", "at"), 0u);
}

}  // namespace
}  // namespace shortlist
