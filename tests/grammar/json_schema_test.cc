#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/grammar/schema_grammar.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

TEST(JsonSchemaTest, Types) {
  ExpectExactly(R"({"type": ["integer", "null"]})", {"0", "-12", "null"}, {"1.0", "\"\"", "true"});
  ExpectExactly(R"({"type": "number"})", {"0", "1.5e3", "-0.1"}, {"null", "01"});
  ExpectExactly(R"({"type": "boolean", "title": "x", "x-y": 1})", {"true", "false"}, {"0"});
  ExpectExactly("true", {"1", "[{}]", "{\"a\":[]}"}, {"", "a"});
  ExpectExactly("{}", {"1", "[{}]", "{\"a\":[]}"}, {"", "a"});
  ExpectError("false", "no value");
  ExpectError(R"({"type": "text"})", "no type");
  ExpectError(R"({"type": ["null", 3]})", "no type");
  ExpectError("[1]", "neither an object nor a boolean");
}

TEST(JsonSchemaTest, NullableAddsNullToType) {
  ExpectExactly(R"({"type": "integer", "nullable": true})", {"0", "null"}, {"1.0", "true"});
  ExpectExactly(R"({"type": "integer", "nullable": false})", {"0"}, {"null"});
  ExpectExactly(R"({"type": "string", "nullable": true, "enum": ["a", null]})", {"\"a\"", "null"},
                {"\"b\""});
  // As in OpenAPI: without a type it has no effect, and it does not extend an enum.
  ExpectExactly(R"({"nullable": false})", {"null", "1"}, {});
  ExpectExactly(R"({"type": "integer", "nullable": null})", {"0"}, {"null"});
  ExpectError(R"({"type": "null", "nullable": true, "enum": ["a"]})", "no value");
  ExpectExactly(R"({"type": ["number", "null"], "not": {"type": "integer", "nullable": true}})",
                {"1.5"}, {"1", "null"});
  ExpectError(R"({"type": "string", "nullable": "yes"})", "\"nullable\": not true or false");
}

TEST(JsonSchemaTest, WhiteSpaceIsBounded) {
  const std::string_view schema = R"({"properties": {"a": {"type": "array"}}, "type": "object"})";
  ExpectExactly(schema, {"{\n  \"a\": [\n    1,\n    2\n  ]\n}", "{}"}, {" {}", "{} "});
  SchemaGrammar compact(schema, {.compact = true});
  compact.ExpectAll({R"({"a":[1,2]})"}, true);
  compact.ExpectAll({R"({"a": [1,2]})", R"({ "a":[1,2]})"}, false);
  SchemaGrammar spaced(R"({"type": "array"})");
  const std::string spaces(32, ' ');
  spaced.ExpectAll({"[1" + spaces + "]"}, true);
  spaced.ExpectAll({"[1 " + spaces + "]"}, false);
}

TEST(JsonSchemaTest, EnumIsFilteredByOtherKeywords) {
  ExpectExactly(R"({"enum": [1, 2, "a", null, {"b": 1, "a": [2]}]})",
                {"1", "2", "\"a\"", "null", R"({"b": 1, "a": [2]})"},
                {"3", "\"\\u0061\"", R"({"a": [2], "b": 1})"});
  ExpectExactly(R"({"enum": [1, 2, 3, "a"], "minimum": 2, "type": "integer"})", {"2", "3"},
                {"1", "\"a\""});
  ExpectExactly(R"({"allOf": [{"enum": [[1], [1, 1], [2]]}, {"uniqueItems": true},
                              {"not": {"contains": {"const": 2}}}]})",
                {"[1]"}, {"[1,1]", "[2]"});
  ExpectExactly(R"({"const": 1.0})", {"1.0"}, {"2"});
  ExpectExactly(R"({"enum": [{"b": [1.0], "a": 2}, [1]], "const": {"a": 2.0, "b": [1]}})",
                {R"({"b": [1.0], "a": 2})"}, {"[1]"});
  ExpectExactly(R"({"enum": ["aa", "b", "\u00e9"], "minLength": 1, "maxLength": 1,
                    "pattern": "^[^b]"})",
                {"\"\xC3\xA9\""}, {"\"aa\"", "\"b\""});
  ExpectError(R"({"enum": [1, 2], "type": "string"})", "no value");
  ExpectError(R"({"enum": []})", "no value");
}

