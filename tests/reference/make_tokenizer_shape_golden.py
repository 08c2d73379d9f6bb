#!/usr/bin/env python3
"""Writes tests/reference/golden/tokenizer_shape.json: without which members the tokenizers library rejects a
tokenizer.json.

Each case has a document that the library loads, the path of an object in it, and the object's members that are needed.

Needs: pip install tokenizers (0.23.3 wrote the committed file; 0.22.2 writes the same)
"""

import copy
import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders as D, models, normalizers as N, pre_tokenizers as P
from tokenizers import processors as R

OUT = Path(__file__).resolve().parent / "golden" / "tokenizer_shape.json"
VOCAB = {"a": 0, "[UNK]": 1, "b": 2}
STEPS = {
    "normalizer": [N.BertNormalizer(), N.NFC(), N.Lowercase(), N.Strip(), N.Prepend("x"), N.Replace("a", "b"),
                   N.StripAccents(), N.Nmt(), N.ByteLevel(), N.Sequence([N.Strip()])],
    "pre_tokenizer": [P.BertPreTokenizer(), P.ByteLevel(), P.CharDelimiterSplit("x"), P.Digits(), P.Metaspace(),
                      P.Punctuation(), P.Split("a", "isolated"), P.Whitespace(), P.WhitespaceSplit(),
                      P.Sequence([P.Digits()])],
    "post_processor": [R.BertProcessing(("a", 0), ("b", 2)), R.RobertaProcessing(("a", 0), ("b", 2)), R.ByteLevel(),
                       R.TemplateProcessing("a $A", "a $A b $B:1", [("a", 0), ("b", 2)]), R.Sequence([R.ByteLevel()])],
    "decoder": [D.ByteLevel(), D.WordPiece(), D.ByteFallback(), D.Fuse(), D.Strip(), D.Replace("a", "b"),
                D.Metaspace(), D.BPEDecoder(), D.CTC(), D.Sequence([D.Strip()])],
}
MODELS = [models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]), models.WordPiece(VOCAB, unk_token="[UNK]"),
          models.WordLevel(VOCAB, unk_token="[UNK]"), models.Unigram([("a", 0.0), ("b", -1.0)], 0, False)]


def new(model=None):
    return Tokenizer(model or models.WordLevel(VOCAB, unk_token="[UNK]"))


def loads(document):
    try:
        Tokenizer.from_str(json.dumps(document))
        return True
    except BaseException:  # a panic is none of Exception
        return False


def case(tokenizer, path):
    document = json.loads(tokenizer.to_str())
    assert loads(document)
    needed = []
    for name in at(document, path):
        without = copy.deepcopy(document)
        del at(without, path)[name]
        if name != "type" and not loads(without):
            needed.append(name)
    return {"document": document, "path": path, "needed": needed}


def at(document, path):
    for step in path:
        document = document[step]
    return document


def main():
    cases = [case(new(), [])]
    for slot, steps in STEPS.items():
        for step in steps:
            tokenizer = new()
            setattr(tokenizer, slot, step)
            cases.append(case(tokenizer, [slot]))
            made = cases[-1]["document"][slot]
            if made["type"] == "TemplateProcessing":
                cases.append(case(tokenizer, [slot, "special_tokens", "b"]))
            if made["type"] == "Sequence":
                listed = next(name for name in made if name != "type")
                cases.append(case(tokenizer, [slot, listed, 0]))
    cases += [case(new(model), ["model"]) for model in MODELS]
    tokenizer = new()
    tokenizer.add_special_tokens([AddedToken("<x>", special=True)])
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding()
    cases += [case(tokenizer, ["added_tokens", 0]), case(tokenizer, ["truncation"]), case(tokenizer, ["padding"])]
    rejected = [{**json.loads(new().to_str()), **other} for other in (
        {"pre_tokenizerz": None}, {"version": "2.0"}, {"version": None}, {"padding": 1}, {"truncation": 1e9},
        {"added_tokens": None}, {"added_tokens": {}}, {"normalizer": {"type": "Sequence", "pretokenizers": []}},
        {"decoder": {"type": "Sequence", "processors": []}})]
    assert not any(map(loads, rejected))
    lines = ",\n".join(json.dumps(line) for line in cases)
    OUT.write_text('{"cases": [\n' + lines + '\n],\n"rejected": [\n' +
                   ",\n".join(json.dumps(line) for line in rejected) + "\n]}\n")


main()
