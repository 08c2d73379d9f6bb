#!/usr/bin/env python3
"""Measures shortlist's encoders next to sentence-transformers (PyTorch) and ONNX Runtime, interleaved in one run.

usage: bench/peers/encoders.py --work DIR [--models minilm,bge-base] [--threads 1,2] [--lengths 16,128,512,mixed]
                               [--batches 1,32] [--minutes M] [--max-batch-tokens N] [--sts FILE] [--quick]

All engines get the same token ids and return pooled, normalized vectors. Tokenizing is not measured, nor are sorting
and padding of the peers' batches. First all vectors are compared (f32: a cosine of at least 0.9999), and, with
MiniLM, each engine's Spearman correlation on the test split of the STS benchmark. Then the engines run alternately,
case by case, round by round, for M minutes in all. A figure is the median over the rounds, a ratio the median of the
rounds' ratios, with the lowest and the highest next to it. Rounds of a case during which other processes took more
than 3 % of the machine count only if all rounds of the case are such; then its line is marked "~".

  f32    f32 against the faster of both peers' f32
  best   the faster of our bf16 and int8 against the fastest of the peers' f32, bf16 in PyTorch, and dynamic int8 in
         ONNX Runtime if its correlation is at least that of our int8 less 0.0005

A case has as many texts as its batch, fewer if they would have more tokens than MAX_TOKENS; with mixed lengths
(evenly from 5 to 500) two batches. Batch 1: one text, or 8 of mixed lengths (4 with bge-base), each alone.

A full run, including --sts, writes bench/results/encoders.json and encoders.md; other runs write DIR/encoders.json
and .md. Needs build/release/bench/encoding_engine and the packages of requirements.txt. Nothing else should run on
the machine. On a processor where PyTorch fails with SIGILL, set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16.
"""

import argparse
import csv
import gzip
import json
import os
import statistics
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from encoder_engines import OnnxRuntime, SentenceTransformers, Shortlist
from encoder_models import MODELS, make_model, open_sentence_transformer
from quiet import MAX_SHARE_OF_OTHERS, Quiet, processor

ROOT = Path(__file__).resolve().parents[2]
LENGTHS = ("16", "128", "512", "mixed")
MAX_TOKENS = {"minilm": 8192, "bge-base": 2048}  # per case, so that all of them take a few minutes
COST = {"minilm": 2, "bge-base": 3}  # shares of the time
LEAST_COSINE = {"f32": 0.9999, "bf16": 0.99, "int8": 0.95}
SETTLE_SECONDS = 0.25  # until threads of the previous engine stop spinning; those of ONNX Runtime spin for long
SLICE_SECONDS = 0.1


def make_inputs(lengths, seed):
    random = np.random.default_rng(seed)
    return [[101, *random.integers(1000, 30000, length - 2).tolist(), 102] for length in lengths]


