"""Writes random JSON schemas with random values, and whether python jsonschema accepts these.

Usage: make_random_schemas.py SEED COUNT FILE. schema_suite_test reads FILE where
SHORTLIST_RANDOM_SCHEMAS names it: no rejected value may be accepted there.
"""

import decimal
import json
import random
import sys

import jsonschema
from judge_schema_samples import make_validator

NAMES = ["a", "b", "c", "ab"]
PATTERNS = ["^a", "b$", "a|b", "^[ab]*$", '"', "^(ab)+$", "^.{2}$"]
TYPES = ["object", "array", "string", "integer", "number", "boolean", "null"]
TYPE_LISTS = [["string", "object"], ["integer", "null", "array"]]
VALUES_PER_SCHEMA = 30
# Limits of one type that overlap in few values, or in values that are hard to write.
LIMITS = {
    "array": [
        {"not": {"const": []}},
        {"minItems": 1},
        {"maxItems": 1},
        {"not": {"enum": [[], [1]]}},
    ],
    "object": [
        {"not": {"const": {}}},
        {"minProperties": 1},
        {"maxProperties": 1},
        {"required": ["a"]},
    ],
    "integer": [
        {"multipleOf": 997},
        {"minimum": 10**15},
        {"maximum": 4},
        {"exclusiveMinimum": 3},
        {"not": {"enum": [2**53, 2**53 + 1]}},
        {"minimum": 2**53},
    ],
    "number": [
        {"not": {"enum": list(range(1, 10))}},
        {"minimum": 0, "exclusiveMaximum": 0.2},
        {"exclusiveMinimum": 0.1, "maximum": 10**14},
        {"minimum": 0.2},
        {"maximum": 0.2, "multipleOf": 0.05},
    ],
    "string": [
        {"not": {"pattern": ""}},
        {"minLength": 1},
        {"const": ""},
        {"not": {"enum": ["", "a"]}},
    ],
}
LIMIT_VALUES = [[], [1], {}, {"a": 1}, 997 * 10**13, 2**53, 2**53 + 1, 4, 100, 0.15, 0.2, "", "a"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, probability):
        return self.random.random() < probability

    def value(self, depth=0):
        if self.chance(0.1):
            return self.random.choice(LIMIT_VALUES)
        kind = self.random.randrange(8 if depth < 2 else 5)
        if kind == 0:
            return self.random.choice([None, True, False])
        if kind == 1:
            return self.random.randrange(-3, 8)
        if kind == 2:
            return self.random.choice([0.5, 1.5, -0.25, 2.25, 3.5])
        if kind <= 4:
            return "".join(self.random.choice('ab"') for _ in range(self.random.randrange(4)))
        if kind == 5:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        names = self.random.sample(NAMES, self.random.randrange(4))
        return {name: self.value(depth + 1) for name in names}

    def object_keywords(self, depth):
        names = self.random.sample(NAMES[:3], self.random.randrange(1, 4))
        yield 0.6, "properties", lambda: {name: self.schema(depth + 1) for name in names}
        yield 0.4, "required", lambda: self.random.sample(NAMES, self.random.randrange(3))
        yield 0.3, "additionalProperties", lambda: self.chance(0.5) and self.schema(depth + 1)
        pattern = self.random.choice(["^a", "b$", "."])
        yield 0.15, "patternProperties", lambda: {pattern: self.schema(depth + 1)}
        yield 0.12, "maxProperties", lambda: self.random.randrange(4)
        yield 0.12, "minProperties", lambda: self.random.randrange(3)
        name_schemas = [{"maxLength": 1}, {"pattern": "^a"}, {"enum": ["a", "c"]}]
        yield 0.08, "propertyNames", lambda: self.random.choice(name_schemas)
        yield 0.08, "dependentRequired", lambda: {names[0]: [self.random.choice("bc")]}
        yield 0.05, "dependentSchemas", lambda: {names[0]: self.schema(depth + 1)}

    def other_keywords(self, types, depth):
        if "array" in types:
            yield 0.5, "items", lambda: self.schema(depth + 1)
            yield 0.2, "prefixItems", lambda: self.schemas(depth, 2)
            yield 0.2, "minItems", lambda: self.random.randrange(3)
            yield 0.2, "maxItems", lambda: self.random.randrange(4)
        if "string" in types:
            yield 0.3, "minLength", lambda: self.random.randrange(3)
            yield 0.3, "maxLength", lambda: self.random.randrange(4)
            yield 0.3, "pattern", lambda: self.random.choice(PATTERNS)
        if "integer" in types or "number" in types:
            yield 0.3, "minimum", lambda: self.random.choice([-2, 0, 1.5, 3, -0.25])
            yield 0.3, "exclusiveMaximum", lambda: self.random.choice([2, 5, 2.25, 0.5, -1])
            yield 0.2, "multipleOf", lambda: self.random.choice([2, 3, 0.5, 0.25, 1])
        yield 0.12, "enum", lambda: [self.value() for _ in range(self.random.randrange(1, 6))]
        yield 0.04, "const", self.value
        for keyword in ("anyOf", "oneOf", "allOf"):
            yield 0.12, keyword, lambda: self.schemas(depth, 3)
        yield 0.08, "not", lambda: self.schema(depth + 2)
        yield 0.06 if depth > 0 else 0, "$ref", lambda: "#/$defs/x"

    def schemas(self, depth, max_count):
        return [self.schema(depth + 1) for _ in range(self.random.randrange(1, max_count + 1))]

    def one_of_limits(self):
        kind = self.random.choice(list(LIMITS))
        options = self.random.sample(LIMITS[kind], self.random.randrange(2, 4))
        return {"type": kind, "oneOf": options}

    def schema(self, depth=0):
        if self.chance(0.08):
            return self.one_of_limits()
        if depth > 3 or self.chance(0.08):
            return self.random.choice([True, {}, {"type": "null"}, False, {"type": "integer"}])
        schema = {}
        if self.chance(0.7):
            schema["type"] = self.random.choice(TYPES + ["object", "array"] + TYPE_LISTS)
        types = schema.get("type", TYPES)
        types = [types] if isinstance(types, str) else types
        keywords = list(self.object_keywords(depth)) if "object" in types else []
        for probability, keyword, make in keywords + list(self.other_keywords(types, depth)):
            if self.chance(probability):
                schema[keyword] = make()
        if self.chance(0.05):
            schema["if"] = self.schema(depth + 2)
            schema["then"], schema["else"] = self.schema(depth + 1), self.schema(depth + 1)
        return schema


def exact(value):
    return json.loads(json.dumps(value), parse_float=decimal.Decimal)


def main():
    maker = Maker(int(sys.argv[1]))
    validator_kind = make_validator(jsonschema.Draft202012Validator)
    definitions = [
        {"type": ["string", "null"], "maxLength": 2},
        {"type": "array", "items": {"$ref": "#"}},
    ]
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        for index in range(int(sys.argv[2])):
            schema = maker.schema()
            if isinstance(schema, dict):
                schema["$defs"] = {"x": maker.random.choice(definitions)}
            validator = validator_kind(exact(schema))
            tests = []
            for _ in range(VALUES_PER_SCHEMA):
                value = maker.value()
                try:
                    tests.append({"data": value, "valid": validator.is_valid(exact(value))})
                except RecursionError:  # a reference that only refers to itself
                    pass
            record = {"id": f"random {index}", "schema": schema, "tests": tests}
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
