#!/usr/bin/env python3
"""Compares the allowed tokens and their cost with llguidance: same tokenizer, same positions, one run each.

usage: compare_llguidance.py MODEL.gguf GRAMMAR_MASKS SCHEMAS.jsonl... [--states N] [--dir DIR] [--seed S]

MODEL.gguf has a byte-level BPE vocabulary. SCHEMAS.jsonl are MaskBench's lines: {"schema", "tests": [{"valid",
"data"}]}. The states lie on valid instances, written without white space. Where llguidance forces bytes, it
allows the one token alone that its tokenizer writes; such states are counted apart. Needs gguf, tokenizers, numpy,
llguidance.
"""

import argparse
import collections
import json
import random
import statistics
import subprocess
import time

import llguidance
import numpy as np
from gguf import GGUFReader
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

# The spellings that our grammars have.
OPTIONS = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":",
           "json_allowed_escapes": "nrbtf\\\"u", "json_allow_general_unicode_escapes": True}
FORCED = "llguidance forces a token"
LISTED = 5  # differences shown of each cause


def byte_letters():
    """GPT-2's letter of each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)}


class Vocab:
    def __init__(self, path):
        fields = GGUFReader(path).fields
        names = fields["tokenizer.ggml.tokens"].contents()
        types = fields["tokenizer.ggml.token_type"].contents()
        letters = byte_letters()
        self.tokens = [bytes(letters[c] for c in name) if kind == 1 else b"" for name, kind in zip(names, types)]
        merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
        vocab = {name: i for i, name in enumerate(names)}
        self.tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
        self.tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.tokenizer.decoder = decoders.ByteLevel()
        self.end = max(i for i, token in enumerate(self.tokens) if not token)

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def for_llguidance(self):
        class Tokens:
            eos_token_id = self.end
            bos_token_id = None
            tokens = [token or b"\xff<%d>" % i for i, token in enumerate(self.tokens)]
            special_token_ids = [i for i, token in enumerate(self.tokens) if not token]

            def __call__(_, text):
                return self.encode(text.decode() if isinstance(text, bytes) else text)

        return llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()), n_vocab=len(self.tokens))


def choose_cases(paths, vocab, num_states, rng):
    lines = [json.loads(line) for path in paths for line in open(path)]
    rng.shuffle(lines)
    cases, count = [], 0
    for line in lines:
        valid = [test["data"] for test in line["tests"] if test["valid"]]
        if not valid:
            continue
        text = json.dumps(rng.choice(valid), separators=(",", ":"), ensure_ascii=False)
        tokens = vocab.encode(text)
        cases.append({"kind": "json_schema", "grammar": line["schema"], "compact": True, "tokens": tokens})
        count += len(tokens) + 1
        if count >= num_states:
            break
    return cases


def walk_llguidance(tokenizer, schema, tokens, mask):
    start = time.thread_time_ns()
    try:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema), OPTIONS)
    except ValueError as error:
        return {"error": str(error)}
    matcher = llguidance.LLMatcher(tokenizer, grammar)
    result = {"compile_us": (time.thread_time_ns() - start) / 1000, "ns": [], "masks": []}
    if matcher.is_error():
        return {"error": matcher.get_error()}
    for token in [*tokens, None]:
        start = time.thread_time_ns()
        matcher.unsafe_compute_mask_ptr(mask.ctypes.data, mask.nbytes)
        result["ns"].append(time.thread_time_ns() - start)
        result["masks"].append(mask.copy())
        if token is None or not mask[token // 32] >> (token % 32) & 1:
            break
        matcher.consume_token(token)
    return result


def cause_of(ours, theirs, vocab, before):
    """Words for why the sets differ, by the tokens that only one has."""
    if theirs.sum() == 1 and (ours & theirs).sum() == 1:
        return FORCED
    only_ours = [vocab.tokens[i] for i in np.flatnonzero(ours & ~theirs)]
    only_theirs = [vocab.tokens[i] for i in np.flatnonzero(theirs & ~ours)]
    sign = lambda name, tokens: name if tokens else ""
    if set(only_ours + only_theirs) <= {b"\x7f", b""}:
        name = "DEL or the end"
    elif any(b"\\" in token or before.endswith(b"\\") or b"\\u" in before[-6:] for token in only_ours + only_theirs):
        name = "escapes in strings"
    elif all(set(token) <= set(b"0123456789.eE+-,}] \n") for token in only_ours + only_theirs):
        name = "digits of numbers"
    else:
        name = "other"
    return f"{name} ({' and '.join(filter(None, [sign('more', only_ours), sign('fewer', only_theirs)]))})"


def table(name, compile_us, ns):
    print(f"{name:12} compile µs: median {statistics.median(compile_us):8.0f}  "
          f"p99 {np.percentile(compile_us, 99):8.0f}; mask µs a position: mean {np.mean(ns) / 1000:7.2f}  "
          f"p50 {np.percentile(ns, 50) / 1000:7.2f}  p90 {np.percentile(ns, 90) / 1000:7.2f}  "
          f"p99 {np.percentile(ns, 99) / 1000:8.2f}  max {max(ns) / 1000:9.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("grammar_masks")
    parser.add_argument("schemas", nargs="+")
    parser.add_argument("--states", type=int, default=10_000)
    parser.add_argument("--dir", default="/tmp")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    vocab = Vocab(args.model)
    cases = choose_cases(args.schemas, vocab, args.states, random.Random(args.seed))
    paths = [f"{args.dir}/{name}" for name in ("masks_vocab", "masks_cases", "masks_bits")]
    with open(paths[0], "w") as file:
        file.writelines(token.hex() + "\n" for token in vocab.tokens)
    with open(paths[1], "w") as file:
        file.writelines(json.dumps(case) + "\n" for case in cases)
    output = subprocess.run([args.grammar_masks, *paths], check=True, stdout=subprocess.PIPE, text=True).stdout
    ours = [json.loads(line) for line in output.splitlines()]
    row_bytes = (len(vocab.tokens) + 7) // 8
    bits = np.memmap(paths[2], dtype=np.uint8, mode="r").reshape(-1, row_bytes)

    tokenizer = vocab.for_llguidance()
    mask = np.zeros((len(vocab.tokens) + 31) // 32, dtype=np.uint32)
    differences, refused = collections.Counter(), collections.Counter()
    shown = collections.defaultdict(list)
    times = {"ours": ([], []), "ours, again": ([], []), "llguidance": ([], [])}
    row = num_equal = num_states = 0
    for case, own in zip(cases, ours):
        num_own = len(own.get("ns", []))
        other = walk_llguidance(tokenizer, case["grammar"], case["tokens"], mask)
        if "error" in own or "error" in other:
            refused["both" if "error" in own and "error" in other else "ours" if "error" in own else "llguidance"] += 1
            row += num_own
            continue
        both = min(num_own, len(other["ns"]))
        for i in range(both):
            a = np.unpackbits(bits[row + i], bitorder="little")[: len(vocab.tokens)].astype(bool)
            b = np.unpackbits(other["masks"][i].view(np.uint8), bitorder="little")[: len(vocab.tokens)].astype(bool)
            num_states += 1
            if np.array_equal(a, b):
                num_equal += 1
                continue
            before = b"".join(vocab.tokens[token] for token in case["tokens"][:i])
            cause = cause_of(a, b, vocab, before)
            differences[cause] += 1
            if len(shown[cause]) < LISTED:
                lists = [[vocab.tokens[k] for k in np.flatnonzero(s)[:8]] for s in (a & ~b, b & ~a)]
                shown[cause].append(f"after {before[-40:]}: only ours {lists[0]}, only theirs {lists[1]}")
        row += num_own
        for name, part, ns in (("ours", own, own["ns"]), ("ours, again", own, own["ns_again"]),
                               ("llguidance", other, other["ns"])):
            times[name][0].append(part["compile_us"])
            times[name][1].extend(ns[:both])
    print(f"{len(cases)} schemas, {num_states} states, {num_equal} with equal sets; refused: {dict(refused)}")
    for cause, count in differences.most_common():
        print(f"  {count} differ: {cause}")
        for line in shown[cause]:
            print(f"      {line}")
    for name, (compile_us, ns) in times.items():
        table(name, compile_us, ns)


if __name__ == "__main__":
    main()
