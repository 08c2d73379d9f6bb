#!/usr/bin/env python3
"""Writes tests/reference/golden/tokenizer_classes.json: the tokens that transformers' AutoTokenizer puts around a
text, by the class and flags of tokenizer_config.json and the post-processor of tokenizer.json.

Needs: pip install transformers (5.23.0 wrote the committed file)
"""

import itertools
import json
import tempfile
from pathlib import Path

from tokenizers import Tokenizer, models, processors
from transformers import AutoTokenizer

OUT = Path(__file__).resolve().parent / "golden" / "tokenizer_classes.json"
CLASSES = ["LlamaTokenizer", "LlamaTokenizerFast", "CodeLlamaTokenizer", "GemmaTokenizer", "GemmaTokenizerFast",
           "Qwen2Tokenizer", "PreTrainedTokenizerFast"]
FLAGS = [{}, {"add_bos_token": True}, {"add_bos_token": False}, {"add_bos_token": None},
         {"add_bos_token": True, "add_eos_token": True}, {"add_bos_token": False, "add_eos_token": True}]


def tokenizer():
    names = ["<unk>", "<s>", "</s>", "▁"] + [f"<0x{byte:02X}>" for byte in range(256)]
    result = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, [], unk_token="<unk>",
                                  fuse_unk=True, byte_fallback=True))
    result.add_special_tokens(["<unk>", "<s>", "</s>"])
    return result


def post_processors():
    template = processors.TemplateProcessing
    return {"none": None,
            "bos": template(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]),
            "eos": template(single="$A </s>", pair="$A $B:1 </s>:1", special_tokens=[("</s>", 2)])}


def main():
    documents = {}
    for name, post_processor in post_processors().items():
        made = tokenizer()
        if post_processor:
            made.post_processor = post_processor
        documents[name] = json.loads(made.to_str())
    rows = []
    for name, (post_processor, document), flags in itertools.product(CLASSES, documents.items(), FLAGS):
        config = {"tokenizer_class": name, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", **flags}
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "tokenizer.json").write_text(json.dumps(document))
            (Path(folder) / "tokenizer_config.json").write_text(json.dumps(config))
            ids = AutoTokenizer.from_pretrained(folder)("text")["input_ids"]
        rows.append({"post_processor": post_processor, "config": config, "bos": ids[:1] == [1], "eos": ids[-1:] == [2]})
    golden = {"post_processors": {name: document["post_processor"] for name, document in documents.items()},
              "tokenizer": documents["none"], "rows": rows}
    OUT.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
