"""Function calls of the Berkeley Function-Calling Leaderboard: questions, functions and accepted answers."""

import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TYPES = {"dict": "object", "float": "number", "tuple": "array"}
KEYWORDS = ("description", "enum", "required")
IGNORED = str.maketrans("", "", " ,./-_*^")  # characters that the leaderboard ignores in strings


def add_data_flag(parser):
    parser.add_argument("--data", type=Path, metavar="DIR",
                        default=Path(os.environ.get("SHORTLIST_SHARED_DATA", ROOT.parent / "shared/data")))


def read_rows(data, name, count):
    """Returns `count` rows of a category at a fixed stride, each with its accepted answers as "answers"."""
    folder = data / "structured/bfcl"
    rows, answers = ([json.loads(line) for line in (folder / f"BFCL_v4_{name}{end}.jsonl").open(encoding="utf-8")]
                     for end in ("", ".answers"))
    for row, answer in zip(rows, answers, strict=True):
        row["answers"] = answer["ground_truth"]
    return [rows[number * len(rows) // count] for number in range(min(count, len(rows)))]


def schema_of(parameters):
    """Returns the JSON schema of a description of a type."""
    schema = {name: parameters[name] for name in KEYWORDS if name in parameters}
    kind = parameters.get("type", "any")
    if kind != "any":
        schema["type"] = TYPES.get(kind, kind)
    if "items" in parameters:
        schema["items"] = schema_of(parameters["items"])
    if "properties" in parameters:
        schema["properties"] = {name: schema_of(of) for name, of in parameters["properties"].items()}
        schema["additionalProperties"] = False
    return schema


def tool_of(function):
    """Returns a function as an entry of OpenAI's `tools`, whose names have no dots."""
    return {"type": "function", "function": {"name": function["name"].replace(".", "_"),
                                             "description": function["description"],
                                             "parameters": schema_of(function["parameters"])}}


def question_of(row):
    return row["question"][0][0]["content"]


def is_equal(value, accepted):
    """True if `value` is an accepted one: strings without case and some marks, members by their own lists."""
    if isinstance(accepted, str) and isinstance(value, str):
        return value.translate(IGNORED).lower() == accepted.translate(IGNORED).lower()
    if isinstance(accepted, dict) and isinstance(value, dict):
        return are_members_right(value, accepted)
    if isinstance(accepted, list) and isinstance(value, list):
        return len(value) == len(accepted) and all(map(is_equal, value, accepted))
    return isinstance(value, bool) == isinstance(accepted, bool) and value == accepted


def are_members_right(members, accepted):
    """True if each member has an accepted value, and those without a value may be absent ("" is accepted)."""
    return (members.keys() <= accepted.keys()
            and all(any(is_equal(members[name], one) for one in accepted[name]) if name in members else "" in accepted[name]
                    for name in accepted))


def is_right(name, arguments, answers):
    """True if a single call is one of the accepted answers."""
    return any(name == wanted.replace(".", "_") and are_members_right(arguments, accepted)
               for answer in answers for wanted, accepted in answer.items())
