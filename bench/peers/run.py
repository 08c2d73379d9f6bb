#!/usr/bin/env python3
"""Measures shortlist next to llama.cpp on the same random weights, interleaved in one run.

usage: bench/peers/run.py --work DIR [--formats bf16,8-bit,4-bit | --gguf FILE,...]
                          [--rounds N] [--seconds S] [--threads T]

With --gguf both engines open the same files, and compute from the weights' own blocks.

DIR receives the weights (3 GB, made once) and results.json, in which the formats of this run
replace those of earlier ones. The two engines run alternately, slice by slice, so that both see the
same machine state. A figure is the median over the rounds, a ratio the median of the rounds'
ratios, with the lowest and the highest next to it. A slice during which other processes took more
than 3 % of the machine is discarded and measured again. Prints a table:

  decode   one sequence, one token per step
  eight    eight sequences, eight rows per step (tokens per second of all together)
  prefill  a prompt of 512 tokens in one pass

Needs build/release/bench/engine_bench and the packages of requirements.txt. Nothing else should
run on the machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

from llama_cpp_engine import LlamaCppEngine, describe
from make_model import GGUF, HF_DIR, make_model
from quiet import MAX_SHARE_OF_OTHERS, Quiet, processor, wait_until_quiet

ROOT = Path(__file__).resolve().parents[2]
QUANTIZE = {"bf16": [], "8-bit": ["--quantize", "int8"], "4-bit": ["--quantize", "int4"]}
# Same as kWorks of bench/engine_bench.cc, in its order: sequences, prompt tokens, steps.
WORKS = {"decode": (1, 32, 32), "eight": (8, 32, 16), "prefill": (1, 512, 0)}


class Shortlist:
    """engine_bench, which waits for a line before each slice."""

    def __init__(self, binary, model_dir, quantize, num_threads):
        self._process = subprocess.Popen(
            [binary, "--model", model_dir, "--threads", str(num_threads), "--rounds", "1000000",
             "--wait", *quantize],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        self.description = self._read()

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"engine_bench ended with {self._process.wait()}")
        return json.loads(line)

    def measure(self, work):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        slice_ = self._read()
        assert slice_["work"] == work
        return slice_

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def measure_llama_cpp(engine, work):
    """Does with llama.cpp what engine_bench does for `work`. Returns tokens per second."""
    num_sequences, prompt_len, num_steps = WORKS[work]
    engine.clear()
    prompts = [[(104729 * s + 7919 * i) % engine.vocab_size, i, s, i == prompt_len - 1]
               for s in range(num_sequences) for i in range(prompt_len)]
    seconds = engine.forward(prompts)
    if num_steps == 0:
        return prompt_len / seconds
    # The choice of the next token does not affect the work, so no time is spent on it.
    seconds = sum(engine.forward([(7919 * (step + s) % engine.vocab_size, prompt_len + step, s, True)
                                  for s in range(num_sequences)])
                  for step in range(num_steps))
    return num_sequences * num_steps / seconds


def rank_of(logits, token):
    """Returns the number of logits greater than that of `token`."""
    own = logits[token]
    return sum(value > own for value in logits)


def measure_slices(name, ours, theirs, args):
    """Runs the engines alternately: for each kind of work, returns the valid slices of both."""
    own_pids = [os.getpid(), ours.pid]
    slices = {work: {"ours": [], "theirs": []} for work in WORKS}
    deadline = time.monotonic() + args.seconds
    while time.monotonic() < deadline and len(slices["prefill"]["ours"]) < args.rounds:
        for work, both in slices.items():
            wait_until_quiet(own_pids, deadline)
            quiet = Quiet(own_pids)
            our_slice = ours.measure(work)
            their_rate = measure_llama_cpp(theirs, work)
            others = quiet.share_of_others()
            print(f"{name} {work}: {our_slice['tokens_per_s']:.1f} and {their_rate:.1f} tokens/s, "
                  f"others {others:.1%}", file=sys.stderr)
            if others < MAX_SHARE_OF_OTHERS:
                both["ours"].append(our_slice)
                both["theirs"].append(their_rate)
    if not all(both["ours"] for both in slices.values()):
        sys.exit(f"other processes kept the machine busy for {args.seconds} seconds")
    return slices


def measure_format(name, args):
    """Runs both engines over one format's weights, or one of --gguf. Returns a result for each kind
    of work."""
    gguf = args.gguf[name] if args.gguf else args.work / GGUF[name]
    ours = Shortlist(args.engine_bench, str(gguf if args.gguf else args.work / HF_DIR),
                     QUANTIZE.get(name, []), args.threads)
    theirs = LlamaCppEngine(gguf, args.threads, num_sequences=8, context_len=768, max_batch=512)
    for work in WORKS:  # warms up caches and threads
        our_slice = ours.measure(work)
        measure_llama_cpp(theirs, work)
    # The last work was the prefill. 0 if both run the same model and rounding had no effect.
    rank = rank_of(theirs.logits(), our_slice["first_output"])
    slices = measure_slices(name, ours, theirs, args)
    ours.close()
    theirs.close()
    return {"date": date.today().isoformat(), "processor": processor(), "threads": args.threads,
            "shortlist": ours.description,
            "llama.cpp": {"weights": gguf.name, "weight_bytes": theirs.weight_bytes, **describe()},
            "rank_of_our_best_token_with_llama.cpp": rank,
            "works": {work: summarise(both) for work, both in slices.items()}}


def summarise(both):
    """Returns medians over the rounds of one kind of work."""
    def median(key):
        return statistics.median(s[key] for s in both["ours"])
    ratios = [ours["tokens_per_s"] / theirs for ours, theirs in zip(both["ours"], both["theirs"])]
    return {"shortlist_tokens_per_s": median("tokens_per_s"),
            "llama.cpp_tokens_per_s": statistics.median(both["theirs"]),
            "ratio": statistics.median(ratios), "ratio_low": min(ratios), "ratio_high": max(ratios),
            "shortlist_ms": median("ms"),
            "of_read": median("of_read"), "read_gb_per_s": median("read_gb_per_s"),
            "of_peak": median("of_peak"), "peak_gflop_per_s": median("peak_gflop_per_s"),
            "rounds": {"shortlist": [s["tokens_per_s"] for s in both["ours"]],
                       "llama.cpp": both["theirs"]}}


def print_table(results):
    print("| weights | work | shortlist tok/s | llama.cpp tok/s | ratio | low - high "
          "| of read | of peak |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, result in results.items():
        for work, r in result["works"].items():
            print(f"| {name} | {work} | {r['shortlist_tokens_per_s']:.1f} "
                  f"| {r['llama.cpp_tokens_per_s']:.1f} | {r['ratio']:.2f} "
                  f"| {r['ratio_low']:.2f} - {r['ratio_high']:.2f} "
                  f"| {r['of_read']:.2f} | {r['of_peak']:.2f} |")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="weights and results")
    parser.add_argument("--formats", default=",".join(GGUF), help="of " + ", ".join(GGUF))
    parser.add_argument("--gguf", default="", help="files to measure in place of the formats")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=120, help="at most, for each format")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--engine-bench", default=ROOT / "build/release/bench/engine_bench")
    args = parser.parse_args()
    args.gguf = {Path(path).stem: Path(path) for path in args.gguf.split(",") if path}
    args.formats = list(args.gguf) or args.formats.split(",")
    for name in args.formats:
        if not args.gguf and name not in GGUF:
            parser.error(f"--formats: '{name}' not in {', '.join(GGUF)}")
    if args.rounds < 1 or args.threads < 1:
        parser.error("--rounds and --threads are at least 1")
    if not Path(args.engine_bench).exists():
        parser.error(f"no {args.engine_bench}: build the release preset first")
    return args


def main():
    args = parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    if not args.gguf:
        make_model(args.work, args.formats)
    results_path = args.work / "results.json"
    results = json.loads(results_path.read_text()) if results_path.exists() else {}
    for name in args.formats:
        results[name] = measure_format(name, args)
        results_path.write_text(json.dumps(results, indent=1) + "\n")
    print_table({name: results[name] for name in args.formats})


if __name__ == "__main__":
    main()
