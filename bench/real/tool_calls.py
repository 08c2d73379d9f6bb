#!/usr/bin/env python3
"""Answers BFCL's questions with `tool_choice: required` and counts the calls that parse, fit and are right.

usage: bench/real/tool_calls.py --target MODEL.gguf [--draft MODEL] [--calls N] [--categories NAME,…] [--llama]
                                [--data DIR] [--binary FILE] [--out FILE]

N rows (50) of each category (simple_python, multiple), at a fixed stride, go to `shortlist serve` as chat requests
with their functions as tools, greedy. A row counts as
  parses  if the reply is at least one call whose arguments are JSON,
  fits    if each call has the name of a tool and arguments that its schema accepts (python jsonschema),
  right   if it is a single call among BFCL's accepted answers.
--llama asks llama.cpp (llama-cpp-python) too, with the same file and its own grammar for calls: its format
chatml-function-calling, which names the function and so takes rows with one function alone. --out writes all calls as
JSON. Data are read from --data or $SHORTLIST_SHARED_DATA, else from ../shared/data next to the repository.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import jsonschema

import bfcl
from server import Server

MAX_TOKENS = 256


class Llama:
    """llama.cpp behind the interface of `Server` that is used here."""

    def __init__(self, path):
        import llama_cpp  # pylint: disable=import-outside-toplevel
        self._model = llama_cpp.Llama(path, n_ctx=4096, chat_format="chatml-function-calling", verbose=False)

    def post(self, _, body):
        name = body["tools"][0]["function"]["name"]
        return self._model.create_chat_completion(
            messages=body["messages"], tools=body["tools"], temperature=0.0, max_tokens=body["max_tokens"],
            tool_choice={"type": "function", "function": {"name": name}})


def ask(server, row):
    """Returns the calls of the reply as (name, text of the arguments), and the seconds."""
    start = time.perf_counter()
    reply = server.post("/v1/chat/completions", {
        "messages": [{"role": "user", "content": bfcl.question_of(row)}], "temperature": 0, "max_tokens": MAX_TOKENS,
        "tools": [bfcl.tool_of(function) for function in row["function"]], "tool_choice": "required"})
    calls = reply["choices"][0]["message"].get("tool_calls") or []
    return [(call["function"]["name"], call["function"]["arguments"]) for call in calls], time.perf_counter() - start


def judge(row, calls):
    """Returns which of the three counts a reply enters."""
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in map(bfcl.tool_of, row["function"])}
    try:
        calls = [(name, json.loads(arguments)) for name, arguments in calls]
    except ValueError:
        return []
    if not calls:
        return []
    fits = all(name in schemas and jsonschema.Draft202012Validator(schemas[name]).is_valid(arguments)
               for name, arguments in calls)
    right = len(calls) == 1 and bfcl.is_right(*calls[0], row["answers"])
    return ["parses"] + ["fits"] * fits + ["right"] * right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True, metavar="MODEL")
    parser.add_argument("--draft", metavar="MODEL")
    parser.add_argument("--calls", type=int, default=50, metavar="N")
    parser.add_argument("--categories", default="simple_python,multiple", metavar="NAME,…")
    parser.add_argument("--llama", action="store_true")
    bfcl.add_data_flag(parser)
    parser.add_argument("--binary", type=Path, default=bfcl.ROOT / "build/release/shortlist", metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.calls < 1:
        parser.error(f"--calls {arguments.calls}; expected at least 1")
    flags = ["--model", arguments.target] + (["--draft", arguments.draft] if arguments.draft else [])
    written = []
    with Server(arguments.binary, flags) as server:
        engines = {"shortlist": server} | ({"llama.cpp": Llama(arguments.target)} if arguments.llama else {})
        print("| category | engine | rows | parses | fits | right | seconds a row |\n|---|---|---|---|---|---|---|")
        for category in arguments.categories.split(","):
            rows = bfcl.read_rows(arguments.data, category, arguments.calls)
            for name, engine in engines.items():
                if name == "llama.cpp" and any(len(row["function"]) > 1 for row in rows):
                    continue
                counts, seconds = {"parses": 0, "fits": 0, "right": 0}, 0.0
                for number, row in enumerate(rows, 1):
                    calls, taken = ask(engine, row)
                    seconds += taken
                    verdict = judge(row, calls)
                    for word in verdict:
                        counts[word] += 1
                    written.append({"id": row["id"], "engine": name, "calls": calls, "verdict": verdict})
                    print(f"\r{category}, {name}: {number} of {len(rows)}", end="", file=sys.stderr)
                print(file=sys.stderr)
                print(f"| {category} | {name} | {len(rows)} | {counts['parses']} | {counts['fits']} | {counts['right']} "
                      f"| {seconds / len(rows):.2f} |", flush=True)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(written, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
