#!/usr/bin/env python3
"""Measures `shortlist tokenize` next to Hugging Face's `tokenizers`: same texts, same threads, alternately.

usage: bench/tokenizers_bench.py SHORTLIST DATA [--megabytes N] [--rounds N] [--threads N] [--only NAME,NAME]
  SHORTLIST  the binary
  DATA       the directory with tokenizers/ and corpora/

Every round starts both sides anew, so neither has cached words. Only encoding is timed, without reading files or
loading the tokenizer. The library encodes a batch without offsets, which is its fastest way. A figure is the median
over the rounds, a ratio the median of the rounds' ratios, with the lowest and the highest next to it. Nothing else
should run on the machine.
Needs: pip install tokenizers sentencepiece
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("shortlist")
    parser.add_argument("data", type=Path)
    parser.add_argument("--megabytes", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", type=lambda names: names.split(","))
    return parser.parse_args()


ARGS = parse_args()
# The library reads these when it is loaded.
os.environ["RAYON_NUM_THREADS"] = str(ARGS.threads)
os.environ["TOKENIZERS_PARALLELISM"] = "true"

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/reference"))
from tokenizer_families import documents, tokenizer_files  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402


def our_seconds(path, rows):
    result = subprocess.run([ARGS.shortlist, "tokenize", "--tokenizer", path, "--input", rows, "--jsonl", "--threads",
                             str(ARGS.threads)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(f"{path}: {result.stderr}")
    return float(result.stderr.split(" tokens in ")[1].split(" s ")[0])


def library_seconds(path, texts):
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    begin = time.perf_counter()
    tokenizer.encode_batch_fast(texts)
    return time.perf_counter() - begin


def main():
    texts = documents(ARGS.data, ARGS.megabytes * 1e6)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    print(f"{megabytes:.1f} MB in {len(texts)} texts, {ARGS.threads} threads, {ARGS.rounds} rounds")
    print(f"{'tokenizer':20} {'shortlist':>14} {'tokenizers':>14}   ratio")
    with tempfile.TemporaryDirectory() as folder:
        rows = str(Path(folder) / "texts.jsonl")
        Path(rows).write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
        for name, path in tokenizer_files(ARGS.data, folder, ARGS.only).items():
            pairs = [(our_seconds(path, rows), library_seconds(path, texts)) for _ in range(ARGS.rounds)]
            ours, theirs = (statistics.median(side) for side in zip(*pairs))
            ratios = sorted(their / our for our, their in pairs)
            print(f"{name:20} {megabytes / ours:9.1f} MB/s {megabytes / theirs:9.1f} MB/s   "
                  f"{statistics.median(ratios):.1f} x ({ratios[0]:.1f} to {ratios[-1]:.1f})", flush=True)


if __name__ == "__main__":
    main()