TEST(JsonSchemaTest, EnumComparesNumbersExactly) {
  ExpectError(R"({"enum": [-1], "const": 18446744073709551615})", "no value");
  ExpectError(R"({"enum": [[-1]], "const": [18446744073709551615]})", "no value");
  ExpectError(R"({"enum": [9007199254740993], "const": 9007199254740992.0})", "no value");
  ExpectError(R"({"enum": [1e19], "maximum": 9999999999999999000})", "no value");
  ExpectExactly(R"({"enum": [1e19], "const": 10000000000000000000})", {"1e+19"}, {});
}

TEST(JsonSchemaTest, EnumReportsMalformedKeywords) {
  ExpectError(R"({"enum": [{"a": 1}], "required": true})", "keyword \"required\": not an array");
  ExpectError(R"({"enum": [{"a": 1}], "required": [1]})", "keyword \"required\": not a list");
  ExpectError(R"({"enum": [{"a": 1}], "dependentRequired": [1]})", "\"dependentRequired\": not an");
  ExpectError(R"({"enum": [1], "allOf": [{"enum": 1}]})", "\"enum\": not a");
}

TEST(JsonSchemaTest, StringLengthsCountCodePoints) {
  ExpectExactly(R"({"type": "string", "minLength": 2, "maxLength": 2})",
                {"\"ab\"", "\"\xC3\xA9\xF0\x9F\x98\x80\"", R"("\n\ud83d\ude00")", R"("\"\u0041")"},
                {"\"a\"", "\"abc\"", "\"\\n\""});
  ExpectExactly(R"({"type": "string", "pattern": "a", "maxLength": 2})", {"\"a\"", "\"ba\""},
                {"\"b\"", "\"bba\""});
  ExpectExactly(R"({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "b$"}]})",
                {"\"ab\"", "\"a\\nb\""}, {"\"a\"", "\"b\""});
}

TEST(JsonSchemaTest, Formats) {
  const auto expect = [](std::string_view format, std::vector<std::string> valid,
                         std::vector<std::string> invalid) {
    SchemaGrammar grammar(absl::StrCat(R"({"type": "string", "format": ")",
                                       absl::string_view(format.data(), format.size()), "\"}"));
    for (const auto& text : valid) {
      EXPECT_TRUE(grammar.Accepts("\"" + text + "\"")) << format << " " << text;
    }
    for (const auto& text : invalid) {
      EXPECT_FALSE(grammar.Accepts("\"" + text + "\"")) << format << " " << text;
    }
  };
  expect("date", {"2024-02-29", "2000-02-29", "1999-12-31", "0400-02-29"},
         {"2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "0000-01-01", "24-01-01"});
  expect("time", {"23:59:59Z", "00:00:00.5+01:30"},
         {"24:00:00Z", "12:00:60Z", "12:00Z", "12:00:00"});
  expect("date-time", {"2024-02-29T12:00:00Z"}, {"2024-02-29 12:00:00Z", "2024-02-30T12:00:00Z"});
  expect("duration", {"P1Y2M3DT4H5M6S", "PT1S", "P2W", "P1M"}, {"P", "PT", "P1YT", "1Y", "P1Y2D"});
  expect("email", {"a.b+c@example.com", "a@b"}, {"a", "a@", "@b", "a..b@c", "a@-b", "a@b."});
  expect("hostname", {"a", "a-b.example.com", std::string(63, 'a')},
         {"", "-a", "a-", "a..b", std::string(64, 'a'), "a_b"});
  expect("ipv4", {"0.0.0.0", "255.249.199.99"}, {"256.0.0.0", "1.2.3", "01.2.3.4", "1.2.3.4.5"});
  expect("ipv6",
         {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:1.2.3.4", "1::8",
          "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2::7:8"},
         {"", ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",
          "12345::", "1:2:3:4:5:6:7:8::", "::1.2.3", "g::"});
  expect("uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000"});
  expect("uri", {"http://a.b/c?d=e#f", "urn:isbn:1", "mailto:a@b", "http://[::1]:80/", "a:"},
         {"", "//a", "a b:", "http://a b", "http://[::1", "1a:b", "http://a/%2"});
  expect("uri-reference", {"", "/a", "a/b", "#f", "?q", "//h/p", "a:b"}, {"a b", "1:b", "%"});
  expect("byte", {"", "QQ==", "QUI=", "QUJD"}, {"Q", "QQ", "QQ=", "Q?=="});
  expect("json-pointer", {"", "/a/~0~1"}, {"a", "/~2"});
  ExpectError(R"({"type": "string", "format": "phone"})", "\"phone\" is not supported");
  ExpectExactly(R"({"type": "integer", "format": "int32"})", {"1"}, {"1.5"});
  for (const char* format : {"binary", "double", "float", "int32", "int64", "password"}) {
    ExpectExactly(absl::StrCat(R"({"type": "string", "maxLength": 3, "format": ")", format, "\"}"),
                  {R"("")", R"("a\nb")", R"("é")"}, {R"("abcd")", "1"});
  }
}

