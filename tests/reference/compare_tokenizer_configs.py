#!/usr/bin/env python3
"""Compares `shortlist tokenize` and `detokenize` with transformers' AutoTokenizer on random tokenizer_config.json,
special_tokens_map.json and config.json next to the small tokenizers of make_tokenizer_config_golden.py.

usage: compare_tokenizer_configs.py SHORTLIST [--cases N] [--seed S]

The version of transformers that runs is the reference: run it with 5.x and with 4.x. Ids and texts must be equal,
unless shortlist reports an error or a warning. Each difference is printed with the smallest files that show it, and
exit code is 1 if there is one. Some 5 of 1000 cases differ for known reasons: RemBERT adds its tokens twice, both CLS
and SEP are null, T5 adds <extra_id_N> that no file has, spellings of `normalized` tokens are decoded normalised.

Needs: pip install transformers (5.24.0 and 4.57.1 were compared)
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import transformers  # noqa: E402
from make_tokenizer_config_golden import DOCUMENTS, MAJOR  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

BYTE_LEVEL = ("GPT2Tokenizer RobertaTokenizer BartTokenizer DebertaTokenizer GPTNeoXTokenizer Qwen2Tokenizer Qwen3_5Tokenizer "
              "CohereTokenizer BlenderbotTokenizer CodeGenTokenizer PreTrainedTokenizerFast LlamaTokenizer")
CLASSES = {  # of each document, those that may be saved with it
    "bert bert_cased bert_raw bert_raw_special": ("BertTokenizer DistilBertTokenizer ElectraTokenizer ConvBertTokenizer "
                                                  "FunnelTokenizer MPNetTokenizer"),
    "bytes bytes_digits neox_with_ends": BYTE_LEVEL,
    "sentencepiece marks": "LlamaTokenizer CodeLlamaTokenizer GemmaTokenizer ReformerTokenizer PreTrainedTokenizerFast",
    "xlm_r": "XLMRobertaTokenizer CamembertTokenizer BarthezTokenizer PreTrainedTokenizerFast",
    "t5": "T5Tokenizer", "deberta_v2": "DebertaV2Tokenizer", "xlnet": "XLNetTokenizer", "clip": "CLIPTokenizer",
    # A checkpoint of transformers 4 opens as in transformers 5 if it is an ALBERT.
    "albert albert_mark albert_with_ends": "BigBirdTokenizer" + (" AlbertTokenizer" if MAJOR == 5 else ""),
    "rembert rembert_with_ends": "RemBertTokenizer", "qwen": "Qwen2Tokenizer Qwen3_5Tokenizer",
}
NAMES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
OPTIONS = ["add_prefix_space", "add_bos_token", "add_eos_token", "do_lower_case", "strip_accents", "tokenize_chinese_chars", "legacy",
           "keep_accents", "split_by_punct", "clean_up_tokenization_spaces", "clean_text", "remove_space", "trim_offsets"]
FLAGS = ["lstrip", "rstrip", "normalized", "single_word", "special"]
MODEL_TYPES = ["bert", "llama", "mpnet", "gpt2", "xlm-roberta", "t5", "roberta"]
TEXTS = ["Hello ABC", "café KAFÉ", "你好 abc ab", "ab ab", "  ab  cd!", "x12 345", "a<u>ab <s> ab <|endoftext|>b</s>", "\n\n ab ", "",
         "é É ``ab''", "<s>ab</s>", "[CLS] ab [SEP][MASK]", "<mask> ab<pad>", "<new> ab<new2><unk>", "ab, ab. Ab's",
         "[UNK]ab [PAD] <cls><sep>"]


class Maker:
    """Makes the files of random checkpoints."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def happens(self, probability):
        return self.random.random() < probability

    def token(self, spellings, *more):
        """A special token as tokenizer_config.json names it."""
        content = self.random.choice(spellings + list(more))
        if self.happens(0.7):
            return content
        return {"__type": "AddedToken", "content": content, **{flag: self.happens(0.4) for flag in FLAGS if self.happens(0.6)}}

    def added_tokens(self, document, vocabulary, spellings):
        tokens = document["added_tokens"]
        if not tokens and (MAJOR == 4 or self.happens(0.8)):
            tokens = [{"id": vocabulary.index(content), "content": content, "single_word": False, "lstrip": content == "<mask>",
                       "rstrip": False, "normalized": False, "special": True} for content in spellings]
        for token in tokens:
            if self.happens(0.15):
                token[self.random.choice(["lstrip", "rstrip", "special", "single_word"])] ^= True
        return tokens

    def decoder(self, vocabulary):
        """The member added_tokens_decoder."""
        rows, size = {}, len(vocabulary)
        for content in self.random.sample(["<u>", "<new>", "<s>", "</s>", "[CLS]", "[SEP]", "<pad>", "<unk>"], 2):
            index, size = (vocabulary.index(content), size) if content in vocabulary else (size, size + 1)
            rows[str(index)] = {"content": content, **{flag: self.happens(0.3) for flag in FLAGS}}
        return rows

    def config(self, name, vocabulary, spellings):
        config = {"tokenizer_class": name}
        for member in NAMES:
            if self.happens(0.3):
                config[member] = None if self.happens(0.2) else self.token(spellings, "<new>", "<u>", "<s>")
        for option in OPTIONS:
            # Of Qwen 2, transformers 5 is followed here.
            if self.happens(0.12) and not (option == "add_prefix_space" and MAJOR == 4 and "Qwen2" in name):
                config[option] = self.happens(0.5)
        if self.happens(0.25):
            tokens = [self.token(spellings, "<new2>", "<new>", "<u>") for _ in range(self.random.randint(0, 2))]
            member = self.random.choice(["extra_special_tokens", "additional_special_tokens"])
            has_names = member == "extra_special_tokens" and self.happens(0.4)
            config[member] = {f"x{i}_token": token for i, token in enumerate(tokens)} if has_names else tokens
        if self.happens(0.3):
            config["added_tokens_decoder"] = self.decoder(vocabulary)
        return config

    def files(self):
        documents = self.random.choice(list(CLASSES))
        document = json.loads(DOCUMENTS[self.random.choice(documents.split())].to_str())
        name = self.random.choice(CLASSES[documents].split())
        if name != "PreTrainedTokenizerFast" and self.happens(0.3):
            name += "Fast"
        model = document["model"]
        vocabulary = [row[0] for row in model["vocab"]] if model["type"] == "Unigram" else list(model["vocab"])
        spellings = [token for token in vocabulary if token[0] in "<[" and len(token) > 2 and not token.startswith("<0x")]
        document["added_tokens"] = self.added_tokens(document, vocabulary, spellings)
        if self.happens(0.25):
            document["post_processor"] = None
        files = {"tokenizer.json": document, "tokenizer_config.json": self.config(name, vocabulary, spellings),
                 "config.json": {"transformers_version": transformers.__version__}}
        if self.happens(0.2):
            files["config.json"]["model_type"] = self.random.choice(MODEL_TYPES)
        if self.happens(0.15):
            files["special_tokens_map.json"] = {self.random.choice(NAMES): self.token(spellings, "<new>", "<u>")}
            if self.happens(0.3):
                files["special_tokens_map.json"]["additional_special_tokens"] = [self.random.choice(spellings + ["<new2>", "<u>"])]
        return files


