#!/usr/bin/env python3
"""Measures a real pair with only `--model` and `--draft`, over formats, temperatures and sources of prompts.

Runs `shortlist compare` once per format and temperature; with --sweep again for each chain length and p_min. Ways to
decode are interleaved prompt by prompt within a run, so each speed-up is relative to plain decoding in the same run.
Writes the reports to --out as JSON, and prints a table.

usage: bench/real/run.py --target MODEL --draft MODEL --prompts FILE.jsonl [--formats int4,int8,bf16,stored] [--sweep] ...
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATS = {
    "int4": ["--quantize", "int4"],
    "int8": ["--quantize", "int8"],
    "bf16": ["--quantize-draft", "int4"],  # as in the checkpoint; a cheaper draft does not change the output
    "stored": [],  # the blocks of GGUF files
    "stored-int4": ["--quantize-draft", "int4"],
}
SWEEP = [(length, p_min) for length in (4, 8) for p_min in (0.2, 0.5, 0.8)]
COLUMNS = ("format", "temperature", "source", "plain tok/s", "full head", "no list", "best of sweep", "accept length",
           "coverage", "head bytes", "identical")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shortlist", type=pathlib.Path, default=ROOT / "build/release/shortlist")
    parser.add_argument("--target", type=pathlib.Path, required=True)
    parser.add_argument("--draft", type=pathlib.Path, required=True)
    parser.add_argument("--prompts", type=pathlib.Path, required=True, help="rows of bench/real/prompts.py")
    parser.add_argument("--per-source", type=int, default=4, help="prompts of each source, from the first on")
    parser.add_argument("--sources", default="HumanEval,GSM8K,MT-bench,translation")
    parser.add_argument("--formats", default="int4,int8,bf16", help="stored: of GGUF files")
    parser.add_argument("--temperatures", default="0,0.8")
    parser.add_argument("--max-new-tokens", type=int, default=96)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--p-min", type=float, help="in place of measured costs: accept lengths compare then")
    parser.add_argument("--sweep", action="store_true", help="fixed chain lengths and p_min too")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="JSON, rewritten after every run")
    arguments = parser.parse_args()
    if unknown := set(arguments.formats.split(",")) - set(FORMATS):
        parser.error(f"--formats {','.join(unknown)}; expected some of {','.join(FORMATS)}")
    return arguments


def choose_prompts(arguments):
    """Writes the prompts to measure to a file next to --out, and returns it."""
    left = dict.fromkeys(arguments.sources.split(","), arguments.per_source)
    lines = []
    for line in arguments.prompts.read_text().splitlines():
        source = json.loads(line)["source"]
        if left.get(source, 0) > 0:
            left[source] -= 1
            lines.append(line)
    if missing := [source for source, count in left.items() if count == arguments.per_source]:
        sys.exit(f"run.py: {arguments.prompts} has no prompts of {', '.join(missing)}")
    chosen = arguments.out.with_suffix(".prompts.jsonl")
    chosen.write_text("\n".join(lines) + "\n")
    return chosen


def measure(arguments, prompts, run):
    command = [arguments.shortlist, "compare", "--json", "--model", arguments.target, "--draft", arguments.draft,
               *FORMATS[run["format"]], "--prompts", prompts, "--temperature", run["temperature"],
               "--max-new-tokens", arguments.max_new_tokens, "--repetitions", arguments.repetitions]  # fmt: skip
    if run["length"] is not None:
        command += ["--num-draft-tokens", run["length"]]
    if run["p_min"] is not None:
        command += ["--draft-p-min", run["p_min"]]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"run.py: exit code {done.returncode} from {' '.join(map(str, command))}")
    return {**run, "rows": json.loads(done.stdout)["rows"]}


def ways(run, source):
    """Returns the rows of a report about `source`, by name."""
    rows = [row for row in run["rows"] if row["group"] == "all" and row["source"] == source]
    plain = next(row for row in rows if row["decoding"] == "plain")
    full = next(row for row in rows if row["decoding"].startswith("draft, full head"))
    alone = next(row for row in rows if row["decoding"].startswith("draft, no list"))
    return plain, full, alone


def table(runs, sources):
    lines = [COLUMNS]
    for auto in (run for run in runs if run["length"] is None):
        swept = [run for run in runs if run["length"] is not None
                 and (run["format"], run["temperature"]) == (auto["format"], auto["temperature"])]
        for source in sources:
            plain, full, alone = ways(auto, source)
            best = max(((way["speed_up"], run["length"], run["p_min"], name) for run in swept
                        for name, way in zip(("full", "no list"), ways(run, source)[1:])), default=None)
            lines.append((
                auto["format"], auto["temperature"], source, f"{plain['tokens_per_s']:.1f}", f"{full['speed_up']:.2f}",
                f"{alone['speed_up']:.2f}", f"{best[0]:.2f} (K {best[1]}, {best[2]}, {best[3]})" if best else "",
                f"{alone['accept_length']:.2f} / {full['accept_length']:.2f}", f"{100 * alone['coverage']:.1f} %",
                f"{100 * alone['head_bytes_share']:.1f} %", str(full["identical"] and alone["identical"]).lower()))
    widths = [max(len(str(line[column])) for line in lines) for column in range(len(COLUMNS))]
    rows = ["| " + " | ".join(str(cell).ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
    rows.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(rows)


def main():
    arguments = parse_arguments()
    prompts = choose_prompts(arguments)
    runs = []
    for form in arguments.formats.split(","):
        for temperature in map(float, arguments.temperatures.split(",")):
            for length, p_min in [(None, arguments.p_min)] + (SWEEP if arguments.sweep else []):
                run = {"format": form, "temperature": temperature, "length": length, "p_min": p_min}
                print(" ".join(f"{name} {value}" for name, value in run.items() if value is not None), flush=True)
                runs.append(measure(arguments, prompts, run))
                arguments.out.write_text(json.dumps(runs, indent=1) + "\n")
    print(table(runs, arguments.sources.split(",")))


if __name__ == "__main__":
    main()
