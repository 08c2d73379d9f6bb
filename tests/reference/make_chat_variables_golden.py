"""Lists which special tokens are variables of a chat template, for tests/text/chat/special_tokens_test.

    python tests/reference/make_chat_variables_golden.py

writes tests/reference/golden/chat/special_tokens.json: cases of tokenizer_config.json ("config"),
special_tokens_map.json ("map", or null for none) and, for cases of a tokenizer class, tokenizer.json ("tokenizer") with
"tokens", the special_tokens_map of transformers' tokenizer, which apply_chat_template passes to the template; null if
it rejects them.
"""

import json
import pathlib
import tempfile

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer

OUT = pathlib.Path(__file__).parent / "golden" / "chat" / "special_tokens.json"


def added(text):
    return {"__type": "AddedToken", "content": text, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}


def decoder(*texts):
    return {str(i): {k: v for k, v in added(t).items() if k != "__type"} for i, t in enumerate(texts)}


TOKENS = {"bos_token": "<s>", "eos_token": added("</s>")}
CASES = [
    (TOKENS, None),
    ({}, None),
    ({**TOKENS, "bos_token": None, "mask_token": "<mask>"}, None),
    ({**TOKENS, "image_token": "<image>"}, None),
    ({**TOKENS, "image_token": added("<image>"), "boi": "<boi>", "add_bos_token": True, "n_token": 3, "x_token": None}, None),
    ({**TOKENS, "extra_special_tokens": {"image_token": "<image>", "boi": "<boi>"}}, None),
    ({**TOKENS, "extra_special_tokens": {"image_token": added("<image>"), "eos_token": "<e>"}}, None),
    ({**TOKENS, "extra_special_tokens": ["<image>"]}, None),
    ({**TOKENS, "additional_special_tokens": ["<image>"]}, None),
    ({**TOKENS, "additional_special_tokens": {"image_token": "<image>"}}, None),
    ({**TOKENS, "additional_special_tokens": {"a_token": "<a>"}, "extra_special_tokens": {"image_token": "<image>"}}, None),
    ({**TOKENS, "additional_special_tokens": {"a_token": "<a>"}, "extra_special_tokens": []}, None),
    ({**TOKENS, "model_specific_special_tokens": {"image_token": "<image>"}}, None),
    ({**TOKENS, "model_specific_special_tokens": {"image_token": "<image>"}, "audio_token": "<audio>"}, None),
    ({**TOKENS, "model_specific_special_tokens": {"image_token": "<image>"}, "audio_token": added("<audio>")}, None),
    ({**TOKENS, "model_specific_special_tokens": {"image_token": "<image>"}, "extra_special_tokens": {"a": "<a>"}}, None),
    ({**TOKENS, "image_token": "<i>", "extra_special_tokens": {"image_token": "<image>"}}, None),
    ({**TOKENS, "extra_special_tokens": {"image_token": 7}}, None),
    ({**TOKENS, "extra_special_tokens": "<image>"}, None),
    (TOKENS, {"bos_token": "<b>", "sep_token": {"content": "<sep>", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}}),
    (TOKENS, {"image_token": "<image>", "audio_token": {"content": "<audio>", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}}),
    ({**TOKENS, "video_token": "<video>"}, {"image_token": "<image>", "video_token": "<v>"}),
    ({**TOKENS, "video_token": "<video>"}, {"extra_special_tokens": {"image_token": "<image>"}}),
    (TOKENS, {"extra_special_tokens": ["<image>"], "additional_special_tokens": ["<audio>"]}),
    ({**TOKENS, "added_tokens_decoder": decoder("<s>", "</s>")}, {"bos_token": "<b>", "sep_token": "<sep>", "image_token": "<image>"}),
    ({**TOKENS, "added_tokens_decoder": decoder("<s>", "</s>", "<image>"), "image_token": "<image>"}, None),
]
# Tokenizer class, its kind of model, further members of the config.
CLASS_CASES = [
    ("Qwen2Tokenizer", "bytes", {}),
    ("Qwen2TokenizerFast", "bytes", {"unk_token": None, "eos_token": "<|im_end|>"}),
    ("Qwen2Tokenizer", "bytes", {"unk_token": None, "eos_token": None, "pad_token": None}),
    ("GPT2Tokenizer", "bytes", {"bos_token": "<s>"}),
    ("GPTNeoXTokenizer", "bytes", {}),
    ("CohereTokenizer", "bytes", {"eos_token": added("<e>")}),
    ("LlamaTokenizer", "bytes", {}),
    ("LlamaTokenizer", "marks", {}),
    ("LlamaTokenizer", "marks", {"unk_token": None, "bos_token": "<b>", "image_token": "<image>"}),
    ("CodeLlamaTokenizer", "marks", {"suffix_token": "<s>"}),
    ("GemmaTokenizer", "marks", {"mask_token": "<m>"}),
    ("PreTrainedTokenizerFast", "bytes", {}),
]


def make_words():
    return Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))


def make_bpe(kind):
    tokens = ["a", "b", "<s>", "</s>", "<unk>", "<|endoftext|>", "<bos>", "<eos>", "<pad>"]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, []))
    if kind == "bytes":
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    return tokenizer


def tokens_of(config, special_tokens_map, tokenizer):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **config}))
        if special_tokens_map is not None:
            (folder / "special_tokens_map.json").write_text(json.dumps(special_tokens_map))
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
        except Exception as error:
            print("refused:", config, type(error).__name__, str(error)[:100])
            return None
        return tokenizer.special_tokens_map


def main():
    cases = [{"config": config, "map": map_, "tokens": tokens_of(config, map_, make_words())} for config, map_ in CASES]
    for name, kind, more in CLASS_CASES:
        config, tokenizer = {"tokenizer_class": name, **more}, make_bpe(kind)
        tokens = tokens_of(config, None, tokenizer)
        cases.append({"config": config, "map": None, "tokenizer": json.loads(tokenizer.to_str()), "tokens": tokens})
    lines = ",\n".join(json.dumps(case) for case in cases)
    OUT.write_text(f'{{"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