/// Returns hundredths with up to two digits after the point, perhaps with zeros at the end.
std::vector<std::string> Spellings(int hundredths) {
  const std::string sign = hundredths < 0 ? "-" : "";
  const int value = std::abs(hundredths);
  const std::string whole = sign + std::to_string(value / 100);
  const std::string digits = std::to_string(value % 100 + 100).substr(1);
  std::vector<std::string> texts = {whole + "." + digits, whole + "." + digits + "0"};
  if (digits[1] == '0') texts.push_back(whole + "." + digits.substr(0, 1));
  if (digits == "00") texts.push_back(whole);
  return texts;
}

TEST(JsonSchemaTest, NumberBoundsAgreeWithArithmetic) {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    const bool integer = random() % 2 == 0;
    const int low = static_cast<int>(random() % 3000) - 1500;
    const int high = low + static_cast<int>(random() % 1000);
    const bool open_low = random() % 2 == 0, open_high = random() % 2 == 0;
    SchemaGrammar grammar(
        absl::StrCat(R"({"type": ")", integer ? "integer" : "number", R"(", ")",
                     open_low ? "exclusiveMinimum" : "minimum", "\": ", Spellings(low)[0], ", \"",
                     open_high ? "exclusiveMaximum" : "maximum", "\": ", Spellings(high)[0], "}"));
    if (!grammar.status().ok()) {
      EXPECT_TRUE(integer || low == high) << grammar.status();
      continue;
    }
    for (int value = low - 130; value <= high + 130; ++value) {
      const bool inside =
          (open_low ? value > low : value >= low) && (open_high ? value < high : value <= high);
      for (const std::string& text : Spellings(value)) {
        const bool is_integer_text = text.find('.') == std::string::npos;
        if (value == 0 && text[0] == '-') continue;
        EXPECT_EQ(grammar.Accepts(text), inside && (!integer || is_integer_text))
            << text << " in " << low << " " << high << open_low << open_high;
      }
    }
  }
}

TEST(JsonSchemaTest, NumberBoundsBeyondDoubles) {
  ExpectExactly(
      R"({"type": "integer", "minimum": 9223372036854775807, "maximum": 18446744073709551615})",
      {"9223372036854775807", "9223372036854775808", "18446744073709551615"},
      {"9223372036854775806", "18446744073709551616"});
  ExpectExactly(R"({"type": "integer", "minimum": -9223372036854775808})",
                {"-9223372036854775808", "0"}, {"-9223372036854775809"});
  ExpectExactly(R"({"type": "number", "exclusiveMinimum": 0.1, "maximum": 2.5})",
                {"0.2", "2.50", "0.10000000000001"},
                {"0.1", "0.10", "1e-1", "2.51", "0.100000000000000000001"});
  ExpectExactly(R"({"type": "integer", "minimum": 0})", {"0", "7", "1000000"}, {"-1", "-0", "00"});
  ExpectExactly(R"({"type": "number", "maximum": 1e-7})", {"0.0000001", "-5"}, {"0.0000002", "1"});
  ExpectExactly(R"({"type": "number", "not": {"type": "integer"}})", {"0.5", "-1.50"},
                {"1", "1.0", "0.0"});
  ExpectError(R"({"type": "integer", "minimum": 5, "maximum": 4})", "no value");
  ExpectError(R"({"type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 6})", "no value");
  // 100000000000000.5 satisfies the schema, but has more digits than numbers between bounds may.
  ExpectError(R"({"type": "number", "exclusiveMinimum": 100000000000000,
                  "exclusiveMaximum": 100000000000001})",
              "no value that a grammar can write");
  ExpectExactly(R"({"type": "integer", "allOf": [{"minimum": 3}, {"exclusiveMinimum": 3},
                    {"minimum": 2}, {"maximum": 9}, {"exclusiveMaximum": 7}]})",
                {"4", "6"}, {"3", "7", "9", "2"});
}

