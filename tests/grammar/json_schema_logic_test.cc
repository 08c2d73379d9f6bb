// Keywords that join schemas: allOf, anyOf, oneOf, not, if and references.

#include <gtest/gtest.h>

#include "tests/grammar/schema_grammar.h"

namespace shortlist {
namespace {

TEST(JsonSchemaLogicTest, AllOfKeepsAllLimits) {
  ExpectExactly(R"({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}},
                               "required": ["a"]},
                              {"properties": {"a": {"minimum": 3}, "b": {"type": "null"}}}]})",
                {R"({"a": 3})", R"({"a": 4, "b": null})"}, {R"({"a": 2})", R"({"b": null})", "{}"});
  ExpectError(R"({"allOf": [{"type": "object", "required": ["a"]}], "properties": {"b": {}},
                  "additionalProperties": false})",
              "no value");
  ExpectExactly(R"({"$ref": "#/$defs/s", "maxLength": 2, "$defs": {"s": {"type": "string"}}})",
                {"\"ab\""}, {"\"abc\"", "1"});
  ExpectExactly(R"({"type": "object", "properties": {"a": {}},
                    "anyOf": [{"required": ["a"]},
                              {"properties": {"b": {"const": 1}}, "required": ["b"]}]})",
                {R"({"a": 0})", R"({"b": 1})", R"({"a": 0, "b": 1})"}, {"{}", R"({"b": 2})"});
}

TEST(JsonSchemaLogicTest, OneOfNeedsOptionsThatExcludeEachOther) {
  ExpectExactly(R"({"oneOf": [{"type": "string"}, {"type": "array", "maxItems": 0}]})",
                {"\"a\"", "[]"}, {"1"});
  ExpectExactly(R"({"oneOf": [{"properties": {"k": {"const": "a"}, "v": {"type": "null"}}},
                              {"properties": {"k": {"const": "b"}, "w": {"type": "null"}}}],
                    "type": "object", "required": ["k"]})",
                {R"({"k": "a", "v": null})", R"({"k": "b", "v": 1})"},
                {R"({"k": "a", "v": 1})", R"({"k": "c"})", R"({"k": "b", "w": 1})"});
  ExpectExactly(R"({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
                {R"({"a": 1})", R"({"b": 1, "c": 1})"}, {"{}", R"({"a": 1, "b": 1})"});
  ExpectExactly(R"({"oneOf": [{"oneOf": [{}, {"const": null}]}]})", {"true", "\"a\""}, {"null"});
  ExpectExactly(R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", {"0.5"}, {"1", "1.0"});
  ExpectExactly(R"({"type": "integer", "oneOf": [{"minimum": 3}, {"maximum": 5}]})", {"2", "6"},
                {"3", "4", "5"});
  ExpectError(R"({"type": "array", "oneOf": [{"items": {"type": "null"}}, {"minItems": 1}]})",
              "no negation");
}

/// A proof that options exclude each other may not rest on values that only the grammar leaves out.
TEST(JsonSchemaLogicTest, OneOfRejectsWhatTwoOptionsAccept) {
  ExpectError(R"({"type": "array", "oneOf": [{"not": {"const": []}}, {"minItems": 1}]})",
              "no value");
  ExpectExactly(R"({"type": "array", "oneOf": [{"not": {"const": []}}, {"minItems": 2}]})", {"[1]"},
                {"[]", "[1,1]"});
  ExpectExactly(R"({"type": "object", "oneOf": [{"not": {"const": {}}}, {"minProperties": 2}],
                    "properties": {"a": {}, "b": {}}, "additionalProperties": false})",
                {R"({"a":1})"}, {"{}", R"({"a":1,"b":1})"});
  ExpectError(
      R"({"type": "integer", "oneOf": [{"multipleOf": 997}, {"minimum": 1000000000000000}]})",
      "no negation");
  ExpectExactly(R"({"type": "number", "oneOf": [
                    {"minimum": 0, "exclusiveMaximum": 0.2},
                    {"exclusiveMinimum": 0.1, "maximum": 100000000000000}]})",
                {"0.1", "0.2", "0.05"}, {"0.15", "-1"});
  ExpectError(R"({"type": "number", "oneOf": [{"not": {"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9]}},
                                              {"minimum": 100}]})",
              "has no negation");
  ExpectError(R"({"type": "string", "oneOf": [{"format": "time"}, {"pattern": "^[0-9:]+z$"}]})",
              "has no negation");
  ExpectError(R"({"oneOf": [{"type": "string", "format": "time"}, {"const": "12:00:00z"}]})",
              "not supported inside not, if and oneOf");
}

TEST(JsonSchemaLogicTest, OneOfOfRangesThatExcludeEachOther) {
  ExpectExactly(R"({"type": "integer", "oneOf": [{"exclusiveMaximum": 5, "multipleOf": 3},
                                                 {"exclusiveMinimum": 4, "multipleOf": 2}]})",
                {"-3", "3", "6"}, {"4", "9", "5"});
  ExpectExactly(R"({"type": "number", "oneOf": [{"maximum": -1.5, "multipleOf": 0.5},
                                                {"exclusiveMinimum": -1.5, "multipleOf": 0.25}]})",
                {"-1.5", "-1.25", "0"}, {"-1.75", "-1.4"});
  ExpectExactly(R"({"oneOf": [{"type": "integer", "maximum": -0.5, "multipleOf": 2},
                              {"type": "integer", "minimum": -0.5, "multipleOf": 3},
                              {"type": "string", "format": "ipv4"}]})",
                {"-2", "0", "3", "\"1.2.3.4\""}, {"-3", "2", "\"1\""});
}

