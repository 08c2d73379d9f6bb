#!/usr/bin/env python3
"""Writes tests/reference/golden/tokenizers/*.json: small tokenizers of every family, with the results of Hugging
Face's `tokenizers` for hard texts.

usage: make_tokenizer_golden.py TEXT_FILE...   (training texts; without any, only the hand-made tokenizers)
Needs: pip install tokenizers (0.23.3 wrote the committed files)
"""

import json
import random
import sys
from pathlib import Path

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

OUT = Path(__file__).resolve().parent / "golden" / "tokenizers"
VOCAB_SIZE = 600
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
SPECIALS = ["<unk>", "<s>", "</s>"]


def trained(model, trainer, corpus, normalizer=None, pre_tokenizer=None):
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def byte_level(corpus, pre_tokenizer, specials, normalizer=None, **options):
    trainer = trainers.BpeTrainer(vocab_size=VOCAB_SIZE, special_tokens=specials, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer = trained(models.BPE(**options), trainer, corpus, normalizer, pre_tokenizer)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def split_by(pattern, **options):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated", **options),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(corpus):
    tokenizer = byte_level(corpus, pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    # Runs of spaces, as GPT-NeoX and Phi add them: ordinary tokens of the normalised text.
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(8, 1, -1)])
    return tokenizer


def llama3(corpus):
    specials = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    tokenizer = byte_level(corpus, split_by(LLAMA3), specials, ignore_merges=True)
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
            special_tokens=[("<|begin_of_text|>", 0)])])
    return tokenizer


def qwen2(corpus):
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = byte_level(corpus, split_by(QWEN2), specials, normalizers.NFC())
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    return tokenizer


def roberta(corpus):
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = byte_level(corpus, pre_tokenizers.ByteLevel(add_prefix_space=True), specials,
                           unk_token="<unk>")
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def falcon(corpus):
    steps = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(), pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    return byte_level(corpus, steps, ["<|endoftext|>"])


def clip(corpus):
    normalizer = normalizers.Sequence([
        normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    steps = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(CLIP), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, steps
    trainer = trainers.BpeTrainer(vocab_size=800, special_tokens=["<|startoftext|>", "<|endoftext|>"],
                                  initial_alphabet=alphabet, end_of_word_suffix="</w>",
                                  show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    vocab = json.loads(tokenizer.to_str())["model"]
    for char in alphabet:  # the original also has each byte at a word's end
        vocab["vocab"].setdefault(char + "</w>", len(vocab["vocab"]))
    tokenizer.model = models.BPE(vocab["vocab"], [tuple(m) for m in vocab["merges"]],
                                 end_of_word_suffix="</w>", unk_token="<|endoftext|>", fuse_unk=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    return tokenizer


def byte_fallback(corpus, normalizer, pre_tokenizer):
    """Makes a Llama-style BPE: the vocabulary of a trained model with the byte tokens inserted."""
    trainer = trainers.BpeTrainer(vocab_size=VOCAB_SIZE, special_tokens=SPECIALS, show_progress=False,
                                  limit_alphabet=90)
    marked = (line.replace(" ", "▁") for line in corpus)
    cut = pre_tokenizers.Metaspace(prepend_scheme="always")
    model = json.loads(trained(models.BPE(unk_token="<unk>"), trainer, marked,
                               pre_tokenizer=cut).to_str())["model"]
    names = SPECIALS + [f"<0x{byte:02X}>" for byte in range(256)]
    names += [name for name in model["vocab"] if name not in SPECIALS]
    names += [name for name in ("▁▁", "▁▁▁▁") if name not in names]
    merges = [("▁", "▁"), ("▁▁", "▁▁")] + [tuple(merge) for merge in model["merges"]]
    tokenizer = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, merges,
                                     unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.add_special_tokens(SPECIALS)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                           decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return tokenizer


def llama2(corpus):
    marks = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer = byte_fallback(corpus, marks, None)
    tokenizer.add_tokens([AddedToken("<|user|>", rstrip=True, normalized=False),
                          AddedToken("<|word|>", single_word=True, normalized=False)])
    return tokenizer


def mistral(corpus):
    return byte_fallback(corpus, None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False))


def bert(corpus):
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=VOCAB_SIZE, special_tokens=specials,
                                        show_progress=False, limit_alphabet=120)
    tokenizer = trained(models.WordPiece(unk_token="[UNK]"), trainer, corpus,
                        normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer())
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def bert_cased(corpus):
    tokenizer = bert(corpus)
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=False, lowercase=False,
                                                      handle_chinese_chars=False)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def unigram(corpus, specials, unk, normalizer, pre_tokenizer, **options):
    trainer = trainers.UnigramTrainer(vocab_size=VOCAB_SIZE, special_tokens=specials, unk_token=unk,
                                      show_progress=False)
    corpus = [line for line in corpus if line.isascii()]  # it needs every character in the vocabulary
    tokenizer = trained(models.Unigram(), trainer, corpus, normalizer, pre_tokenizer)
    model = json.loads(tokenizer.to_str())["model"]
    vocab = [(piece, round(score, 3)) for piece, score in model["vocab"]]
    if options.get("byte_fallback"):
        vocab += [(f"<0x{byte:02X}>", 0.0) for byte in range(256)]
    tokenizer.model = models.Unigram(vocab, specials.index(unk), **options)
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def xlm_r(corpus):
    normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(),
                                       normalizers.Replace(Regex(" {2,}"), " ")])
    steps = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = unigram(corpus, specials, "<unk>", normalizer, steps)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer


