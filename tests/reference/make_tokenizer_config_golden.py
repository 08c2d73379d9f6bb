#!/usr/bin/env python3
"""Writes tests/reference/golden/tokenizer_config.json: how transformers' AutoTokenizer reads a tokenizer.json with
the options and special tokens of tokenizer_config.json, special_tokens_map.json and config.json.

Each case names the major version of transformers that is its reference. Run the script once with each version: it
fills in the rows of the version that it finds and keeps the others.

Needs: pip install transformers (5.24.0 and 4.57.1 wrote the committed file)
"""

import json
import tempfile
from pathlib import Path

import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer

OUT = Path(__file__).resolve().parent / "golden" / "tokenizer_config.json"
MAJOR = int(transformers.__version__.split(".")[0])


def bert(lowercase=True):
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] hello Hello abc ABC café cafe 你 好 你好 kafé kafe <s> </s> <pad> ! ##! - x".split()
    result = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    result.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    result.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    result.decoder = decoders.WordPiece()
    result.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    result.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return result


def byte_level(before=None):
    tokens = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("a", "b"), ("Ġ", "a"), ("Ġa", "b"), ("1", "2")]
    tokens += [left + right for left, right in merges]
    tokens += ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "<u>", "<|endoftext|>", "[CLS]", "[SEP]"]
    result = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    last = pre_tokenizers.ByteLevel(add_prefix_space=False)
    result.pre_tokenizer = pre_tokenizers.Sequence([before, last]) if before else last
    result.decoder = decoders.ByteLevel()
    return result


def sentencepiece():
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += list("▁abcdefgh") + ["ab", "▁ab", "▁▁", "▁▁▁"]
    merges = [("a", "b"), ("▁", "ab"), ("▁", "▁"), ("▁▁", "▁")]
    result = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges, unk_token="<unk>", fuse_unk=True,
                                  byte_fallback=True))
    result.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    result.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                        decoders.Strip(" ", 1, 0)])
    result.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    result.add_special_tokens(["<unk>", "<s>", "</s>"])
    return result


def unigram(names):
    tokens = [(name, 0.0) for name in names] + [(token, -float(i + 2)) for i, token in enumerate(
        ["▁ab", "▁AB", "▁", "a", "b", "A", "B", "é", "e", '"', "``", "!", "▁!", "x", "ab", "É", "▁é"])]
    result = Tokenizer(models.Unigram(tokens, unk_id=names.index("<unk>") if "<unk>" in names else 1))
    result.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.Replace(Regex(" {2,}"), " ")])
    result.pre_tokenizer = pre_tokenizers.Metaspace()
    result.decoder = decoders.Metaspace()
    return result


def marks():
    tokens = ["<unk>", "<s>", "</s>", *"▁abcdefgh", "ab", "▁ab"]
    result = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, [("a", "b"), ("▁", "ab")], unk_token="<unk>",
                                  fuse_unk=True))
    result.decoder = decoders.Metaspace()
    result.add_special_tokens(["<unk>", "</s>"])
    return result


def albert_with_ends():
    result = unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "<s>"])
    result.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return result


def qwen():
    result = byte_level()
    split = pre_tokenizers.Split(Regex(QWEN), behavior="isolated")
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    result.pre_tokenizer = pre_tokenizers.Sequence([split, last])
    return result


def neox_with_ends():
    result = byte_level()
    end = result.token_to_id("<|endoftext|>")
    result.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A <|endoftext|>", pair="<|endoftext|> $A $B:1 <|endoftext|>:1",
        special_tokens=[("<|endoftext|>", end)])
    return result


def clip():
    tokens = ["<|startoftext|>", "<|endoftext|>", "<unk>", "a", "b", "a</w>", "b</w>", "ab</w>"]
    result = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, [("a", "b</w>")], unk_token="<|endoftext|>",
                                  end_of_word_suffix="</w>"))
    result.normalizer = normalizers.Lowercase()
    result.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    result.decoder = decoders.ByteLevel()
    return result


def bert_with(normalized, special):
    result = bert()
    result.add_tokens([AddedToken("Hello", normalized=normalized, special=special)])
    return result


