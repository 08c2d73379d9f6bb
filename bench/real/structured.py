#!/usr/bin/env python3
"""Measures function calls with constrained arguments: tokens per second with and without grammar and draft.

usage: bench/real/structured.py --target MODEL --draft MODEL [--calls N] [--data DIR] [--out FILE] [--binary FILE]
                                [--temperature T] [--tokens N]

Each of N rows (10) of BFCL's simple_python, at a fixed stride, is a question and one function; the schema is that of the
function's arguments. `shortlist generate` decodes each row four times in turn: with and without --json-schema, with and
without --draft. Outputs with and without a draft must be identical. Without
a draft, what the grammar forces is drafted all the same. An interrupt ends the run and reports what is done. A row of the table is one way; tokens
per second are those of decode steps, over all rows. `forced`: share of emitted tokens that were drafted because the
grammar forces them. Writes the outputs' rows as JSON with --out. Data are read from --data or $SHORTLIST_SHARED_DATA,
else from ../shared/data next to the repository.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TYPES = {"dict": "object", "float": "number", "tuple": "array"}
KEYWORDS = ("description", "enum", "required")
WAYS = [(constrained, drafts) for constrained in (False, True) for drafts in (False, True)]


def schema_of(parameters):
    """Returns the JSON schema of BFCL's description of a type."""
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


def prompt_of(row):
    function = row["function"][0]
    question = row["question"][0][0]["content"]
    return ("<|im_start|>system\nYou call functions. Answer with the JSON object of the arguments alone.<|im_end|>\n"
            f"<|im_start|>user\nFunction: {json.dumps(function)}\n\n{question}<|im_end|>\n<|im_start|>assistant\n")


def read_calls(folder, count):
    with (folder / "structured/bfcl/BFCL_v4_simple_python.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [rows[number * len(rows) // count] for number in range(min(count, len(rows)))]


def generate(arguments, folder, row, constrained, drafts):
    prompts, schema = folder / "prompts.jsonl", folder / "schema.json"
    prompts.write_text(json.dumps({"prompt": prompt_of(row)}) + "\n", encoding="utf-8")
    schema.write_text(json.dumps(schema_of(row["function"][0]["parameters"])), encoding="utf-8")
    command = [arguments.binary, "generate", "--model", arguments.target, "--prompts", prompts, "--json", "--max-new-tokens",
               str(arguments.tokens), "--temperature", str(arguments.temperature), "--seed", "1"]
    command += ["--json-schema", schema] if constrained else []
    command += ["--draft", arguments.draft] if drafts else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"structured.py: {row['id']}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def summary(rows):
    """Sums of one way to decode."""
    of = [row["meta_info"] for row in rows]
    tokens = sum(info["completion_tokens"] for info in of)
    seconds = sum(info["completion_tokens"] / info["tokens_per_s"] for info in of if info["tokens_per_s"] > 0)
    steps = sum(info["spec_verify_ct"] for info in of)
    forced = sum(info["spec_forced_length"] * info["spec_verify_ct"] for info in of)
    emitted = sum(info["spec_accept_length"] * info["spec_verify_ct"] for info in of)
    return {"tokens": tokens, "tokens_per_s": tokens / seconds if seconds else 0.0,
            "accept_length": emitted / steps if steps else 0.0, "forced": forced / emitted if emitted else 0.0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True, metavar="MODEL")
    parser.add_argument("--draft", required=True, metavar="MODEL")
    parser.add_argument("--calls", type=int, default=10, metavar="N")
    parser.add_argument("--tokens", type=int, default=96, metavar="N", help="most new tokens of a call")
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T")
    parser.add_argument("--data", type=Path, metavar="DIR",
                        default=Path(os.environ.get("SHORTLIST_SHARED_DATA", ROOT.parent / "shared/data")))
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/shortlist", metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.calls < 1:
        parser.error(f"--calls {arguments.calls}; expected at least 1")
    done = {way: [] for way in WAYS}
    try:
        for row in read_calls(arguments.data, arguments.calls):
            with tempfile.TemporaryDirectory() as folder:
                outputs = {way: generate(arguments, Path(folder), row, *way) for way in WAYS}
            for constrained in (False, True):
                if outputs[constrained, False]["output_ids"] != outputs[constrained, True]["output_ids"]:
                    sys.exit(f"structured.py: {row['id']}: the draft changes the output")
            for way in WAYS:
                done[way].append(outputs[way])
    except KeyboardInterrupt:
        print(f"interrupted after {len(done[WAYS[0]])} calls", file=sys.stderr)
    print("| grammar | draft | tokens | tokens/s | accept length | forced |\n|---|---|---|---|---|---|")
    for (constrained, drafts), rows in done.items():
        of = summary(rows)
        print(f"| {'yes' if constrained else 'no'} | {'yes' if drafts else 'no'} | {of['tokens']} | {of['tokens_per_s']:.1f} "
              f"| {of['accept_length']:.2f} | {100 * of['forced']:.0f} % |")
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({f"grammar={way[0]} draft={way[1]}": rows for way, rows in done.items()}, indent=1),
                                 encoding="utf-8")


if __name__ == "__main__":
    main()