TEST(JsonSchemaTest, MultiplesAgreeWithArithmetic) {
  for (const int divisor : {1, 2, 3, 7, 10, 64, 250}) {
    SchemaGrammar grammar(
        absl::StrCat(R"({"type": "integer", "minimum": -300, "multipleOf": )", divisor, "}"));
    for (int value = -310; value < 1500; ++value) {
      EXPECT_EQ(grammar.Accepts(std::to_string(value)), value >= -300 && value % divisor == 0)
          << value << " of " << divisor;
    }
  }
  ExpectExactly(R"({"type": "number", "multipleOf": 0.25})", {"0", "1", "0.5", "0.75", "-2.25"},
                {"0.1", "0.2", "0.26"});
  ExpectExactly(R"({"type": "integer", "multipleOf": 2.5})", {"0", "5", "-10"}, {"1", "2", "7"});
  ExpectExactly(R"({"type": "integer", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]})",
                {"12", "0"}, {"4", "6", "8"});
  ExpectError(R"({"type": "integer", "multipleOf": 123457})", "multipleOf");
  ExpectError(R"({"type": "integer", "multipleOf": 0})", "not above 0");
}

TEST(JsonSchemaTest, PropertiesKeepOrderOfSchema) {
  ExpectExactly(R"({"type": "object", "properties": {"b": {"type": "integer"}, "a": {}},
                    "required": ["b", "z"]})",
                {R"({"b": 1, "z": 2})", R"({"b": 1, "a": "x", "z": [], "free": 1, "more": 2})"},
                {R"({"b": 1})", R"({"z": 1, "b": 1})", R"({"a": 1, "b": 1, "z": 1})",
                 R"({"b": 1, "z": 2, "b": "x"})", R"({"b": 1, "z": 2, "\u0062": "x"})",
                 R"({"b": 1, "z": 2,})"});
  ExpectExactly(
      R"({"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": false})",
      {"{}", R"({"a": 1})"}, {R"({"b": 1})", R"({"a": 2})"});
  ExpectExactly(R"({"type": "object", "additionalProperties": {"type": "integer"}})",
                {"{}", R"({"a": 1, "b": 2})"}, {R"({"a": "x"})"});
  ExpectExactly(R"({"type": "object", "properties": {"a\"b\n\u00e9": {"const": 1}},
                    "additionalProperties": false})",
                {"{\"a\\\"b\\n\xC3\xA9\": 1}"}, {"{\"a\\\"b\\n\\u00e9\": 1}"});
}

/// Every set of members, against the limits.
TEST(JsonSchemaTest, MemberCountsAgreeWithEnumeration) {
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    const uint32_t required = random() % 16;
    const int min = static_cast<int>(random() % 5), max = min + static_cast<int>(random() % 4);
    ordered_json schema = {{"type", "object"}, {"additionalProperties", false}};
    schema["required"] = ordered_json::array();
    for (int k = 0; k < 4; ++k) {
      const std::string name(1, static_cast<char>('a' + k));
      schema["properties"][name] = {{"type", "null"}};
      if ((required >> k & 1) != 0) schema["required"].push_back(name);
    }
    schema["minProperties"] = min;
    schema["maxProperties"] = max;
    SchemaGrammar grammar(schema.dump());
    for (uint32_t members = 0; members < 16; ++members) {
      ordered_json value = ordered_json::object();
      for (int k = 0; k < 4; ++k) {
        if ((members >> k & 1) != 0) value[std::string(1, static_cast<char>('a' + k))] = nullptr;
      }
      const int count = std::popcount(members);
      const bool valid = (members & required) == required && min <= count && count <= max;
      if (grammar.status().ok()) {
        EXPECT_EQ(grammar.Accepts(value.dump()), valid) << schema << value;
      } else {
        EXPECT_FALSE(valid) << grammar.status() << schema << value;
      }
    }
  }
}

