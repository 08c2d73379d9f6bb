#!/usr/bin/env python3
"""Measures shortlist beside llama.cpp's own speculation with a draft model, on the same two GGUF files, greedy.

usage: bench/real/llama_cpp_speculation.py --llama llama-speculative-simple --target FILE.gguf --draft FILE.gguf
           --prompts FILE.jsonl --out FILE.json [--per-source N] [--sources ...] [--lengths 3,8] [--max-new-tokens N]

For each source, `shortlist compare` runs its prompts plainly and with the draft, and llama-speculative-simple runs the
same prompts one by one, with each draft length. Sources alternate, so that both see the same machine. Speeds are tokens
per second of decoding, without prompts; of llama.cpp the best draft length of each source counts. Both use --threads
threads and end at the end of a message.

llama-speculative-simple is built from llama.cpp with `cmake --build ... --target llama-speculative-simple`.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECODED = re.compile(r"decoded\s+(\d+) tokens in\s+([\d.]+) seconds")
COLUMNS = ("source", "plain", "shortlist", "llama.cpp", "its K", "shortlist / llama.cpp", "over plain", "accept length")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shortlist", type=pathlib.Path, default=ROOT / "build/release/shortlist")
    parser.add_argument("--llama", type=pathlib.Path, required=True, help="llama-speculative-simple")
    parser.add_argument("--target", type=pathlib.Path, required=True)
    parser.add_argument("--draft", type=pathlib.Path, required=True)
    parser.add_argument("--prompts", type=pathlib.Path, required=True, help="rows of bench/real/prompts.py")
    parser.add_argument("--per-source", type=int, default=3)
    parser.add_argument("--sources", default="HumanEval,GSM8K,MT-bench,translation")
    parser.add_argument("--lengths", default="3,8", help="draft lengths of llama.cpp, whose default is 3")
    parser.add_argument("--max-new-tokens", type=int, default=96)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    return parser.parse_args()


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode} from {' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done


def measure_llama(arguments, prompts, length):
    """Returns tokens per second over all prompts."""
    tokens, seconds = 0, 0.0
    for prompt in prompts:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(prompt + "\n")  # it drops the last line break of a file
            file.flush()
            done = run([arguments.llama, "-m", arguments.target, "-md", arguments.draft, "-f", file.name, "-n",
                        arguments.max_new_tokens, "-c", 4096, "--temp", 0, "--spec-draft-n-max", length, "-t", arguments.threads,
                        "-td", arguments.threads, "--spec-type", "draft-simple"])
        found = DECODED.search(done.stdout + done.stderr)
        if found is None:
            sys.exit(f"no speed in the output of {arguments.llama}")
        tokens += int(found[1])
        seconds += float(found[2])
    return tokens / seconds


def measure_shortlist(arguments, prompts, source):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps({"source": source, "prompt": prompt}) + "\n" for prompt in prompts)
        file.flush()
        done = run([arguments.shortlist, "compare", "--json", "--model", arguments.target, "--draft", arguments.draft,
                    "--prompts", file.name, "--temperature", 0, "--max-new-tokens", arguments.max_new_tokens, "--repetitions",
                    1, "--threads", arguments.threads])
    rows = [row for row in json.loads(done.stdout)["rows"] if row["group"] == "all" and row["source"] == source]
    plain = next(row for row in rows if row["decoding"] == "plain")
    drafted = next(row for row in rows if row["decoding"].startswith("draft, no list"))
    return plain, drafted


def main():
    arguments = parse_arguments()
    rows = [json.loads(line) for line in arguments.prompts.read_text().splitlines()]
    lines, results = [COLUMNS], []
    for source in arguments.sources.split(","):
        prompts = [row["prompt"] for row in rows if row["source"] == source][:arguments.per_source]
        if not prompts:
            sys.exit(f"{arguments.prompts} has no prompts of {source}")
        plain, drafted = measure_shortlist(arguments, prompts, source)
        llama = {length: measure_llama(arguments, prompts, length) for length in map(int, arguments.lengths.split(","))}
        length = max(llama, key=llama.get)
        results.append({"source": source, "plain": plain, "drafted": drafted, "llama.cpp": llama})
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")
        lines.append((source, f"{plain['tokens_per_s']:.1f}", f"{drafted['tokens_per_s']:.1f}", f"{llama[length]:.1f}",
                      str(length), f"{drafted['tokens_per_s'] / llama[length]:.2f}", f"{drafted['speed_up']:.2f}",
                      f"{drafted['accept_length']:.2f}"))
        print(lines[-1], flush=True)
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    table = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
    table.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print("\n".join(table))


if __name__ == "__main__":
    main()
