#!/usr/bin/env python3
"""Compares `shortlist tokenize` and `detokenize` with Hugging Face's `tokenizers`, with
`sentencepiece` and with llama.cpp's expected ids, on a mixed corpus, and the time that encoding takes.

usage: compare_tokenizers.py SHORTLIST DATA [--megabytes N] [--only NAME] [--threads N]
  SHORTLIST  the binary
  DATA       the directory with tokenizers/ and corpora/

A difference is counted as one of Unicode tables when the text holds a code point that both sides
treat unlike on its own, between letters or beside a mark; any other is an error (exit code 1).
Needs: pip install tokenizers sentencepiece
"""

import argparse
import base64
import gzip
import json
import lzma
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from pathlib import Path

PATTERN_QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
                 r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PATTERN_CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


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
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,  # noqa: E402
                        pre_tokenizers, processors)


# --- tokenizers that come as vocabulary and merges only ---------------------------------------------

def read_merges(path):
    lines = path.read_text("utf-8").splitlines()
    return [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]


def byte_alphabet():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{byte: chr(byte) for byte in printable},
            **{byte: chr(0x100 + i) for i, byte in enumerate(others)}}


def qwen(data):
    alphabet = byte_alphabet()
    ranks = {}
    for line in (data / "qwen/qwen.tiktoken").read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    merges = []
    for token, rank in ranks.items():
        parts = [(token[:i], token[i:]) for i in range(1, len(token))
                 if token[:i] in ranks and token[i:] in ranks]
        parts.sort(key=lambda part: (ranks[part[0]], ranks[part[1]]))
        merges += [(rank, part) for part in parts]
    merges.sort(key=lambda merge: merge[0])
    spell = lambda token: "".join(alphabet[byte] for byte in token)
    tokenizer = Tokenizer(models.BPE({spell(token): rank for token, rank in ranks.items()},
                                     [tuple(map(spell, part)) for _, part in merges]))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN_QWEN2), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return tokenizer


def roberta(data):
    vocab = json.loads((data / "roberta/vocab.json").read_text("utf-8"))
    tokenizer = Tokenizer(models.BPE(vocab, read_merges(data / "roberta/merges.txt")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")),
        add_prefix_space=False)
    return tokenizer


def clip(data):
    with gzip.open(data / "clip/bpe_simple_vocab_16e6.txt.gz", "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")
    merges = [tuple(line.split()) for line in lines[1:49152 - 256 - 2 + 1]]
    alphabet = list(byte_alphabet().values())
    names = alphabet + [char + "</w>" for char in alphabet] + ["".join(merge) for merge in merges]
    names += ["<|startoftext|>", "<|endoftext|>"]
    tokenizer = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, merges,
                                     end_of_word_suffix="</w>", unk_token="<|endoftext|>"))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN_CLIP), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|startoftext|>", "<|endoftext|>"])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("<|endoftext|>", len(names) - 1), ("<|startoftext|>", len(names) - 2),
        trim_offsets=False, add_prefix_space=False)
    return tokenizer


def proto_fields(message):
    """(number, value) of each field of a protobuf message; bytes where it has a length."""
    def varint(at):
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at
    at = 0
    while at < len(message):
        tag, at = varint(at)
        if tag & 7 == 0:
            value, at = varint(at)
        else:
            size = 4
            if tag & 7 == 2:
                size, at = varint(at)
            value, at = message[at:at + size], at + size
        yield tag >> 3, value


def charsmap(path):
    """SentencePiece's normaliser table of a model file."""
    normalizer = dict(proto_fields(path.read_bytes()))[3]
    return dict(proto_fields(normalizer))[2]


def xlm_r(data):
    with zipfile.ZipFile(data / "xlm-roberta-base/pos.dict.utf8.zip") as archive:
        text = archive.read(archive.namelist()[0]).decode("utf-8")
    rows = [line.split("\t") for line in text.split("\n") if line]
    by_id = {int(row[1].removeprefix("WORD_ID_")): (row[0], float(row[2])) for row in rows}
    by_id[0] = ("<s>", 0.0)  # the list begins with <pad>
    vocab = [by_id[i] for i in range(len(by_id))]
    tokenizer = Tokenizer(models.Unigram(vocab, 3, False))
    nmt_nfkc = charsmap(data / "sentencepiece/python_test_test_model.model")
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Precompiled(nmt_nfkc), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", tokenizer.token_to_id("<s>")), ("</s>", tokenizer.token_to_id("</s>"))])
    return tokenizer


