#!/usr/bin/env python3
"""Makes golden/decoding.json: transformers' texts for ids, with small tokenizers of many kinds.

transformers 5.24, tokenizers 0.23. usage: make_decoding_golden.py
Each tokenizer has its files and rows of [ids, text without control tokens, text with them].
"""

import json
import random
import tempfile
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer

OUT = Path(__file__).parent / "golden" / "decoding.json"
WORDS = ["the", "class", "vec", "tor", "do", "n't", ".", ",", "'", "s", "'s", "'m", "!", "?", "'re", "'ve", "é", "你", "cafe"]
CONTROLS = ["<s>", "</s>"]
BYTES = [f"<0x{i:02X}>" for i in (0x0A, 0x20, 0x41, 0xF0, 0x9F, 0x98, 0x80, 0xE2, 0x82, 0xAC)]


def vocabulary(tokens):
    return {token: i for i, token in enumerate(dict.fromkeys(["<unk>", *CONTROLS, *tokens]))}


def marked(words):
    return [*words, *("▁" + word for word in words), "▁"]


def unigram(tokens):
    return models.Unigram([(token, -float(i)) for i, token in enumerate(vocabulary(tokens))], 0)


def tokenizers():
    """name: model, normalizer, decoder, members of tokenizer_config.json."""
    metaspace = decoders.Metaspace
    llama = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    llama_normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    level = models.WordLevel
    pieces = [*WORDS, *("##" + word for word in WORDS)]
    bpe = lambda tokens: models.BPE(vocab=vocabulary(tokens), merges=[], byte_fallback=True)
    clean = {"clean_up_tokenization_spaces": True}
    insists = {**clean, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": True}
    return {
        "words": (level(vocabulary(WORDS), "<unk>"), None, None, {}),
        "words_lowered": (level(vocabulary(WORDS), "<unk>"), normalizers.Lowercase(), None, {}),
        "words_cleaned": (level(vocabulary(WORDS), "<unk>"), None, None, clean),
        "pieces": (models.WordPiece(vocabulary(pieces), unk_token="<unk>"), normalizers.BertNormalizer(), decoders.WordPiece(), {}),
        "pieces_as_they_are": (models.WordPiece(vocabulary(pieces), unk_token="<unk>"), None, decoders.WordPiece(cleanup=False), {}),
        "pieces_cleaned": (models.WordPiece(vocabulary(pieces), unk_token="<unk>"), None, decoders.WordPiece(cleanup=False), clean),
        "unigram": (unigram(marked(WORDS)), normalizers.NFKC(), metaspace(), {}),
        "unigram_cleaned": (unigram(marked(WORDS)), None, metaspace(), clean),
        "unigram_not_first": (unigram(marked(WORDS)), None, metaspace(prepend_scheme="never"), clean),
        "bytes": (bpe([*marked(WORDS), *BYTES]), llama_normalizer, llama, {}),
        "bytes_not_cleaned": (bpe([*marked(WORDS), *BYTES]), llama_normalizer, llama, clean),
        "bytes_cleaned": (bpe([*marked(WORDS), *BYTES]), None, llama, insists),
        "bytes_alone": (bpe([*WORDS, *BYTES]), None, decoders.ByteFallback(), {}),
        "byte_level": (bpe([*WORDS, "Ġ", "Ċ", "ð", "Ł", "ĺ", "Ģ"]), normalizers.NFC(), decoders.ByteLevel(), clean),
    }


def main():
    rng = random.Random(7)
    golden = {}
    for name, (model, normalizer, decoder, members) in tokenizers().items():
        tokenizer = Tokenizer(model)
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        if normalizer is not None:
            tokenizer.normalizer = normalizer
        if decoder is not None:
            tokenizer.decoder = decoder
        tokenizer.add_special_tokens([AddedToken(control, normalized=False) for control in CONTROLS])
        tokenizer.add_tokens([AddedToken("<tool>", normalized=True), AddedToken("Café", normalized=True), AddedToken("New York", normalized=False)])
        files = {"tokenizer.json": json.loads(tokenizer.to_str()),
                 "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", **members}}
        with tempfile.TemporaryDirectory() as folder:
            for file, contents in files.items():
                (Path(folder) / file).write_text(json.dumps(contents))
            reference = AutoTokenizer.from_pretrained(folder)
            rows = []
            size = len(reference)
            byte_ids = [i for i in (reference.convert_tokens_to_ids(token) for token in BYTES) if i not in (None, 0)]
            for length in [1] * 8 + [2] * 10 + [3, 5, 8, 12, 20, 30] * 3:
                ids = [rng.choice(byte_ids) if byte_ids and rng.random() < 0.4 else rng.randrange(size) for _ in range(length)]
                rows.append([ids, reference.decode(ids, skip_special_tokens=True), reference.decode(ids, skip_special_tokens=False)])
            if name == "bytes":
                word, new_line, *face = (reference.convert_tokens_to_ids(t) for t in ("▁the", BYTES[0], *BYTES[3:7]))
                for ids in ([new_line, *face[:2]], [word, *face], [word, *face[:3]], [*face[:2], 1, *face[2:]], [new_line, face[0], word]):
                    rows.append([ids, reference.decode(ids, skip_special_tokens=True), reference.decode(ids, skip_special_tokens=False)])
        golden[name] = {"files": files, "rows": rows}
    lines = [f"{json.dumps(name)}: {json.dumps(case, separators=(',', ':'))}" for name, case in golden.items()]
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
