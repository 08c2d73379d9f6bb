#!/usr/bin/env python3
"""Compares `shortlist embed` with sentence-transformers: the cosine of each text's two vectors, and the Spearman
correlation with human judgements on the test split of the STS benchmark, for weights in f32, bf16 and int8.

usage: compare_embeddings.py SHORTLIST MODEL STSBENCHMARK.tsv.gz [--threads N]

Exits with 1 if a cosine is below its bound or a correlation differs by more than allowed.
Needs: pip install sentence-transformers scipy. On a processor where PyTorch fails with SIGILL, set
ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16.
"""

import argparse
import csv
import gzip
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

# Flags, minimum cosine, maximum difference of the correlation.
KINDS = {
    "f32": (["--dtype", "f32"], 0.99999, 0.0005),
    "bf16": (["--dtype", "bf16"], 0.999, 0.0005),
    "int8": (["--dtype", "f32", "--quantize", "int8"], 0.995, 0.003),
}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("shortlist")
    parser.add_argument("model")
    parser.add_argument("stsbenchmark", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def read_pairs(path):
    """Returns (split, score, sentence, sentence) of each row."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["split"], float(row["score"]), row["sentence1"], row["sentence2"]) for row in rows]


def our_vectors(args, texts, flags):
    with tempfile.TemporaryDirectory() as directory:
        source, out = Path(directory, "texts.txt"), Path(directory, "vectors.npy")
        source.write_text("\n".join(texts) + "\n", encoding="utf-8")
        result = subprocess.run([args.shortlist, "embed", "--model", args.model, "--in", source, "--out", out,
                                 "--threads", str(args.threads), *flags], capture_output=True, text=True)
        if result.returncode:
            sys.exit(result.stderr)
        return np.load(out), result.stderr.strip().split("\n")[-1]


def correlation(vectors, place, pairs):
    """Returns the Spearman correlation of cosines and scores."""
    def unit(index):
        rows = vectors[[place[pair[index]] for pair in pairs]].astype(np.float64)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return spearmanr((unit(2) * unit(3)).sum(axis=1), [pair[1] for pair in pairs]).statistic


def main():
    args = parse_args()
    pairs = read_pairs(args.stsbenchmark)
    texts = list(dict.fromkeys(text for pair in pairs for text in pair[2:]))
    place = {text: row for row, text in enumerate(texts)}
    test = [pair for pair in pairs if pair[0] == "test"]
    model = SentenceTransformer(args.model, device="cpu")
    begin = time.perf_counter()
    want = model.encode(texts, batch_size=32)
    seconds = time.perf_counter() - begin
    reference = correlation(want, place, test)
    print(f"{len(texts)} texts, {len(test)} pairs; sentence-transformers: {seconds:.1f} s, Spearman {reference:.5f}")
    fails = False
    for kind, (flags, least, most) in KINDS.items():
        got, report = our_vectors(args, texts, flags)
        lengths = np.linalg.norm(got.astype(np.float64), axis=1) * np.linalg.norm(want.astype(np.float64), axis=1)
        cosines = (got.astype(np.float64) * want).sum(axis=1) / lengths
        ours = correlation(got, place, test)
        fits = cosines.min() >= least and abs(ours - reference) <= most
        fails |= not fits
        print(f"{kind}: cosine least {cosines.min():.7f}, mean {cosines.mean():.7f}; Spearman {ours:.5f} "
              f"({ours - reference:+.5f}){'' if fits else '  OUT OF BOUNDS'}\n  {report}")
    sys.exit(int(fails))


if __name__ == "__main__":
    main()
