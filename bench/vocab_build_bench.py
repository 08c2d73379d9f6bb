#!/usr/bin/env python3
"""Measures how fast `shortlist vocab build` counts, next to a Python loop over tokenizers' encode_batch.

usage: vocab_build_bench.py SHORTLIST TOKENIZER.json TEXT.jsonl [--threads N] [--repetitions N]

Both use the same number of threads and count tokens of the rows' "text"; shortlist also counts pairs and writes the
list. The loop adds up the ids of a batch with numpy, its cheapest way. Interleaved; the fastest run of each counts.
Needs numpy and tokenizers.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

ROWS_PER_BATCH = 1000


def run_shortlist(args):
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        subprocess.run(
            [args.shortlist, "vocab", "build", "--tokenizer", args.tokenizer, "--text", args.text, "--out",
             os.path.join(folder, "list.vocab.json"), "--threads", str(args.threads)],
            check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - begin


def run_loop(args):
    import numpy as np
    from tokenizers import Tokenizer

    begin = time.monotonic()
    tokenizer = Tokenizer.from_file(args.tokenizer)
    counts = np.zeros(tokenizer.get_vocab_size(), np.int64)
    with open(args.text, encoding="utf-8") as file:
        while rows := [json.loads(line)["text"] for _, line in zip(range(ROWS_PER_BATCH), file)]:
            for encoding in tokenizer.encode_batch(rows, add_special_tokens=False):
                counts += np.bincount(encoding.ids, minlength=len(counts))
    return time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shortlist")
    parser.add_argument("tokenizer")
    parser.add_argument("text")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repetitions", type=int, default=3)
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)
    best = {run_shortlist: float("inf"), run_loop: float("inf")}
    for _ in range(args.repetitions):
        for run in best:
            best[run] = min(best[run], run(args))
    megabytes = os.path.getsize(args.text) / 1e6
    for run, seconds in best.items():
        print(f"{run.__name__[4:]:10} {seconds:8.2f} s {megabytes / seconds:8.1f} MB/s")
    print(f"ratio      {best[run_loop] / best[run_shortlist]:8.2f}")


if __name__ == "__main__":
    main()
