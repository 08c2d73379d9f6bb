#!/usr/bin/env python3
"""Compares `shortlist tokenize` and `detokenize` with Hugging Face's `tokenizers`, with `sentencepiece` and with
llama.cpp's expected ids, on a mixed corpus, and reports the encoding time.

usage: compare_tokenizers.py SHORTLIST DATA [--megabytes N] [--only NAME] [--threads N]
  SHORTLIST  the binary
  DATA       the directory with tokenizers/ and corpora/

A difference counts as one of Unicode tables if the text contains a code point that the two sides treat differently on
its own, between letters or next to a mark. Any other difference is an error (exit code 1).
Needs: pip install tokenizers sentencepiece
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("shortlist")
    parser.add_argument("data", type=Path)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--only")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


ARGS = parse_args()
# The library reads these when it is loaded.
os.environ["RAYON_NUM_THREADS"] = str(ARGS.threads)
os.environ["TOKENIZERS_PARALLELISM"] = "true"

import sentencepiece  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402
from tokenizer_families import corpus, tokenizer_files  # noqa: E402


def run_shortlist(command, tokenizer, rows, *flags):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
        file.flush()
        result = subprocess.run([ARGS.shortlist, command, "--tokenizer", tokenizer, "--input", file.name,
                                 "--jsonl", "--json", *flags], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{tokenizer}: {result.stderr}")
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]], result.stderr


def our_ids(tokenizer, texts):
    rows, report = run_shortlist("tokenize", tokenizer, texts, "--threads", str(ARGS.threads))
    return [row["ids"] for row in rows], float(report.split(" tokens in ")[1].split(" s ")[0])


def library_ids(tokenizer, texts):
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    begin = time.perf_counter()
    encodings = tokenizer.encode_batch_fast(texts)
    seconds = time.perf_counter() - begin
    return [encoding.ids for encoding in encodings], seconds


def unlike_code_points(path, tokenizer):
    """Returns the code points that the two sides treat differently."""
    chars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    texts = [f"a{c}a {c}1{c}'s {c}\u0301\u0316a\u0301{c}b\u0301{c}" for c in chars]
    ours, _ = our_ids(path, texts)
    theirs, _ = library_ids(tokenizer, texts)
    return {c for c, mine, other in zip(chars, ours, theirs) if mine != other}


def spell_ranges(chars):
    """"U+41..U+43 U+61" and so on."""
    ranges = []
    for code in sorted(map(ord, chars)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return " ".join(f"U+{first:X}" + (f"..U+{last:X}" if last > first else "") for first, last in ranges)


def compare(name, path, tokenizer, texts):
    """Returns the number of differences that Unicode tables do not explain."""
    ours, our_seconds = our_ids(path, texts)
    theirs, their_seconds = library_ids(tokenizer, texts)
    different = [i for i, (mine, other) in enumerate(zip(ours, theirs)) if mine != other]
    unlike = unlike_code_points(path, tokenizer) if different else set()
    errors = [i for i in different if not unlike & set(texts[i])]
    sizes = sum(len(text.encode()) for text in texts) / 1e6

    sample = [i for i in range(0, len(texts), 7) if i not in different]
    decoded, _ = run_shortlist("detokenize", path, [ours[i] for i in sample])
    wrong = [i for i, row in zip(sample, decoded)
             if row["text"] != tokenizer.decode(ours[i]).replace("</w>", " ")]
    print(f"{name:20} {len(texts)} texts, {sizes:.1f} MB: {len(different)} differ, {len(errors)} of them not by "
          f"Unicode tables ({len(unlike)} code points unlike); {len(wrong)} of {len(sample)} decode unlike; "
          f"{sizes / our_seconds:.1f} MB/s against {sizes / their_seconds:.1f}: "
          f"{their_seconds / our_seconds:.1f} x", flush=True)
    if unlike:
        print(f"  unlike: {spell_ranges(unlike)}")
    for i in errors[:5]:
        at = next((k for k, (a, b) in enumerate(zip(ours[i], theirs[i])) if a != b), 0)
        print(f"  {texts[i][:60]!r} at token {at}: {ours[i][at:at + 6]} against {theirs[i][at:at + 6]}")
    for i in wrong[:5]:
        print(f"  decodes to {run_shortlist('detokenize', path, [ours[i]])[0][0]['text'][:80]!r} "
              f"against {tokenizer.decode(ours[i])[:80]!r}")
    return len(errors) + len(wrong)


def compare_sentencepiece(path, texts):
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    rows, _ = run_shortlist("tokenize", str(path), texts, "--no-special-tokens")
    different = sum(row["ids"] != processor.encode(text) for row, text in zip(rows, texts))
    print(f"{path.name:20} {len(texts)} texts: {different} differ from sentencepiece", flush=True)
    return different


def compare_ggml(data, name, path):
    base = data / "tokenizers/ggml-vocab" / f"ggml-vocab-{name}.gguf"
    texts = base.with_suffix(".gguf.inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")
    expected = [[int(i) for i in line.split()]
                for line in base.with_suffix(".gguf.out").read_text("utf-8").split("\n")]
    rows, _ = run_shortlist("tokenize", path, texts, "--no-special-tokens")
    different = [i for i, (row, ids) in enumerate(zip(rows, expected)) if row["ids"] != ids]
    print(f"ggml-vocab {name:9} {len(texts)} texts: {len(different)} differ", flush=True)
    for i in different:
        print(f"  {texts[i]!r}: {rows[i]['ids']} against {expected[i]}")
    return len(different)


def main():
    tokenizers = ARGS.data / "tokenizers"
    texts = corpus(ARGS.data, ARGS.megabytes * 1e6)
    num_errors = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = tokenizer_files(ARGS.data, folder, ARGS.only and [ARGS.only])
        for name, path in paths.items():
            num_errors += compare(name, path, Tokenizer.from_file(path), texts)
        if ARGS.only is None:
            ranks = str(tokenizers / "qwen/qwen.tiktoken")
            num_errors += compare("qwen.tiktoken", ranks, Tokenizer.from_file(paths["qwen"]), texts)
            for path in [*sorted(tokenizers.glob("sentencepiece/*.model")), tokenizers / "xlnet/spiece.model",
                         *tokenizers.glob("mistral/*.v3")]:
                num_errors += compare_sentencepiece(path, texts[::5])
            for name, path in (("gpt-2", paths["gpt2"]), ("phi-3", paths["phi3"]), ("qwen2", ranks),
                               ("bert-bge", paths["bert-base-uncased"])):
                num_errors += compare_ggml(ARGS.data, name, path)
    return 1 if num_errors else 0


if __name__ == "__main__":
    sys.exit(main())