def xlnet(corpus):
    normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
        normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    specials = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>"]
    tokenizer = unigram(corpus, specials, "<unk>", normalizer,
                        pre_tokenizers.Metaspace(prepend_scheme="first"), byte_fallback=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:0 <sep>:0 <cls>:2", pair="$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2",
        special_tokens=[("<sep>", 4), ("<cls>", 3)])
    return tokenizer


def words(corpus):
    steps = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.CharDelimiterSplit("_"),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Split("e", "merged_with_previous"), pre_tokenizers.Split("a", "merged_with_next"),
        pre_tokenizers.Split(Regex("[lo]"), "contiguous")])
    trainer = trainers.BpeTrainer(vocab_size=VOCAB_SIZE, special_tokens=["[UNK]"], show_progress=False,
                                  continuing_subword_prefix="##", limit_alphabet=100)
    tokenizer = trained(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"), trainer, corpus,
                        normalizers.NFD(), steps)
    return tokenizer


def word_level(_):
    words = ["[UNK]", "the", "Hello", "world", "a", "ab", "123", "don", "'", "t", ",", ".", "x", "=", "user", "b"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 16), ("</s>", 17)])
    return tokenizer


def merged(words, alphabet):
    """Returns vocabulary and merges that build each of `words` from the left."""
    names, merges = list(alphabet), []
    for word in words:
        for end in range(2, len(word) + 1):
            if word[:end] not in names:
                names.append(word[:end])
                merges.append((word[:end - 1], word[end - 1]))
    return {name: i for i, name in enumerate(names)}, merges


def byte_normalizer(_):
    vocab, merges = merged(["the", "Hello", "Ġthe", "Ġworld", "ing", "æĹ¥æľ¬", "Ã©"],
                           sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.ByteLevel()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("Ġ?[^Ġ]+|Ġ+"), "isolated")
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    return tokenizer


def gpt1(_):
    letters = [chr(c) for c in range(33, 127)]
    vocab, merges = merged(["the", "hello", "world"], letters)
    for name in list(vocab):
        vocab.setdefault(name + "</w>", len(vocab))
    merges += [("th", "e</w>"), ("hell", "o</w>"), ("worl", "d</w>")]
    vocab["<unk>"] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder()
    return tokenizer


