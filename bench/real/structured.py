#!/usr/bin/env python3
"""Measures function calls with constrained arguments: tokens per second with and without grammar and draft.

usage: bench/real/structured.py --target MODEL --draft MODEL [--calls N] [--data DIR] [--out FILE] [--binary FILE]
                                [--temperature T] [--tokens N]

Each of N rows (10) of BFCL's simple_python, at a fixed stride, is a question and one function; the schema is that of
the function's arguments. Two servers, with and without the draft, decode each row with and without the schema, in
turn. Outputs with and without a draft must be identical. Without a draft, what the grammar forces is drafted all the
same. A row of the table is one way. Tokens per second are those after the first, between the first and the last event
of a stream. `forced`: share of the tokens that were drafted because the grammar forces them. --out writes all replies
as JSON. An interrupt ends the run and prints what is done. Data are read from --data or $SHORTLIST_SHARED_DATA, else
from ../shared/data next to the repository.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import bfcl
from server import Server

WAYS = [(constrained, drafts) for constrained in (False, True) for drafts in (False, True)]


def prompt_of(row):
    return ("<|im_start|>system\nYou call functions. Answer with the JSON object of the arguments alone.<|im_end|>\n"
            f"<|im_start|>user\nFunction: {json.dumps(row['function'][0])}\n\n{bfcl.question_of(row)}<|im_end|>\n"
            "<|im_start|>assistant\n")


def generate(server, arguments, row, constrained):
    params = {"max_new_tokens": arguments.tokens, "temperature": arguments.temperature, "seed": 1}
    if constrained:
        params["json_schema"] = json.dumps(bfcl.schema_of(row["function"][0]["parameters"]))
    first = last = None
    for event in server.stream("/generate", {"text": prompt_of(row), "sampling_params": params}):
        last = time.perf_counter(), event
        first = first or last
    tokens = last[1]["meta_info"]["completion_tokens"]
    return {"text": last[1]["text"], "output_ids": last[1]["output_ids"], "meta_info": last[1]["meta_info"],
            "tokens": tokens, "steps_tokens": tokens - first[1]["meta_info"]["completion_tokens"],
            "seconds": last[0] - first[0]}


def table(done):
    print("| grammar | draft | tokens | tokens/s | accept length | forced |\n|---|---|---|---|---|---|")
    for (constrained, drafts), rows in done.items():
        # Without speculation a reply has no such fields.
        of = [row["meta_info"] for row in rows if "spec_verify_ct" in row["meta_info"]]
        steps = max(sum(info["spec_verify_ct"] for info in of), 1)
        emitted = sum(info["spec_accept_length"] * info["spec_verify_ct"] for info in of)
        forced = sum(info["spec_forced_length"] * info["spec_verify_ct"] for info in of)
        seconds = sum(row["seconds"] for row in rows)
        print(f"| {'yes' if constrained else 'no'} | {'yes' if drafts else 'no'} | {sum(row['tokens'] for row in rows)} "
              f"| {sum(row['steps_tokens'] for row in rows) / max(seconds, 1e-9):.1f} | {emitted / steps:.2f} "
              f"| {100 * forced / max(emitted, 1):.0f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True, metavar="MODEL")
    parser.add_argument("--draft", required=True, metavar="MODEL")
    parser.add_argument("--calls", type=int, default=10, metavar="N")
    parser.add_argument("--tokens", type=int, default=96, metavar="N", help="most new tokens of a call")
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T")
    bfcl.add_data_flag(parser)
    parser.add_argument("--binary", type=Path, default=bfcl.ROOT / "build/release/shortlist", metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.calls < 1:
        parser.error(f"--calls {arguments.calls}; expected at least 1")
    done = {way: [] for way in WAYS}
    model = ["--model", arguments.target]
    with Server(arguments.binary, model) as plain, Server(arguments.binary, [*model, "--draft", arguments.draft]) as drafting:
        try:
            for row in bfcl.read_rows(arguments.data, "simple_python", arguments.calls):
                replies = {way: generate(drafting if way[1] else plain, arguments, row, way[0]) for way in WAYS}
                for constrained in (False, True):
                    if replies[constrained, False]["output_ids"] != replies[constrained, True]["output_ids"]:
                        sys.exit(f"structured.py: {row['id']}: the draft changes the output")
                for way in WAYS:
                    done[way].append(replies[way])
                print(f"\r{len(done[WAYS[0]])} of {arguments.calls} calls", end="", file=sys.stderr)
        except KeyboardInterrupt:
            pass
    print(file=sys.stderr)
    table(done)
    if arguments.out is not None:
        rows = {f"grammar={way[0]} draft={way[1]}": replies for way, replies in done.items()}
        arguments.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
