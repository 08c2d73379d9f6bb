#!/usr/bin/env python3
"""Writes prompts whose answers repeat earlier text, for `shortlist compare --draft suffix --prompts`.

usage: bench/real/repetitive.py [--per-source N] [--data DIR] OUT.jsonl

Sources, each with N rows (12):
  edit   a solved HumanEval function is to be renamed, and returned whole
  agent  a HumanEval function is asked for three times in a row: to be completed, with type hints, and after the
         answer of the reference failed its tests; later answers repeat earlier ones
  git    a file of this repository (500 to 4,000 bytes) as it was before a commit, with the commit's diff, is to be
         returned as a whole after it; the latest commits first
  chat   MT-bench's first turns: nothing to repeat

A row is {"source", "prompt"}; the prompt is in ChatML, the chat template of Qwen's models. `compare` groups by source.
Data are read from --data or $SHORTLIST_SHARED_DATA, else from ../shared/data next to the repository.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

from prompts import ROOT, at_stride, read_rows


def chat(*turns):
    """Returns ChatML of turns that alternate between user and assistant, up to the next answer."""
    roles = ("user", "assistant")
    text = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    for number, turn in enumerate(turns):
        text += f"<|im_start|>{roles[number % 2]}\n{turn}<|im_end|>\n"
    return text + "<|im_start|>assistant\n"


def edits(rows):
    for row in rows:
        name = row["entry_point"]
        yield chat(f"Rename the function {name} to {name}_v2. Return the whole code.\n\n```python\n"
                   f"{row['prompt']}{row['canonical_solution']}```")


def agent_turns(rows):
    for row in rows:
        asked = f"Complete the following Python function.\n\n```python\n{row['prompt'].rstrip()}\n```"
        answer = f"```python\n{row['prompt']}{row['canonical_solution']}```"
        yield chat(asked)
        yield chat(asked.replace("function.", "function, with type hints."))
        yield chat(asked, answer, "The tests failed with an AssertionError. Return the whole corrected function.")


def git(*arguments):
    return subprocess.run(("git", "-C", str(ROOT), *arguments), check=True, capture_output=True, text=True).stdout


def commits(count):
    """Yields a prompt for each of the latest changes of a file of moderate size."""
    for commit in git("log", "--no-merges", "--format=%H", "--", "*.cc", "*.h").split():
        for path in git("show", "--format=", "--name-only", "--diff-filter=M", commit).split():
            diff = git("show", "--format=", commit, "--", path)
            before = git("show", f"{commit}~1:{path}") if path.endswith((".cc", ".h")) and len(diff) < 2000 else ""
            if not 500 < len(before) < 4000:
                continue
            yield chat(f"Apply this change and return the whole file.\n\n```diff\n{diff}```\n\n```cpp\n{before}```")
            count -= 1
            if count == 0:
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-source", type=int, default=12, metavar="N")
    parser.add_argument("--data", type=Path, metavar="DIR",
                        default=Path(os.environ.get("SHORTLIST_SHARED_DATA", ROOT.parent / "shared/data")))
    parser.add_argument("output", type=Path, metavar="OUT.jsonl")
    arguments = parser.parse_args()
    count = arguments.per_source
    if count < 1:
        parser.error(f"--per-source {count}; expected at least 1")
    functions = read_rows(arguments.data / "prompts/HumanEval.jsonl.gz")
    questions = read_rows(arguments.data / "prompts/mt_bench.jsonl")
    sources = {
        "edit": edits(at_stride(functions, count)),
        "agent": list(agent_turns(at_stride(functions, (count + 2) // 3)))[:count],
        "git": commits(count),
        "chat": (chat(row["turns"][0]) for row in at_stride(questions, count)),
    }
    with open(arguments.output, "w", encoding="utf-8") as file:
        for source, prompts in sources.items():
            for prompt in prompts:
                file.write(json.dumps({"source": source, "prompt": prompt}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
