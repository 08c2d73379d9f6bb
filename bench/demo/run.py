#!/usr/bin/env python3
"""Measures the demo pair: every draft, greedy and at temperature 0.8, over several sizes of the vocabulary list.

Runs `shortlist compare --sweep` over held-out prompts, once per draft and temperature, and writes to --out
  demo.json   the reports of compare, and the machine
  demo.md     tables for bench/results
  demo.svg    tokens/s and accept length against the rows that a draft step scores

usage: bench/demo/run.py [--draft NAME=DIR]... [--prompts FILE.jsonl] [--prefix 'taskset -c 0,1'] ...
"""

import argparse
import json
import pathlib
import platform
import shlex
import subprocess
import sys
import time

import plot
import tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPERATURES = (0.0, 0.8)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shortlist", type=pathlib.Path, default=ROOT / "build/release/shortlist")
    parser.add_argument("--target", type=pathlib.Path, default=ROOT / "models/demo/target")
    parser.add_argument("--draft", action="append", metavar="NAME=DIR", help="default: the shipped drafts")
    parser.add_argument("--vocab", type=pathlib.Path, default=ROOT / "vocab_lists/demo.vocab.json")
    parser.add_argument("--dynamic-rows", type=int, default=128)
    parser.add_argument("--successors", type=int, default=384, help="most rows of a token's successors; 0: none")
    parser.add_argument("--prompts", type=pathlib.Path, default=ROOT / "bench/demo/prompts.jsonl")
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--prefix", default="", help="command that each measurement is run by")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results")
    parser.add_argument("--from-json", action="store_true", help="tables and plot from --out/demo.json, without measuring")
    return parser.parse_args()


def drafts(arguments):
    """Name and directory of each draft to measure."""
    if arguments.draft:
        pairs = [entry.split("=", 1) for entry in arguments.draft]
        if any(len(pair) != 2 for pair in pairs):
            sys.exit("run.py: --draft takes NAME=DIR")
        return [(name, pathlib.Path(folder)) for name, folder in pairs]
    shipped = [("EAGLE", ROOT / "models/demo/draft"), ("small Llama", ROOT / "models/demo/small_draft")]
    return [(name, folder) for name, folder in shipped if folder.exists()]


def measure(arguments, folder, temperature):
    command = shlex.split(arguments.prefix) + [
        str(arguments.shortlist), "compare", "--sweep", "--json",
        "--model", str(arguments.target), "--draft", str(folder),
        "--vocab", f"{arguments.vocab}:successors={arguments.successors}" if arguments.successors else str(arguments.vocab),
        "--dynamic-rows", str(arguments.dynamic_rows),
        "--prompts", str(arguments.prompts), "--max-new-tokens", str(arguments.max_new_tokens),
        "--repetitions", str(arguments.repetitions), "--temperature", str(temperature),
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"run.py: exit code {done.returncode} from {shlex.join(command)}")
    return json.loads(done.stdout)


def machine():
    """The processor's name, or what the platform module knows."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    arguments = parse_arguments()
    results = arguments.out / "demo.json"
    if arguments.from_json:
        report = json.loads(results.read_text())
    else:
        runs = []
        for name, folder in drafts(arguments):
            for temperature in TEMPERATURES:
                started = time.monotonic()
                print(f"{name}, temperature {temperature} ...", flush=True)
                runs.append({"draft": name, **measure(arguments, folder, temperature)})
                print(f"  {time.monotonic() - started:.0f} s", flush=True)
        report = {"machine": machine(), "runs": runs}
        arguments.out.mkdir(parents=True, exist_ok=True)
        results.write_text(json.dumps(report, indent=1) + "\n")
    text = tables.markdown(report)
    (arguments.out / "demo.md").write_text(text)
    (arguments.out / "demo.svg").write_text(plot.svg(report))
    print(text)


if __name__ == "__main__":
    main()
