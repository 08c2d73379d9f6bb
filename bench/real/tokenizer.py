"""Tokenizer files of a Hugging Face directory from a GGUF file's metadata.

A GGUF file names its pre-tokenizer and omits its normalizer. Both come from the table below. transformers 5.24 reads
GGUF tokenizers too, but without Qwen2's normalizer and SmolLM's split of digits, which gives other ids.
"""

from gguf import TokenType

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}

QWEN2_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
               r"|\s+(?!\S)|\s+")

# By tokenizer.ggml.pre: normalizer and pre-tokenizers, as in the models' own tokenizer.json.
PRE_TOKENIZERS = {
    "qwen2": ({"type": "NFC"}, [
        {"type": "Split", "pattern": {"Regex": QWEN2_SPLIT}, "behavior": "Isolated", "invert": False},
        BYTE_LEVEL,
    ]),
    "smollm": (None, [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL | {"use_regex": True}]),
}

# Tokens that end a text in addition to the metadata's eos, eot and eom, if they are control tokens (llama.cpp's
# rule).
END_TOKENS = ("<|endoftext|>", "<|im_end|>")


def check_supported(metadata):
    model, pre = metadata.require("tokenizer.ggml.model"), metadata.require("tokenizer.ggml.pre")
    if model != "gpt2" or pre not in PRE_TOKENIZERS:
        raise ValueError(f"tokenizer {model!r} with pre-tokenizer {pre!r}; expected 'gpt2' with one of "
                         f"{', '.join(PRE_TOKENIZERS)}")
    for key in ("tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token"):
        if metadata.get(key, False):
            raise ValueError(f"{key} is true; expected a tokenizer that adds no token")


def tokenizer_json(metadata, tokens, types):
    normalizer, pre_tokenizers = PRE_TOKENIZERS[metadata.require("tokenizer.ggml.pre")]
    added = [{"id": index, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": kind == TokenType.CONTROL}
             for index, (token, kind) in enumerate(zip(tokens, types))
             if kind in (TokenType.CONTROL, TokenType.USER_DEFINED)]
    # Unused tokens fill the rows of a padded embedding.
    vocab = {token: index for index, (token, kind) in enumerate(zip(tokens, types)) if kind != TokenType.UNUSED}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pre_tokenizers},
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": vocab,
            "merges": [merge.split(" ") for merge in metadata.require("tokenizer.ggml.merges")],
        },
    }


def tokenizer_files(metadata):
    """Contents of tokenizer.json, tokenizer_config.json and generation_config.json by file name."""
    check_supported(metadata)
    tokens, types = metadata.require("tokenizer.ggml.tokens"), metadata.require("tokenizer.ggml.token_type")
    ids = {name: metadata.get(f"tokenizer.ggml.{key}_token_id")
           for name, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown"))}
    if ids["eos"] is None:
        raise ValueError("metadata has no tokenizer.ggml.eos_token_id")
    # Not the class of the original: some classes of transformers 5 replace parts of tokenizer.json.
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False,
              "model_max_length": metadata.require("{arch}.context_length")}
    config |= {f"{name}_token": tokens[index] for name, index in ids.items() if index is not None}
    if template := metadata.get("tokenizer.chat_template"):
        config["chat_template"] = template
    ends = [ids["eos"], metadata.get("tokenizer.ggml.eot_token_id"), metadata.get("tokenizer.ggml.eom_token_id")]
    ends += [index for index, (token, kind) in enumerate(zip(tokens, types))
             if kind == TokenType.CONTROL and token in END_TOKENS]
    generation = {f"{name}_token_id": ids[name] for name in ("bos", "pad") if ids[name] is not None}
    generation["eos_token_id"] = list(dict.fromkeys(index for index in ends if index is not None))
    return {
        "tokenizer.json": tokenizer_json(metadata, tokens, types),
        "tokenizer_config.json": config,
        "generation_config.json": generation,
    }