def rembert_with_ends():
    result = Tokenizer.from_str(unigram(["<pad>", "[CLS]", "<unk>", "[SEP]", "[MASK]"]).to_str())
    result.post_processor = processors.TemplateProcessing(single="$A [SEP]", pair="$A [SEP] $B", special_tokens=[("[SEP]", 3)])
    return result


QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DOCUMENTS = {
    "bert": bert(), "bert_cased": bert(lowercase=False), "bytes": byte_level(),
    "bytes_digits": byte_level(pre_tokenizers.Digits(individual_digits=True)), "sentencepiece": sentencepiece(),
    "xlm_r": unigram(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]),
    "t5": unigram(["<pad>", "</s>", "<unk>"]), "albert": unigram(["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]),
    "deberta_v2": unigram(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]),
    "albert_mark": unigram(["<pad>", "</s>", "<s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]), "marks": marks(),
    "rembert": unigram(["<pad>", "[CLS]", "<unk>", "[SEP]", "[MASK]"]),
    "xlnet": unigram(["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]),
    "albert_with_ends": albert_with_ends(), "qwen": qwen(), "neox_with_ends": neox_with_ends(), "clip": clip(),
    "rembert_with_ends": rembert_with_ends(),
    **{f"bert_{'normalized' if normalized else 'raw'}{'_special' if special else ''}": bert_with(normalized, special)
       for normalized in (False, True) for special in (False, True)},
}
WORDS = ["Hello ABC", "café KAFÉ", "你好 abc", "hello\u0000!-x"]
BYTES = ["ab ab", " ab", "x12 345", "  two", "a<u>ab <s> ab <|endoftext|>b", "naïve 's 'S\n\n ab", ""]
SPACES = ["ab", "  ab  cd", " ", "a\nb", "ab<s>cd </s> ab", "<s> ab", "é"]
PIECES = ["ab AB", "  ab  x!", "ab\n\tab!", "é É ``ab''", "ab  ", "<s>ab</s>"]
ENDS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
SPECIAL = {"__type": "AddedToken", "content": "<u>", "lstrip": True, "rstrip": False, "normalized": False,
           "single_word": False}


def added(index, **flags):
    token = {"content": "<u>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": False}
    return {"added_tokens_decoder": {str(index): token | flags}}


def cases():
    u = DOCUMENTS["bytes"].token_to_id("<u>")
    rows = []

    def case(name, document, texts, config, version=5, model=None, special_tokens_map=None):
        rows.append({"name": name, "transformers": version, "tokenizer": document, "config": config,
                     "model_config": model or {}, "special_tokens_map": special_tokens_map, "texts": texts})

    for version in [4, 5]:
        saved = {"transformers_version": "4.44.0"} if version == 4 else {}
        for name in ["BertTokenizer", "DistilBertTokenizer", "ElectraTokenizerFast", "MobileBertTokenizer", "ConvBertTokenizer"]:
            for flags in [{}, {"do_lower_case": False}, {"do_lower_case": True, "strip_accents": False},
                          {"do_lower_case": False, "strip_accents": True}, {"tokenize_chinese_chars": False}]:
                for document in ["bert", "bert_cased"]:
                    if name != "BertTokenizer" and (document == "bert_cased" or len(flags) > 1):
                        continue
                    case(f"{name} {flags}", document, WORDS, {"tokenizer_class": name, **flags}, version, saved)
        for prefix in [{}, {"add_prefix_space": True}, {"add_prefix_space": False}]:
            case(f"GPT2 {prefix}", "bytes", BYTES, {"tokenizer_class": "GPT2Tokenizer", **prefix}, version, saved)
            case(f"Roberta {prefix}", "bytes", BYTES, {"tokenizer_class": "RobertaTokenizer", **prefix}, version, saved)
        # SmolLM2's shape: digits are split before the byte-level step.
        case("SmolLM2", "bytes_digits", BYTES, {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False,
                                                "clean_up_tokenization_spaces": False, "bos_token": "<|endoftext|>"},
             version, {"model_type": "llama", **saved} if version == 4 else {"transformers_version": "5.0.0"})
        # Llama-2's shape: Prepend and Replace, no pre-tokenizer.
        for flags in [{}, {"legacy": False}, {"legacy": True}]:
            case(f"Llama-2 {flags}", "sentencepiece", SPACES, {
                "tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, **ENDS, **flags,
                "clean_up_tokenization_spaces": False, **({"backend": "tokenizers"} if version == 5 else {})},
                version, {"model_type": "llama", **({"transformers_version": "4.31.0.dev0"} if version == 4 else {})})
    for flags in [{"add_prefix_space": False}, {"legacy": True, "add_prefix_space": True}]:
        case(f"Llama {flags}", "sentencepiece", SPACES, {"tokenizer_class": "LlamaTokenizerFast", **ENDS, **flags})
    for name, model in [("CodeLlamaTokenizer", "llama"), ("LlamaTokenizer", "mistral"), ("LlamaTokenizer", "phi3"),
                        ("TokenizersBackend", "llama"), ("GemmaTokenizer", "gemma2")]:
        case(f"{name} of {model}", "sentencepiece", SPACES, {"tokenizer_class": name, **ENDS}, model={"model_type": model})
    for name in ["LlamaTokenizer", "PreTrainedTokenizerFast"]:
        case(f"{name} over bytes", "bytes", BYTES, {"tokenizer_class": name, "add_prefix_space": True, "legacy": True})
    for name in ["BartTokenizer", "LongformerTokenizerFast", "DebertaTokenizer", "GPTNeoXTokenizer", "Qwen2Tokenizer",
                 "Qwen3_5Tokenizer", "CohereTokenizer", "CodeGenTokenizer"]:
        for prefix in [{}, {"add_prefix_space": True}]:
            case(f"{name} {prefix}", "bytes", BYTES, {"tokenizer_class": name, **prefix})
    for name in ["FunnelTokenizer", "MPNetTokenizer"]:
        case(name, "bert", WORDS, {"tokenizer_class": name, "do_lower_case": False, "unk_token": "[UNK]", "cls_token": "<s>",
                                   "sep_token": "</s>"})
    for name, document, flags in [
            ("XLMRobertaTokenizer", "xlm_r", {}), ("XLMRobertaTokenizer", "xlm_r", {"add_prefix_space": False}),
            ("CamembertTokenizer", "xlm_r", {}), ("T5Tokenizer", "t5", {}),
            ("AlbertTokenizer", "albert", {}), ("AlbertTokenizer", "albert", {"do_lower_case": False}),
            ("AlbertTokenizer", "albert", {"keep_accents": True}), ("DebertaV2Tokenizer", "deberta_v2", {}),
            ("DebertaV2Tokenizer", "deberta_v2", {"do_lower_case": True, "split_by_punct": True}),
            ("XLNetTokenizer", "xlnet", {}), ("XLNetTokenizer", "xlnet", {"do_lower_case": True}),
            ("XLNetTokenizer", "xlnet", {"keep_accents": True, "remove_space": False}),
            ("XLNetTokenizer", "xlnet", {"do_lower_case": True, "cls_token": "<s>", "additional_special_tokens": ["<eod>"]}),
            ("PreTrainedTokenizerFast", "xlm_r", {"add_prefix_space": False})]:
        case(f"{name} {flags}", document, PIECES, {"tokenizer_class": name, **flags})
    for name, document, texts, flags in [
            ("BlenderbotTokenizer", "bytes", BYTES, {}), ("BlenderbotTokenizer", "bytes", BYTES, {"add_prefix_space": False}),
            ("BigBirdTokenizer", "albert_mark", PIECES, {}), ("BigBirdTokenizer", "albert_mark", PIECES, {"add_prefix_space": False}),
            ("RemBertTokenizer", "rembert", PIECES, {}), ("RemBertTokenizer", "rembert", PIECES, {"do_lower_case": True}),
            ("RemBertTokenizer", "rembert", PIECES, {"keep_accents": False, "add_prefix_space": False}),
            ("BarthezTokenizer", "xlm_r", PIECES, {}), ("BarthezTokenizer", "xlm_r", PIECES, {"add_prefix_space": False}),
            ("ReformerTokenizer", "marks", SPACES, {})]:
        case(f"{name} {flags}", document, texts, {"tokenizer_class": name, **flags})
    # Without a class: the class of the model's type, or of config.json.
    case("no class, bert", "bert_cased", WORDS, {}, model={"model_type": "bert"})
    case("no class, gpt2", "bytes_digits", BYTES, {"add_prefix_space": True}, model={"model_type": "gpt2"})
    case("no class, llama", "sentencepiece", SPACES, {}, model={"model_type": "llama"})
    case("class of config.json", "bert_cased", WORDS, {}, model={"model_type": "bert", "tokenizer_class": "BertTokenizer"})
    # Special and added tokens.
    plain = {"tokenizer_class": "PreTrainedTokenizerFast"}
    texts = ["ab <u> ab", "a<u>b", "<u>"]
    for named in [{"extra_special_tokens": ["<u>"]}, {"additional_special_tokens": ["<u>"]},
                  {"extra_special_tokens": {"image_token": "<u>"}}, {"pad_token": "<u>"}, {"image_token": "<u>"},
                  {"pad_token": SPECIAL}, {"extra_special_tokens": [SPECIAL | {"rstrip": True, "special": True}]},
                  {"extra_special_tokens": [], "additional_special_tokens": ["<u>"]},
                  {"model_specific_special_tokens": {"x": "<u>"}}, {"extra_special_tokens": ["<new>"]},
                  added(u, lstrip=True), added(u, rstrip=True, special=True), added(u, single_word=True)]:
        case(f"special {named}", "bytes", texts, plain | named)
    for named in [{"pad_token": "<u>"}, {"additional_special_tokens": ["<u>"]}, {"pad_token": SPECIAL | {"rstrip": True}}]:
        named = {key: {k: v for k, v in value.items() if k != "__type"} if isinstance(value, dict) else value
                 for key, value in named.items()}
        case(f"map {named}", "bytes", texts, plain, special_tokens_map=named)
        case(f"map behind added tokens {named}", "bytes", texts, plain | {"added_tokens_decoder": {}}, special_tokens_map=named)
    for flags in [{"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"special": True}, {"normalized": True}]:
        case(f"both files {flags}", "bytes+u", texts, plain | added(u, **flags))
    case("named and not special", "bytes+u", texts, plain | {"pad_token": "<u>"})
    case("XLNet", "xlnet", PIECES, {"tokenizer_class": "XLNetTokenizer", "do_lower_case": True}, 4, {"transformers_version": "4.44.0"})
    # Names that make an ordinary token special, and ids of tokens that the vocabulary lacks.
    new_texts = ["ab <u> ab", "a<new>b", "<n2> <n3> <n1>", "<|endoftext|>"]
    for version in [4, 5]:
        saved = {"transformers_version": f"{version}.1.0"}
        lists = [{"extra_special_tokens": ["<u>"]}] * (version == 5)
        for named in lists + [{"image_token": "<u>"}, {"additional_special_tokens": ["<u>"]}, {"extra_special_tokens": {"x": "<u>"}},
                              {"model_specific_special_tokens": {"x_token": "<u>"}}, {"pad_token": "<u>"},
                              {"additional_special_tokens": ["<u>"], "extra_special_tokens": {"x": "<s>"}}]:
            for name in ["PreTrainedTokenizerFast", "Qwen2Tokenizer"]:
                case(f"{name} not special {named}", "bytes+u", new_texts, {"tokenizer_class": name} | named, version, saved)
        lists = [{"pad_token": "<n2>", "extra_special_tokens": ["<n3>", "<n1>"], "image_token": "<new>"}] * (version == 5)
        for named in lists + [{"pad_token": "<new>"}, {"image_token": "<new>"}, {"additional_special_tokens": ["<new>", "<u>"]},
                              {"pad_token": "<n2>", "bos_token": "<n3>", "cls_token": "<n1>", "eos_token": "<n2>"},
                              {"pad_token": SPECIAL | {"content": "<new>"}}, {"mask_token": "<n1>", "unk_token": "<new>"},
                              {"extra_special_tokens": {"b": "<n2>", "c": "<n3>"}, "a_token": "<n1>", "sep_token": "<new>"},
                              {"additional_special_tokens": ["<n2>"], "extra_special_tokens": {"b": "<n3>"}}]:
            for name in ["PreTrainedTokenizerFast", "GPTNeoXTokenizer"]:
                case(f"{name} lacks {named}", "bytes", new_texts, {"tokenizer_class": name} | named, version, saved)
    # Qwen 2's class adds its special tokens again, without flags.
    flags = {"lstrip": True, "rstrip": True, "normalized": True}
    strips = SPECIAL | flags
    for named in [{"pad_token": "<u>"}, {"eos_token": "<u>"}, {"bos_token": strips}, {"extra_special_tokens": ["<u>"]},
                  {"additional_special_tokens": [strips]}, {"image_token": strips}, {"extra_special_tokens": {"x_token": "<u>"}},
                  {"model_specific_special_tokens": {"x": "<u>"}}, {}]:
        for name in ["Qwen2Tokenizer"] + ["Qwen3_5Tokenizer"] * ("pad_token" in named or "bos_token" in named):
            case(f"{name} named {named}", "bytes", texts, {"tokenizer_class": name} | named)
            case(f"{name} flags {named}", "bytes+u", texts, {"tokenizer_class": name} | added(u, **flags) | named)
    for named in [{"pad_token": "<u>"}, {"eos_token": "<u>"}]:
        case(f"Qwen2 keeps flags {named}", "bytes+u", texts, {"tokenizer_class": "Qwen2Tokenizer"} | added(u, **flags) | named, 4,
             {"transformers_version": "4.44.0"})
    for flag in [{"single_word": True}, {"special": True, "lstrip": True}]:
        case(f"Qwen2 {flag}", "bytes+u", texts, {"tokenizer_class": "Qwen2Tokenizer", "pad_token": "<u>"} | added(u, **flag))
    # How transformers 5 reads checkpoints that transformers 4 saved.
    saved = {"transformers_version": "4.44.0"}
    for flags in [{}, {"add_prefix_space": True}, {"add_prefix_space": False}]:
        case(f"Qwen2 of 4 {flags}", "qwen", BYTES, {"tokenizer_class": "Qwen2Tokenizer"} | flags, model=saved)
    for flags in [{}, {"do_lower_case": False}, {"do_lower_case": False, "keep_accents": True}]:
        case(f"ALBERT of 4 {flags}", "albert", PIECES, {"tokenizer_class": "AlbertTokenizer"} | flags, model=saved)
    case("GPT-NeoX of 4", "neox_with_ends", BYTES, {"tokenizer_class": "GPTNeoXTokenizer", "pad_token": "<|endoftext|>"},
         model=saved)
    # Classes of transformers 4 that build the template from their flags.
    for flags in [{}, {"add_bos_token": True}, {"add_bos_token": False}, {"add_bos_token": None}, {"add_eos_token": True},
                  {"add_bos_token": True, "add_eos_token": True}, {"add_bos_token": False, "add_eos_token": True}]:
        named = {"pad_token": "<unk>"}
        for name in ["LlamaTokenizer", "LlamaTokenizerFast", "GemmaTokenizer", "PreTrainedTokenizerFast"]:
            case(f"{name} of 4 {flags}", "sentencepiece", SPACES, {"tokenizer_class": name, **ENDS, **named, **flags}, 4,
                 {"transformers_version": "4.57.1", "model_type": "llama"})
        for name in ["CohereTokenizerFast", "GPTNeoXTokenizer"]:
            case(f"{name} of 4 {flags}", "bytes", BYTES, {"tokenizer_class": name, **ENDS, **flags}, 4,
                 {"transformers_version": "4.57.1"})
        case(f"Llama over bytes of 4 {flags}", "bytes", BYTES, {"tokenizer_class": "LlamaTokenizerFast", **ENDS, **flags}, 4,
             {"transformers_version": "4.57.1", "model_type": "llama"})
        case(f"Llama of Mistral 4 {flags}", "sentencepiece", SPACES, {"tokenizer_class": "LlamaTokenizer", **ENDS, **flags}, 4,
             {"transformers_version": "4.57.1", "model_type": "mistral"})
    for model_type in ["llama", "mistral", "phi3", "gemma2"]:
        case(f"no class, {model_type} of 4", "sentencepiece", SPACES, {**ENDS, "pad_token": "<unk>", "add_eos_token": True}, 4,
             {"transformers_version": "4.57.1", "model_type": model_type})
    # ALBERT's template is the file's; without one, the class's own, with the named tokens.
    for named in [{}, {"cls_token": "<s>"}, {"cls_token": "<s>", "sep_token": "<pad>"}]:
        for model in [{}, saved]:
            case(f"ALBERT {named} {model}", "albert_with_ends", PIECES, {"tokenizer_class": "AlbertTokenizer"} | named, model=model)
    case("ALBERT without a template", "albert", PIECES, {"tokenizer_class": "AlbertTokenizer", "cls_token": "<pad>"})
    # The model's unknown token is that of the class.
    for named in [{}, {"unk_token": "<unk>"}, {"unk_token": SPECIAL | {"content": "<unk>"}}]:
        case(f"CLIP {named}", "clip", ["ab AB", "x ab", "abx"], {"tokenizer_class": "CLIPTokenizer"} | named)
    # A class that is built anew takes all flags of an added token from the config.
    for name in ["GPT2Tokenizer", "Qwen2Tokenizer", "GPTNeoXTokenizer"]:
        for named in [{}, {"pad_token": "<u>"}]:
            case(f"{name} not special in config {named}", "bytes+special_u", texts, {"tokenizer_class": name} | added(u) | named)
    # Which file's `normalized` counts.
    for name in ["BertTokenizer", "PreTrainedTokenizerFast"]:
        for document in ["bert_raw", "bert_normalized", "bert_raw_special", "bert_normalized_special"]:
            token = json.loads(DOCUMENTS[document].to_str())["added_tokens"][-1]
            index, token["normalized"] = str(token.pop("id")), not token["normalized"]
            case(f"{name} with another normalized", document, ["abc Hello hello", "abcHelloabc", "abchelloabc"],
                 {"tokenizer_class": name, "added_tokens_decoder": {index: token}}, 4, {"transformers_version": "4.44.0"})
    # RemBERT's class replaces a template, but adds none.
    for named in [{}, {"cls_token": "[MASK]"}, {"tokenizer_class": "RemBertTokenizerFast", "sep_token": "<pad>"}]:
        case(f"RemBERT {named}", "rembert_with_ends", PIECES, {"tokenizer_class": "RemBertTokenizer"} | named)
    for name in ["BertTokenizer", "MPNetTokenizer"]:
        case(f"{name}'s unknown token", "bert", WORDS, {"tokenizer_class": name, "unk_token": "x"})
    # What compare_tokenizer_configs.py found: null members, unknown tokens of the class, added tokens that
    # tokenizer_config.json replaces as a whole, several names of one token.
    of_4, of_5 = {"transformers_version": "4.57.1"}, {"transformers_version": "5.24.0"}
    for name, document, config in [
            ("BertTokenizer", "bert", {"cls_token": None, "sep_token": "<s>"}),
            ("MPNetTokenizer", "bert", {"cls_token": None, "unk_token": "[UNK]"}),
            ("DebertaV2Tokenizer", "deberta_v2", {"cls_token": None}),
            ("DebertaV2Tokenizer", "deberta_v2", {"unk_token": "[MASK]"}),
            ("DebertaV2Tokenizer", "deberta_v2", {"sep_token": "[PAD]"}),
            ("CodeLlamaTokenizer", "sentencepiece", {"bos_token": None}),
            ("CodeLlamaTokenizer", "sentencepiece", {"extra_special_tokens": ["<u>"]}),
            ("AlbertTokenizer", "albert_mark", {}), ("T5Tokenizer", "t5", {"unk_token": "<pad>"}),
            ("CamembertTokenizer", "xlm_r", {"unk_token": "<s>"}), ("BigBirdTokenizer", "albert_mark", {"unk_token": "[SEP]"}),
            ("GemmaTokenizer", "marks", {"unk_token": "<s>"}), ("LlamaTokenizer", "marks", {}),
            ("ReformerTokenizer", "sentencepiece", {}), ("ConvBertTokenizer", "bert", {"sep_token": "[UNK]"}),
            ("BertTokenizer", "bert_raw_special", {"added_tokens_decoder": {}}),
            ("GPT2Tokenizer", "bytes+special_u", {"added_tokens_decoder": {}, "pad_token": "<s>"}),
            ("RobertaTokenizer", "bytes", {"eos_token": SPECIAL | {"content": "<s>"}}),
            ("GPT2Tokenizer", "bytes", {"sep_token": "<u>", "extra_special_tokens": [SPECIAL]}),
            ("CohereTokenizer", "bytes+special_u", {"additional_special_tokens": ["<u>"]})]:
        case(f"{name} {config}", document, BYTES + PIECES + SPACES, {"tokenizer_class": name, **config}, model=of_5)
    for config, map_tokens in [({}, ["<u>"]), ({"additional_special_tokens": ["<mask>"]}, ["<u>"]),
                               ({"extra_special_tokens": []}, ["<u>"])]:
        for version in [4, 5]:
            case(f"further tokens {config}, {map_tokens} of the map", "bytes", BYTES, {"tokenizer_class": "GPT2Tokenizer", **config},
                 version, of_4 if version == 4 else of_5,
                 special_tokens_map={"additional_special_tokens": map_tokens})
    for name, document, config in [
            ("MPNetTokenizer", "bert", {"tokenize_chinese_chars": False}), ("FunnelTokenizer", "bert", {}),
            ("CohereTokenizer", "bytes_digits", {"add_prefix_space": True}), ("BigBirdTokenizer", "albert_mark", {}),
            ("PreTrainedTokenizerFast", "bytes+special_u", {"added_tokens_decoder": {}, "pad_token": SPECIAL}),
            ("LlamaTokenizer", "bytes+special_u", {"bos_token": "<u>", "additional_special_tokens": [SPECIAL]}),
            ("RobertaTokenizer", "bytes", {"mask_token": "<u>"}), ("DebertaTokenizer", "bytes", {}), ("BlenderbotTokenizer", "bytes", {})]:
        case(f"{name} of 4 {config}", document, BYTES + WORDS + ["ab [MASK] <mask>"], {"tokenizer_class": name, **config}, 4, of_4)
    case("GPTNeoX of StableLM", "bytes", BYTES + ["<|padding|>"], {"tokenizer_class": "GPTNeoXTokenizer"}, 4,
         of_4 | {"model_type": "stablelm"})
    for config, map_tokens in [({"additional_special_tokens": ["<u>"]}, {"additional_special_tokens": None}),
                               ({"extra_special_tokens": ["<u>"]}, {"extra_special_tokens": ["<mask>", {"content": "<pad>"}]})]:
        case(f"{config} and {map_tokens} of the map", "bytes", BYTES, {"tokenizer_class": "GPT2Tokenizer", **config}, 5, of_5,
             special_tokens_map=map_tokens)
    case("named, but not special", "bytes+u", BYTES, {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<u>"} |
         {"added_tokens_decoder": {"260": {"content": "<s>", "special": True}}}, 5, of_5)
    return rows


def answer(row, documents):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in [("tokenizer.json", documents[row["tokenizer"]]), ("tokenizer_config.json", row["config"]),
                              ("config.json", row["model_config"]), ("special_tokens_map.json", row["special_tokens_map"])]:
            if content:
                (Path(folder) / name).write_text(json.dumps(content))
        tokenizer = AutoTokenizer.from_pretrained(folder)
    special = [i for i, token in tokenizer.added_tokens_decoder.items() if token.special]
    return {"ids": [tokenizer(text)["input_ids"] for text in row["texts"]],
            "pair": tokenizer(row["texts"][0], row["texts"][1])["input_ids"], "special": sorted(special)}


def main():
    with_u = Tokenizer.from_str(DOCUMENTS["bytes"].to_str())
    with_u.add_tokens([AddedToken("<u>", normalized=False)])
    special_u = Tokenizer.from_str(DOCUMENTS["bytes"].to_str())
    special_u.add_special_tokens([AddedToken("<u>", normalized=False)])
    more = {"bytes+u": with_u, "bytes+special_u": special_u}
    documents = {name: json.loads(document.to_str()) for name, document in (DOCUMENTS | more).items()}
    rows = cases()
    known = {}
    if OUT.exists():
        known = {row["name"]: row for row in json.loads(OUT.read_text("utf-8"))["rows"] if row["transformers"] != MAJOR}
    result = []
    for row in rows:
        row["name"] += f", transformers {row['transformers']}, {row['tokenizer']}"
        if row["transformers"] == MAJOR:
            try:
                result.append(row | answer(row, documents))
            except Exception as error:
                print(row["name"], repr(error)[:200])
        elif row["name"] in known:
            result.append(row | {key: known[row["name"]][key] for key in ["ids", "pair", "special"]})
    OUT.write_text(json.dumps({"tokenizers": documents, "rows": result}, ensure_ascii=False, separators=(",", ":")) + "\n",
                   "utf-8")


if __name__ == "__main__":
    main()