def make_case(model, batch, length):
    """Returns the inputs of a case, and the largest batch that the peers pad."""
    if length == "mixed":
        fits = MAX_TOKENS[model] // 252  # texts
        num_texts = min(8, fits // 2) if batch == 1 else min(2 * batch, fits)
        lengths = np.random.default_rng(7).permutation(np.linspace(5, 500, num_texts).round().astype(int))
        return make_inputs(lengths.tolist(), 3), min(batch, max(1, num_texts // 2))
    num_texts = max(1, min(batch, MAX_TOKENS[model] // int(length)))
    return make_inputs([int(length)] * num_texts, 5), num_texts


def open_engines(args, path, torch_models, num_threads):
    """Returns the engines by (name, kind)."""
    engines = [Shortlist(args.encoding_engine, str(path), kind, num_threads, args.max_batch_tokens)
               for kind in ("f32", "bf16", "int8")]
    engines += [SentenceTransformers(torch_models[kind], kind, num_threads) for kind in ("f32", "bf16")]
    engines += [OnnxRuntime(path, kind, num_threads) for kind in ("f32", "int8")]
    return {(engine.name, engine.kind): engine for engine in engines}


def check_vectors(engines):
    """Checks that all engines run the same model. Returns each engine's least cosine with PyTorch's f32."""
    inputs = make_inputs([5, 16, 41, 128, 300, 512], 11)
    vectors = {key: engine.vectors(engine.prepare(inputs, 4)) for key, engine in engines.items()}
    want = vectors["PyTorch", "f32"].astype(np.float64)
    cosines = {}
    for key, got in vectors.items():
        lengths = np.linalg.norm(got.astype(np.float64), axis=1) * np.linalg.norm(want, axis=1)
        cosines[key] = float(((got * want).sum(1) / lengths).min())
        if not cosines[key] >= LEAST_COSINE[key[1]]:
            sys.exit(f"{' '.join(key)}: a vector's cosine with PyTorch's f32 is {cosines[key]:.6f}")
    return cosines


def read_sts(path):
    """Returns (score, sentence, sentence) of the test split."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(float(row["score"]), row["sentence1"], row["sentence2"]) for row in rows if row["split"] == "test"]


def correlations(args, engines, tokenizer):
    """Returns the Spearman correlation of each engine's cosines with human scores."""
    pairs = read_sts(args.sts)[:200 if args.quick else None]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair[1:]))
    place = {text: row for row, text in enumerate(texts)}
    inputs = tokenizer(texts, truncation=True, max_length=512)["input_ids"]
    results = {}
    for key, engine in engines.items():
        rows = engine.vectors(engine.prepare(inputs, 32)).astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        cosines = [rows[place[a]] @ rows[place[b]] for _, a, b in pairs]
        results[key] = float(spearmanr(cosines, [pair[0] for pair in pairs]).statistic)
        print(f"Spearman of {' '.join(key)}: {results[key]:.4f}", file=sys.stderr)
    return results


def measure(engine, prepared):
    """Returns the seconds for all inputs."""
    time.sleep(SETTLE_SECONDS)
    seconds = engine.run(prepared, 1)
    if seconds < SLICE_SECONDS / 2:
        seconds = engine.run(prepared, min(1000, round(SLICE_SECONDS / max(seconds, 1e-5))))
    return seconds


def measure_rounds(label, engines, cases, seconds):
    """Runs rounds of each case until the time is over: {"others": share, (name, kind): tokens per second}."""
    own_pids = [os.getpid()] + [engine.pid for engine in engines.values() if engine.pid]
    prepared = {case: {key: engine.prepare(*inputs) for key, engine in engines.items()}
                for case, inputs in cases.items()}
    num_tokens = {case: sum(map(len, inputs)) for case, (inputs, _) in cases.items()}
    rounds = {case: [] for case in cases}
    begin = time.monotonic()
    number, longest = 0, 0.0
    while number == 0 or time.monotonic() - begin + longest < seconds:
        round_begin = time.monotonic()
        for case in cases:
            quiet = Quiet(own_pids)
            keys = list(engines)
            keys = keys[number % len(keys):] + keys[:number % len(keys)]
            rates = {key: num_tokens[case] / measure(engines[key], prepared[case][key]) for key in keys}
            rounds[case].append({"others": quiet.share_of_others()} | rates)
        number += 1
        longest = max(longest, time.monotonic() - round_begin)
        print(f"{label}: round {number}, {time.monotonic() - begin:.0f} of {seconds:.0f} s", file=sys.stderr)
    return rounds


def compare(rounds, ours, theirs):
    """Returns the fastest engine of each side by median, and the ratio of the two."""
    def fastest(keys):
        return max(keys, key=lambda key: statistics.median(one[key] for one in rounds))
    our_key, their_key = fastest(ours), fastest(theirs)
    ratios = [one[our_key] / one[their_key] for one in rounds]
    return {"ours": " ".join(our_key), "theirs": " ".join(their_key), "ratio": statistics.median(ratios),
            "ratio_low": min(ratios), "ratio_high": max(ratios)}


def summarise(rounds, counts_int8):
    quiet = [one for one in rounds if one["others"] <= MAX_SHARE_OF_OTHERS]
    counted = quiet or rounds
    keys = [key for key in rounds[0] if key != "others"]
    ours = [key for key in keys if key[0] == "shortlist"]
    theirs = [key for key in keys if key[0] != "shortlist"]
    best = [key for key in theirs if counts_int8 or key[1] != "int8"]
    return {"tokens_per_s": {" ".join(key): statistics.median(one[key] for one in counted) for key in keys},
            "f32": compare(counted, *([key for key in side if key[1] == "f32"] for side in (ours, theirs))),
            "best": compare(counted, [key for key in ours if key[1] != "f32"], best),
            "rounds": len(counted), "disturbed": not quiet,
            "all_rounds": [{"others": one["others"]} | {" ".join(key): one[key] for key in keys} for one in rounds]}


def measure_model(args, name, results):
    path = make_model(args.work, name)
    torch_models = {"f32": open_sentence_transformer(path), "bf16": open_sentence_transformer(path).bfloat16()}
    cases = {f"{batch} x {length}": make_case(name, batch, length) for batch in args.batches
             for length in args.lengths}
    result = results["models"][name] = {
        "texts": {case: len(inputs) for case, (inputs, _) in cases.items()},
        "batches": {case: batch for case, (_, batch) in cases.items()}, "threads": {}}
    weights = {(model, threads): COST[model] / threads for model in args.models for threads in args.threads}
    for num_threads in sorted(args.threads, reverse=True):
        engines = open_engines(args, path, torch_models, num_threads)
        result["engine"] = engines["shortlist", "f32"].description
        if "least_cosine" not in result:
            result["least_cosine"] = {" ".join(key): value for key, value in check_vectors(engines).items()}
            print(f"{name}: the vectors are the same", file=sys.stderr)
        if name == "minilm" and args.sts and "sts_spearman" not in results:
            results["sts_spearman"] = {" ".join(key): value for key, value
                                       in correlations(args, engines, torch_models["f32"].tokenizer).items()}
        seconds = 60 * args.minutes * weights[name, num_threads] / sum(weights.values())
        rounds = measure_rounds(f"{name}, {num_threads} threads", engines, cases, seconds)
        for engine in engines.values():
            engine.close()
        result["threads"][str(num_threads)] = {
            case: summarise(slices, counts_int8(results)) for case, slices in rounds.items()}


def counts_int8(results):
    """True if ONNX Runtime's int8 is as good as ours, or if that was not measured."""
    spearman = results.get("sts_spearman")
    return not spearman or spearman["ONNX Runtime int8"] >= spearman["shortlist int8"] - 0.0005


def table(results):
    """Returns a Markdown table."""
    lines = ["# Encoders next to sentence-transformers and ONNX Runtime", "",
             f"Made by `bench/peers/encoders.py` on {results['date']}, {results['processor']},",
             ", ".join(f"{name} {number}" for name, number in results["versions"].items()) + ".",
             "Tokens per second; padding does not count as tokens.", ""]
    if "sts_spearman" in results:
        spearman = results["sts_spearman"]
        lines += ["| MiniLM | " + " | ".join(spearman) + " |", "|---|" + "---:|" * len(spearman),
                  "| Spearman, STS-B | " + " | ".join(f"{value:.4f}" for value in spearman.values()) + " |", ""]
        if not counts_int8(results):
            lines += ["ONNX Runtime's int8 is below ours there and does not count as a peer's best.", ""]
    for name, model in results["models"].items():
        for num_threads, cases in sorted(model["threads"].items()):
            keys = list(next(iter(cases.values()))["tokens_per_s"])
            lines += [f"## {name}, threads: {num_threads}", "",
                      "| batch x tokens | texts | " + " | ".join(keys) + " | f32 ratio | low - high | best ratio "
                      "| low - high | rounds |", "|---|" + "---:|" * (len(keys) + 6)]
            for case, r in cases.items():
                figures = " | ".join(f"{r['tokens_per_s'][key]:,.0f}" for key in keys)
                ratios = " | ".join(f"**{r[kind]['ratio']:.2f}** | {r[kind]['ratio_low']:.2f} - "
                                    f"{r[kind]['ratio_high']:.2f}" for kind in ("f32", "best"))
                lines.append(f"| {'~ ' if r['disturbed'] else ''}{case} | {model['texts'][case]} | {figures} "
                             f"| {ratios} | {r['rounds']} |")
            lines.append("")
    return "\n".join(lines)


def list_in_readme(path):
    """Adds the results to the table of files, once."""
    row = ("| [encoders.md](encoders.md), [encoders.json](encoders.json) | encoders next to sentence-transformers and "
           "ONNX Runtime | [bench/peers/encoders.py](../peers/encoders.py) |")
    lines = path.read_text().split("\n")
    if row not in lines:
        lines.insert(next(i for i, line in enumerate(lines) if line.startswith("| [peers.json]")) + 1, row)
        path.write_text("\n".join(lines))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="models (1 GB, made once) and results")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--lengths", default=",".join(LENGTHS))
    parser.add_argument("--batches", default="1,32")
    parser.add_argument("--minutes", type=float, default=9, help="of measuring, in all")
    parser.add_argument("--max-batch-tokens", type=int, default=0, help="of our passes; 0: the server's default")
    parser.add_argument("--sts", type=Path, help="stsbenchmark.tsv.gz")
    parser.add_argument("--quick", action="store_true", help="one round of each case, 200 pairs of STS-B")
    parser.add_argument("--encoding-engine", default=ROOT / "build/release/bench/encoding_engine")
    args = parser.parse_args()
    args.is_full = not args.quick and args.sts is not None and not args.max_batch_tokens and all(
        getattr(args, name) == parser.get_default(name) for name in ("models", "threads", "lengths", "batches"))

    def split(name, known, kind=str):
        values = [value.strip() for value in getattr(args, name).split(",")]
        for value in values:
            if not (value in known if known else value.isdigit() and int(value) > 0):
                parser.error(f"--{name}: '{value}' is not {'of ' + ', '.join(known) if known else 'a number above 0'}")
        setattr(args, name, list(dict.fromkeys(map(kind, values))))
    split("models", MODELS)
    split("lengths", LENGTHS)
    split("threads", None, int)
    split("batches", None, int)
    args.minutes = 0 if args.quick else args.minutes
    if not Path(args.encoding_engine).exists():
        parser.error(f"no {args.encoding_engine}: build the release preset first")
    if args.sts and not args.sts.exists():
        parser.error(f"--sts: no {args.sts}")
    return args


def main():
    args = parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    packages = ("torch", "transformers", "sentence-transformers", "onnxruntime")
    results = {"date": date.today().isoformat(), "processor": processor(),
               "versions": {name: version(name) for name in packages}, "models": {}}
    for name in args.models:
        measure_model(args, name, results)
    directory = ROOT / "bench/results" if args.is_full else args.work
    (directory / "encoders.json").write_text(json.dumps(results, indent=1) + "\n")
    text = table(results)
    (directory / "encoders.md").write_text(text)
    if args.is_full:
        list_in_readme(directory / "README.md")
    print(text)


if __name__ == "__main__":
    main()
