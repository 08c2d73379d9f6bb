"""Tokenizers of Hugging Face's `tokenizers` for the families that the data directory holds only as vocabulary and
merges, ranks or SentencePiece models, and mixed texts to encode.

Needs: pip install tokenizers sentencepiece
"""

import base64
import gzip
import json
import lzma
import random
import sysconfig
import zipfile
from pathlib import Path

import sentencepiece
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors)

PATTERN_QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
                 r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PATTERN_CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


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
    """Yields (number, value) of each field of a protobuf message; bytes if it has a length."""
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
    """Returns SentencePiece's normaliser table of a model file."""
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
    """Returns the BPE of a SentencePiece model as the library's converters write it."""
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


def documents(data, num_bytes):
    """Returns equal amounts of each of the corpora and of Python's standard library, in texts of up to 20,000
    characters."""
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
    return texts


def corpus(data, num_bytes):
    """Returns documents, then hard texts."""
    texts = documents(data, num_bytes)
    tokenizers = data / "tokenizers"
    for name in ("data_wagahaiwa_nekodearu.txt", "data_botchan.txt"):
        texts += (tokenizers / "sentencepiece" / name).read_text("utf-8", errors="replace").split("\n")
    for path in sorted((tokenizers / "ggml-vocab").glob("*.inp")):
        texts += path.read_text("utf-8").split("\n__ggml_vocab_test__\n")
    rng = random.Random(1)
    texts += [random_text(rng) for _ in range(30_000)]
    texts += [unit * (200_000 // len(unit)) for unit in ("a", " ", "word ", "字", "ab\u0301", "<s>", "\n", "1")]
    return texts


FAMILIES = (qwen, roberta, clip, xlm_r, xlnet, mistral)


def tokenizer_files(data, folder, names=None):
    """Returns the path of a tokenizer.json by family, of all or of `names`. Files missing in the data directory are
    made in `folder`."""
    tokenizers = data / "tokenizers"
    paths = {path.parent.name: str(path) for path in sorted(tokenizers.glob("*/tokenizer.json"))}
    for family in FAMILIES:
        if names is None or family.__name__ in names:
            paths[family.__name__] = str(Path(folder) / f"{family.__name__}.json")
            family(tokenizers).save(paths[family.__name__])
    return {name: path for name, path in paths.items() if names is None or name in names}
