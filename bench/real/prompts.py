#!/usr/bin/env python3
"""Writes prompts of public benchmarks for `shortlist compare --prompts`, each as a user's chat message.

usage: bench/real/prompts.py --model MODEL [--per-source N] [--data DIR] OUT.jsonl

Sources: HumanEval (code), GSM8K's test set (arithmetic), MT-bench (mixed, first turns) and Spec-Bench's translations,
summaries, questions and retrieved passages. Its other categories are MT-bench's and GSM8K's. Each gives N rows (24), at
a fixed stride over its file. A row is {"source", "prompt"}. `compare` groups by source and uses a prompt unchanged, so
the chat template of MODEL, a directory or a GGUF file, is applied here. Data are read from --data or
$SHORTLIST_SHARED_DATA, else from ../shared/data next to the repository. Needs requirements.txt.
"""

import argparse
import gzip
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def read_rows(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def questions(folder):
    """Returns all questions by source, in the order of their files."""
    return {
        "HumanEval": [f"Complete the following Python function.\n\n```python\n{row['prompt'].rstrip()}\n```"
                      for row in read_rows(folder / "HumanEval.jsonl.gz")],
        "GSM8K": [row["question"] for row in read_rows(folder / "gsm8k_test.jsonl")],
        "MT-bench": [row["turns"][0] for row in read_rows(folder / "mt_bench.jsonl")],
        **{category: [row["turns"][0] for row in read_rows(folder / "spec_bench.jsonl") if row["category"] == category]
           for category in ("translation", "summarization", "qa", "rag")},
    }


def at_stride(rows, count):
    """Returns `count` rows at equal distances, starting with the first; all rows if there are fewer."""
    count = min(count, len(rows))
    return [rows[number * len(rows) // count] for number in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="whose chat template is applied")
    parser.add_argument("--per-source", type=int, default=24, metavar="N")
    parser.add_argument("--data", type=Path, metavar="DIR",
                        default=Path(os.environ.get("SHORTLIST_SHARED_DATA", ROOT.parent / "shared/data")))
    parser.add_argument("output", type=Path, metavar="OUT.jsonl")
    arguments = parser.parse_args()
    if arguments.per_source < 1:
        parser.error(f"--per-source {arguments.per_source}; expected at least 1")
    folder = arguments.data / "prompts"
    if not folder.is_dir():
        sys.exit(f"prompts.py: {folder} does not exist; set SHORTLIST_SHARED_DATA or --data")
    from transformers import AutoTokenizer  # repetitive.py, which imports this module, needs none

    if arguments.model.suffix == ".gguf":
        tokenizer = AutoTokenizer.from_pretrained(arguments.model.parent, gguf_file=arguments.model.name)
    else:
        tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    with open(arguments.output, "w", encoding="utf-8") as file:
        for source, texts in questions(folder).items():
            chosen = at_stride(texts, arguments.per_source)
            for text in chosen:
                prompt = tokenizer.apply_chat_template([{"role": "user", "content": text}], tokenize=False,
                                                       add_generation_prompt=True)
                file.write(json.dumps({"source": source, "prompt": prompt}, ensure_ascii=False) + "\n")
            print(f"{source}: {len(chosen)} of {len(texts)} prompts")


if __name__ == "__main__":
    main()