def theirs(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer(text)["input_ids"] for text in TEXTS]
    return ids, [tokenizer.decode(row, skip_special_tokens=True) for row in ids]


def run_shortlist(shortlist, command, folder, rows, *flags):
    """Returns the rows of the output, or "error" or "warning"."""
    result = subprocess.run([shortlist, command, "--model", folder, "--jsonl", "--json", *flags],
                            input="".join(json.dumps(row) + "\n" for row in rows), capture_output=True, text=True)
    if result.returncode:
        return "error"
    return "warning" if "warning" in result.stderr.lower() else [json.loads(line) for line in result.stdout.splitlines()]


def ours(shortlist, folder):
    rows = run_shortlist(shortlist, "tokenize", folder, TEXTS, "--parse-special", "--threads", "1")
    if isinstance(rows, str):
        return rows
    ids = [row["ids"] for row in rows]
    texts = run_shortlist(shortlist, "detokenize", folder, ids)
    if isinstance(texts, str):  # what encodes without a word must decode
        return ids, [texts] * len(ids)
    return ids, [row["text"] for row in texts]


def outcome(shortlist, files):
    """Returns how a case ended, and the first text with both sides if they differ."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_text(json.dumps(content))
        try:
            expected = theirs(folder)
        except Exception:
            return "rejected by transformers", None
        found = ours(shortlist, folder)
    if isinstance(found, str):
        return found, None
    for part in (0, 1):
        for text, right, mine in zip(TEXTS, expected[part], found[part]):
            # CLIP's class strips the whole text, which a stream cannot.
            is_clip = part == 1 and "CLIP" in files["tokenizer_config.json"]["tokenizer_class"]
            if right != mine and not (is_clip and right == mine.strip()):
                return "differs", (text, right, mine)
    return "equal", None


def without_one(value):
    """Yields `value` with one member removed, at any depth."""
    if isinstance(value, dict):
        for key in value:
            if key not in ("tokenizer_class", "transformers_version", "content", "__type"):
                yield {k: v for k, v in value.items() if k != key}
            yield from ({**value, key: smaller} for smaller in without_one(value[key]))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1:]
            yield from (value[:i] + [smaller] + value[i + 1:] for smaller in without_one(value[i]))


def reduce(shortlist, files):
    document = files["tokenizer.json"]
    while True:
        rest = {name: content for name, content in files.items() if name != "tokenizer.json"}
        smaller = ({"tokenizer.json": document, "config.json": {}, "tokenizer_config.json": {"tokenizer_class": ""}} | part
                   for part in without_one(rest) if "tokenizer_config.json" in part and "config.json" in part)
        found = next((part for part in smaller if outcome(shortlist, part)[0] == "differs"), None)
        if found is None:
            return files
        files = found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("shortlist")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    args = parser.parse_args()
    print(f"transformers {transformers.__version__}, seed {args.seed}", flush=True)
    maker = Maker(args.seed)
    counts = {}
    for i in range(args.cases):
        files = maker.files()
        kind, _ = outcome(args.shortlist, files)
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "differs":
            files = reduce(args.shortlist, files)
            text, expected, found = outcome(args.shortlist, files)[1]
            document = files.pop("tokenizer.json")
            print(f"case {i}: {json.dumps(files)}\n  added tokens {json.dumps(document['added_tokens'])}\n"
                  f"  template {document['post_processor'] is not None}, text {text!r}\n"
                  f"  expected {expected!r}\n  found    {found!r}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    sys.exit("differs" in counts)


if __name__ == "__main__":
    main()