def boundaries(_):
    """Makes a tokenizer that splits words by Oniguruma's classes, and a decoder that replaces by regular
    expressions."""
    vocab, merges = merged(["the", "Hello"], sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\b"), "isolated"),
        pre_tokenizers.Split(Regex(r"[[:alpha:]]+|[[:punct:]]|\w+|[[:^space:]]"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(Regex("[QZ]+"), "?"), decoders.Replace("Ġ", " ")])
    return tokenizer


# Hand-made, without training texts.
SMALL = [word_level, byte_normalizer, gpt1, boundaries]
FAMILIES = [gpt2, llama3, qwen2, roberta, falcon, clip, llama2, mistral, bert, bert_cased, xlm_r, xlnet,
            words]

FIXED = [
    "", " ", "  ", "\n", "\t\n \r\n", "Hello world", " Hello  world ", "don't I'LL we've 'S 'ſ ''d",
    "x = 12345; y=0x7f // comment\n\n\treturn x;", "naïve café Ångström Å é", "ﬁ ½ Ⅷ ① ㎏ ﷺ",
    "日本語のテキスト、漢字 カタカナ ｶﾞ", "한국어 조합 각 각", "🙂👍🏽 👨‍👩‍👧‍👦 🇩🇪", "привет мир",
    "a\u0301\u0316 b\u0316\u0301", "İstanbul ΑΣ ẞ", "tab\tvt\u000bff\u000cnbsp\u00a0nel\u0085ls\u2028end",
    "zero\u200bwidth\u200djoin\ufeff", "\u0001\u007f control", "mixed ABC123abc", "1234567890 ¹²³ ٣٤٥",
    "under_score snake_case __init__", "▁ mark ▁▁", "a▁b", "``quoted'' text", "C:\\path\\file.txt",
    "!!! ... ?!?! --- ***", "https://example.com/a?b=c&d=e#f", " the the  the   the    the",
    "<unk> <s> </s> <pad> <mask> [CLS] [SEP] [MASK] <0x41> <|endoftext|> <|im_start|>user<|im_end|>",
    "<|begin_of_text|><|eot_id|>x<think>y</think>", "<|user|>  \n spaced <|word|>x <|word|> (<|word|>)",
    "x  <mask>  y", "word" * 60, "a" * 300, "ab" * 200, " " * 70 + "x" + " " * 9, "\n" * 40,
    "﻿bom", "e\u0300\u0301\u0302\u0303\u0304", "𝒳𝒴 𝟙𝟚", "न्दी हिन्दी",
]


def texts():
    rng = random.Random(7)
    pools = ["the", " and", "ing", " ", "  ", "\n", "\t", "'s", "'RE", "12", ".", ",", "(", "_", "é",
             "e\u0301", "ä", "ß", "Σ", "字", "かな", "ガ", "한", "🙂", "\u0301", "\u200d", "<s>", "</s>",
             "<|endoftext|>", "[SEP]", "▁", "\u00a0", "ﬁ", "½", "Ⅷ", "a", "e", "lo", "Hello", "İ"]
    return FIXED + ["".join(rng.choice(pools) for _ in range(rng.randrange(1, 24))) for _ in range(60)]


def case(tokenizer, text):
    tokenizer.encode_special_tokens = True
    ids = tokenizer.encode(text).ids
    bare_ids = tokenizer.encode(text, add_special_tokens=False).ids
    decoded = tokenizer.decode(ids)
    tokenizer.encode_special_tokens = False
    parsed_ids = tokenizer.encode(text, add_special_tokens=False).ids
    result = {"text": text, "ids": ids, "bare_ids": bare_ids, "decoded": decoded}
    if parsed_ids != bare_ids:
        result["parsed_ids"] = parsed_ids
    return result


def pair_cases(tokenizer):
    rng = random.Random(11)
    words = ["the", "quick", "brown fox", "jumps", "over", "dogs 123", "ünï"]
    tokenizer.encode_special_tokens = True
    cases = []
    for strategy in ("longest_first", "only_first", "only_second"):
        for side in ("right", "left"):
            for second_len in (None, 2, 6, 14):
                first = " ".join(rng.choice(words) for _ in range(8))
                second = second_len and " ".join(rng.choice(words) for _ in range(second_len))
                max_len = rng.choice([12, 16, 21, 24])
                tokenizer.enable_truncation(max_len, strategy=strategy, direction=side)
                row = {"first": first, "second": second, "max_len": max_len, "strategy": strategy,
                       "side": side}
                try:
                    encoding = tokenizer.encode(first, second) if second else tokenizer.encode(first)
                    row["ids"], row["type_ids"] = encoding.ids, encoding.type_ids
                except Exception:  # the library raises a bare Exception
                    row["ids"] = None
                cases.append(row)
    tokenizer.no_truncation()
    return cases


def main():
    corpus = [line for name in sys.argv[1:] for line in Path(name).read_text("utf-8").splitlines()]
    OUT.mkdir(parents=True, exist_ok=True)
    for family in SMALL + (FAMILIES if corpus else []):
        tokenizer = family(corpus)
        golden = {"tokenizer": json.loads(tokenizer.to_str()),
                  "cases": [case(tokenizer, text) for text in texts()],
                  "pairs": pair_cases(tokenizer)}
        path = OUT / f"{family.__name__}.json"
        path.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