TEST(JsonSchemaLogicTest, Negation) {
  ExpectExactly(R"({"not": {"type": ["string", "object", "array"]}})", {"1", "null", "true"},
                {"\"\"", "[]"});
  ExpectExactly(R"({"type": "string", "not": {"enum": ["ab", "c\"d", 1]}})", {"\"a\"", "\"c\""},
                {"\"ab\"", R"("c\"d")"});
  ExpectExactly(R"({"type": "string", "not": {"pattern": "^a"}})", {"\"ba\"", "\"\""}, {"\"ab\""});
  ExpectExactly(R"({"type": "object", "not": {"required": ["a", "b"]}})", {R"({"a": 1})", "{}"},
                {R"({"a": 1, "b": 1})"});
  ExpectExactly(R"({"type": "boolean", "not": {"const": true}})", {"false"}, {"true"});
  ExpectExactly(R"({"not": {"enum": [1, 2.5, "a"]}})", {"0", "1.5", "2", "2.50001", "3", "\"b\""},
                {"1", "1.0", "2.5", "2.50", "\"a\""});
  ExpectExactly(R"({"not": {"not": {"type": "null"}}})", {"null"}, {"1"});
  ExpectError(R"({"type": "string", "not": {"pattern": ""}})", "no value");
  ExpectExactly(R"({"type": "integer", "not": {"enum": [9007199254740993, 9007199254740992]}})",
                {"9007199254740991", "9007199254740994"}, {"9007199254740992", "9007199254740993"});
  ExpectExactly(R"({"not": {"enum": [[], {}]}})", {"[1]", R"({"a": 1})", "1"}, {"[]", "{}"});
  ExpectExactly(R"({"type": "string", "not": {"enum": ["a", [1], {"b": 2}]}})", {"\"b\""},
                {"\"a\""});
  ExpectExactly(R"({"not": {"enum": ["a", [1]]}, "anyOf": [{"type": "string"}]})", {"\"b\""},
                {"\"a\""});
  ExpectError(R"({"type": "array", "not": {"enum": [[], [1]]}})", "has no negation");
  ExpectError(R"({"type": "object", "not": {"const": {"a": 1}}})", "has no negation");
  ExpectError(R"({"not": {"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9]}})", "more than 8 numbers");
  ExpectExactly(R"({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {}},
                    "required": ["a"], "if": {"properties": {"a": {"const": true}}},
                    "then": {"required": ["b"]}, "else": {"maxProperties": 1}})",
                {R"({"a": true, "b": 1})", R"({"a": false})"},
                {R"({"a": true})", R"({"a": false, "b": 1})"});
  ExpectExactly(R"({"type": "object", "dependentRequired": {"a": ["b"]}})",
                {"{}", R"({"b": 1})", R"({"a": 1, "b": 1})"}, {R"({"a": 1})"});
}

TEST(JsonSchemaLogicTest, PropertiesMayHaveNamesOfKeywords) {
  ExpectError(R"({"type": "object", "properties": {"default": {"$id": "http://x/inner",
                  "$defs": {"s": {"type": "integer"}}, "properties": {"v": {"$ref": "#/$defs/s"}}}},
                  "$defs": {"s": {"type": "string"}}})",
              "$id of an inner schema");
  ExpectExactly(R"({"type": "object", "$defs": {"const": {"$anchor": "n", "type": "null"}},
                    "properties": {"enum": {"$ref": "#n"}}})",
                {R"({"enum": null})"}, {R"({"enum": 1})"});
  ExpectExactly(R"({"type": "object", "default": {"$id": "http://x/data"},
                    "properties": {"$id": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "null"}}})",
                {R"({"$id": null})"}, {R"({"$id": 1})"});
}

TEST(JsonSchemaLogicTest, References) {
  ExpectExactly(R"({"$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"},
                     "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
                     "required": ["v", "kids"], "additionalProperties": false}},
                    "$ref": "#/$defs/n"})",
                {R"({"v": 1, "kids": [{"v": 2, "kids": []}]})"},
                {R"({"v": 1, "kids": [{"v": 2}]})"});
  ExpectExactly(R"({"definitions": {"a/b~c %": {"$anchor": "x", "type": "null"}},
                    "items": {"$ref": "#/definitions/a~1b~0c%20%25"},
                    "prefixItems": [{"$ref": "#x"}],
                    "type": "array"})",
                {"[null,null]"}, {"[1]"});
  ExpectExactly(R"({"$id": "http://x/y", "type": "array", "items": {"$ref": "http://x/y#"}})",
                {"[[],[[]]]"}, {"[1]"});
  ExpectError(R"({"$ref": "#"})", "refers to itself");
  ExpectError(R"({"anyOf": [{"type": "null"}, {"$ref": "#"}]})", "refers to itself");
  ExpectError(R"({"$ref": "other.json"})", "not in this schema");
  ExpectError(R"({"$ref": "#/$defs/a"})", "names nothing");
  ExpectError(R"({"$defs": {"a": {"$id": "b"}}, "$ref": "#/$defs/a"})", "$id");
  ExpectError(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
              "no value");
}

}  // namespace
}  // namespace shortlist
