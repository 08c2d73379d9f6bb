"""Validates texts that schema_suite_test writes (SHORTLIST_SCHEMA_SAMPLES) with python jsonschema.

Usage: judge_schema_samples.py SAMPLES.jsonl. Prints the texts that are no JSON or that their schema
rejects; exit code 1 if there are any. Numbers are decimals, so comparisons are exact.
"""

import collections
import decimal
import json
import re
import sys

import jsonschema
import referencing.exceptions
from jsonschema import validators

WHITE_SPACE = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


def ecma(pattern):
    """Rewrites what ECMA-262 and Python read differently: \\s, $, and the dot."""
    out, in_class, i = "", False, 0
    while i < len(pattern):
        pair = pattern[i : i + 2]
        if pair in (r"\s", r"\S"):
            if in_class and pair == r"\S":
                raise ValueError("\\S in a class")
            text = WHITE_SPACE if in_class else ("[^" if pair == r"\S" else "[") + WHITE_SPACE + "]"
            out, i = out + text, i + 2
        elif pair[0] == "\\":
            out, i = out + (pair if pair[1] not in "/-" else re.escape(pair[1])), i + 2
        else:
            char = pair[0]
            in_class = char == "[" if not in_class else char != "]"
            if not in_class and char == "$":
                char = r"\Z"
            elif not in_class and char == ".":
                char = r"[^\n\r\u2028\u2029]"
            out, i = out + char, i + 1
    return f"(?a:{out})"


def with_python_patterns(schema):
    """Returns the schema with its patterns rewritten for Python."""
    if isinstance(schema, list):
        return [with_python_patterns(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: with_python_patterns(value) for key, value in schema.items()}
    if isinstance(schema.get("pattern"), str):
        result["pattern"] = ecma(schema["pattern"])
    if isinstance(schema.get("patternProperties"), dict):
        members = result["patternProperties"].items()
        result["patternProperties"] = {ecma(key): value for key, value in members}
    return result


def is_integer(checker, instance):
    if isinstance(instance, bool):
        return False
    if isinstance(instance, decimal.Decimal):
        return instance == instance.to_integral_value()
    return isinstance(instance, int)


def make_validator(base):
    checker = base.TYPE_CHECKER.redefine("integer", is_integer)
    return validators.extend(base, type_checker=checker)


def judge(validator, sample):
    """Returns what is wrong with a sample, None if nothing is."""
    try:
        value = json.loads(sample, parse_float=decimal.Decimal)
    except ValueError as error:
        return f"no JSON: {error}"
    try:
        validator.validate(value)
    except jsonschema.ValidationError as error:
        if error.validator_value == "relative-json-pointer" and value.isdigit():
            return None  # jsonschema 4.26 wants more after the digits than the standard does
        return f"rejected: {error.message[:200]}"
    except (ValueError, re.error) as error:  # a pattern that Python cannot read
        return f"not judged: {error}"
    except referencing.exceptions.Unresolvable as error:
        return f"not judged: {error}"


def main():
    decimal.getcontext().prec = 5000
    draft7 = make_validator(jsonschema.Draft7Validator)
    drafts = {
        "http://json-schema.org/draft-07/schema#": draft7,
        "http://json-schema.org/draft-07/schema": draft7,
    }
    default = make_validator(jsonschema.Draft202012Validator)
    counts = collections.Counter()
    for line in open(sys.argv[1], encoding="utf-8"):
        record = json.loads(line, parse_float=decimal.Decimal)
        try:
            schema = with_python_patterns(record["schema"])
        except ValueError as error:
            print("not judged:", error, line[:600])
            counts["not judged"] += len(record["samples"])
            continue
        draft = schema.get("$schema") if isinstance(schema, dict) else None
        draft7_only = any(text in line for text in ('"items":[', '"$id":"#', '"dependencies":'))
        kind = drafts.get(draft, draft7 if draft7_only else default)
        validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
        counts["schemas"] += 1
        counts["schemas without samples"] += not record["samples"]
        for sample in record["samples"]:
            counts["samples"] += 1
            outcome = judge(validator, sample)
            if outcome is None:
                continue
            counts[outcome.split(":")[0]] += 1
            print(outcome, repr(sample)[:300], json.dumps(schema, default=str)[:600])
    print(dict(counts))
    return counts["rejected"] + counts["no JSON"] > 0


if __name__ == "__main__":
    sys.exit(main())