def xlnet(data):
    path = data / "xlnet/spiece.model"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    vocab = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(len(processor))]
    tokenizer = Tokenizer(models.Unigram(vocab, processor.unk_id(), False))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
        normalizers.StripAccents(), normalizers.Precompiled(charsmap(path)),
        normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:0 <sep>:0 <cls>:2", pair="$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2",
        special_tokens=[(name, processor.piece_to_id(name)) for name in ("<sep>", "<cls>")])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"])
    return tokenizer


def mistral(data):
    """The BPE of a SentencePiece model as the library's converters write it."""
    path = data / "mistral/mistral_instruct_tokenizer_240323.model.v3"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [processor.id_to_piece(i) for i in range(len(processor))]
    ids = {piece: i for i, piece in enumerate(pieces)}
    scores = [processor.get_score(i) for i in range(len(processor))]
    merges = []
    for i, piece in enumerate(pieces):
        if processor.is_control(i) or processor.is_byte(i) or processor.is_unknown(i):
            continue
        parts = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))
                 if piece[:cut] in ids and piece[cut:] in ids]
        parts.sort(key=lambda part: (ids[part[0]], ids[part[1]]))
        merges += [(scores[i], part) for part in parts]
    merges.sort(key=lambda merge: -merge[0])
    tokenizer = Tokenizer(models.BPE(ids, [part for _, part in merges], unk_token="<unk>",
                                     fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                           decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return tokenizer


# --- texts ------------------------------------------------------------------------------------------

def random_text(rng):
    pools = (
        lambda: chr(rng.randrange(0x80)),
        lambda: chr(rng.choice([rng.randrange(0x800), rng.randrange(0x3400), 0x1F600 + rng.randrange(80),
                                0x300 + rng.randrange(0x70), 0xAC00 + rng.randrange(11172),
                                0x4E00 + rng.randrange(20000), 0x10000 + rng.randrange(0x20000)])),
        lambda: rng.choice(["  ", "\n\n", "\t", "'s", "'LL", " 123", "</s>", "<s>", "<|endoftext|>", "[MASK]",
                            "<0x41>", "▁", "'re", "don't", "\r\n", "<mask>", "\u00a0", "``", "''"]),
        lambda: rng.choice([" the", "and", "ing", " hello", "World", "e"]),
    )
    text = "".join(rng.choice(pools)() for _ in range(rng.randrange(60)))
    return "".join(c for c in text if not 0xD800 <= ord(c) < 0xE000)


def corpus(data, num_bytes):
    """A third from each of the corpora and code; then everything that is hard."""
    texts = []
    sources = [(json.loads(line)["text"] for line in lzma.open(path, "rt", encoding="utf-8"))
               for path in sorted((data / "corpora").glob("*.xz"))]
    stdlib = sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    sources.append(path.read_text("utf-8", errors="replace") for path in stdlib)
    for source in sources:
        size = 0
        for text in source:
            for begin in range(0, len(text), 20_000):
                texts.append(text[begin:begin + 20_000])
            size += len(text.encode())
            if size > num_bytes / len(sources):
                break
    tokenizers = data / "tokenizers"
    for name in ("data_wagahaiwa_nekodearu.txt", "data_botchan.txt"):
        texts += (tokenizers / "sentencepiece" / name).read_text("utf-8", errors="replace").split("\n")
    for path in sorted((tokenizers / "ggml-vocab").glob("*.inp")):
        texts += path.read_text("utf-8").split("\n__ggml_vocab_test__\n")
    rng = random.Random(1)
    texts += [random_text(rng) for _ in range(30_000)]
    texts += [unit * (200_000 // len(unit)) for unit in ("a", " ", "word ", "字", "ab\u0301", "<s>", "\n", "1")]
    return texts


# --- both sides -------------------------------------------------------------------------------------

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
    """Code points that both sides treat unlike."""
    chars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    texts = [f"a{c}a {c}1{c}'s {c}\u0301\u0316a\u0301{c}" for c in chars]
    ours, _ = our_ids(path, texts)
    theirs, _ = library_ids(tokenizer, texts)
    return {c for c, mine, other in zip(chars, ours, theirs) if mine != other}


def compare(name, path, tokenizer, texts):
    """Number of differences that are nobody's tables' fault."""
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
        paths = {path.parent.name: str(path) for path in sorted(tokenizers.glob("*/tokenizer.json"))}
        for family in (qwen, roberta, clip, xlm_r, xlnet, mistral):
            if ARGS.only in (None, family.__name__):
                paths[family.__name__] = str(Path(folder) / f"{family.__name__}.json")
                family(tokenizers).save(paths[family.__name__])
        for name, path in paths.items():
            if ARGS.only in (None, name):
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