TEST(JsonSchemaTest, MemberCountsWithFreeNames) {
  ExpectExactly(R"({"type": "object", "minProperties": 1, "maxProperties": 2})",
                {R"({"a": 1})", R"({"a": 1, "b": 2})"}, {"{}", R"({"a": 1, "b": 2, "c": 3})"});
  ExpectExactly(
      R"({"type": "object", "properties": {"a": {}}, "required": ["a"], "minProperties": 2})",
      {R"({"a": 1, "b": 1})"}, {R"({"a": 1})"});
  ExpectError(R"({"type": "object", "minProperties": 2})", "minProperties");
}

TEST(JsonSchemaTest, NamesByPattern) {
  ExpectExactly(R"({"type": "object", "properties": {"ax": {}},
                    "patternProperties": {"^a": {"type": "integer"}, "x$": {"minimum": 5}},
                    "additionalProperties": {"type": "null"}})",
                {R"({"ax": 5, "a": 1, "bx": "s", "b": null})", R"({"abx": 7})"},
                {R"({"ax": 4})", R"({"a": "s"})", R"({"bx": 1})", R"({"b": 1})", R"({"abx": 1})"});
  ExpectExactly(R"({"type": "object", "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 2}})",
                {R"({"ab": 1})"}, {R"({"abc": 1})", R"({"A": 1})"});
  ExpectExactly(R"({"type": "object", "propertyNames": {"enum": ["a", "b"]},
                    "properties": {"c": {}}})",
                {R"({"a": 1, "b": 1})"}, {R"({"c": 1})"});
}

TEST(JsonSchemaTest, Arrays) {
  ExpectExactly(R"({"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 2})",
                {"[null]", "[ null , null ]"}, {"[]", "[null,null,null]", "[1]", "[null,]"});
  ExpectExactly(R"({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": false})",
                {"[]", "[1]", "[1,2]"}, {"[2]", "[1,2,3]"});
  ExpectExactly(R"({"type": "array", "items": [{"const": 1}], "additionalItems": {"const": 0},
                    "minItems": 2})",
                {"[1,0]", "[1,0,0]"}, {"[1]", "[0,1]", "[1,1]"});
  ExpectExactly(R"({"type": "array", "items": false})", {"[]"}, {"[1]"});
  ExpectExactly(R"({"type": "array", "maxItems": 0})", {"[]", "[ ]"}, {"[1]"});
  ExpectExactly(
      R"({"type": "array", "maxItems": 0, "items": {"type": "array", "uniqueItems": true}})",
      {"[]"}, {"[[]]"});
  ExpectExactly(R"({"type": "array", "prefixItems": [{"type": "null"}], "maxItems": 1,
                    "items": {"type": "array", "uniqueItems": true}})",
                {"[]", "[null]"}, {"[null,[]]"});
  ExpectExactly(R"({"type": "array", "uniqueItems": false})", {"[1,1]"}, {});
  ExpectError(R"({"type": "array", "uniqueItems": true})", "uniqueItems");
  ExpectError(R"({"type": "array", "contains": {"const": 1}})", "contains");
  ExpectError(R"({"type": "array", "minItems": 2, "maxItems": 1})", "no value");
}

TEST(JsonSchemaTest, UnknownKeywordsAreNamedWithPlace) {
  ExpectError(R"({"type": "object", "properties": {"a/b": {"type": "string", "minLenght": 1}}})",
              "schema at #/properties/a~1b, keyword \"minLenght\": not supported");
  ExpectError(R"({"type": "string", "minLength": "1"})", "minLength");
  ExpectError(R"({"type": "object", "unevaluatedProperties": false})", "unevaluatedProperties");
  ExpectError(R"({"type": "object", "properties": []})", "not an object");
  ExpectError(R"({"anyOf": {}})", "not an array");
}

TEST(JsonSchemaTest, AnyObjectNestsToBound) {
  SchemaGrammar grammar(R"({"type": "object"})");
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(grammar.Accepts(nested(64)));
  EXPECT_FALSE(grammar.Accepts(nested(65)));
}

}  // namespace
}  // namespace shortlist
