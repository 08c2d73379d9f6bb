#!/usr/bin/env python3
"""Measures which rows a draft must score: accept lengths on the demo pair for sketches, lists and own rows.

usage: bench/demo/rows.py [--shortlist BINARY] [--prompts FILE] [--max-new-tokens N] [--out FILE.md]

Every way to choose rows decodes all prompts once, greedily and at temperature 0.8, with 128 own rows per request
(prompt and escapes). Greedy figures use only outputs of which less than 30 % repeats itself. The list of the wrong
domain is counted here from Python's standard library, which does not resemble the pair's training data. Accept
lengths do not depend on the machine's speed. Takes about ten minutes; writes bench/results/rows.md.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "vocab_lists/demo.vocab.json"
SKETCH = ["--sketch", str(ROOT / "vocab_lists/demo.sketch")]
PAIR = ["--model", str(ROOT / "models/demo/target"), "--draft", str(ROOT / "models/demo/draft")]


def ways(wrong_list):
    """Name and flags of each way to choose rows."""
    chosen = ":top=512:successors=384"
    return [
        ("512 of the list + 384 successors", ["--vocab", f"{LIST}{chosen}"]),
        ("the same + sketch", ["--vocab", f"{LIST}{chosen}", *SKETCH]),
        ("no list, no sketch", ["--vocab", "empty"]),
        ("no list, sketch", ["--vocab", "empty", *SKETCH]),
        ("list of the wrong domain, 512 + 384", ["--vocab", f"{wrong_list}{chosen}"]),
        ("the same + sketch", ["--vocab", f"{wrong_list}{chosen}", *SKETCH]),
        ("list of the wrong domain, 64, sketch", ["--vocab", f"{wrong_list}:top=64", *SKETCH, "--sketch-rows", "224"]),
    ]


def build_wrong_list(arguments, folder):
    texts = sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))
    path = pathlib.Path(folder) / "python.vocab.json"
    subprocess.run([str(arguments.shortlist), "vocab", "build", "--model", str(ROOT / "models/demo/target"), "--text",
                    *map(str, texts), "--pin", "control", "--out", str(path)], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return path


def compare(arguments, flags, temperature):
    """Returns rows over all prompts (greedy: those with few repeats): plain decoding, the full head, and those of
    `flags`."""
    done = subprocess.run(
        [str(arguments.shortlist), "compare", "--json", *PAIR, *flags, "--dynamic-rows", "128", "--prompts",
         str(arguments.prompts), "--max-new-tokens", str(arguments.max_new_tokens), "--repetitions", "1",
         "--temperature", str(temperature)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode != 0:
        sys.exit(f"rows.py: exit code {done.returncode} from {done.args}")
    rows = json.loads(done.stdout)["rows"]
    if not all(row["identical"] for row in rows):
        sys.exit(f"rows.py: an output is not plain decoding's: {done.args}")
    group = "few_repeats" if temperature == 0 else "all"
    return [row for row in rows if row["group"] == group and row["source"] is None]


def line(name, row, full):
    own = {source: counts["tokens"] for source, counts in row["sources"].items() if counts["tokens"]}
    total = sum(own.values())
    shares = ", ".join(f"{source} {100 * tokens / total:.1f}" for source, tokens in
                       sorted(own.items(), key=lambda pair: -pair[1])) if total else "-"
    return (f"| {name} | {row['accept_length']:.3f} | {100 * row['accept_length'] / full['accept_length']:.1f} % "
            f"| {100 * row['head_bytes_share']:.1f} % | {100 * row['coverage']:.2f} % | {shares.replace('none', 'escaped')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shortlist", type=pathlib.Path, default=ROOT / "build/release/shortlist")
    parser.add_argument("--prompts", type=pathlib.Path, default=ROOT / "bench/demo/prompts.jsonl")
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench/results/rows.md")
    arguments = parser.parse_args()
    lines = ["# Which rows a draft must score", "",
             "Made by `bench/demo/rows.py`: the demo pair's EAGLE draft, with 128 rows of the request's own in all but the",
             "full head. Every output equals plain decoding's. The last column shows, in percent, why the draft could",
             "propose the emitted tokens.", ""]
    with tempfile.TemporaryDirectory() as folder:
        choices = ways(build_wrong_list(arguments, folder))
        for temperature in (0, 0.8):
            title = "Temperature 0.8" if temperature else "Greedy, outputs under 30 % repeated"
            table = []
            for name, flags in choices:
                print(f"{title}: {name}", file=sys.stderr)
                rows = compare(arguments, flags, temperature)
                full = next(row for row in rows if row["decoding"] == "draft, full head")
                if not table:
                    table += [f"## {title}, {full['num_prompts']} prompts", "",
                              "| rows | accept length | of the full head's | head bytes at most | coverage | tokens by source |",
                              "|---|---:|---:|---:|---:|---|", line("full head", full, full)]
                table.append(line(name, rows[-1], full))
            lines += table + [""]
    arguments.out.write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
