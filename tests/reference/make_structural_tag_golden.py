#!/usr/bin/env python3
"""Writes golden/structural_tags.json: which texts xgrammar accepts for structural tags. Needs xgrammar 0.2.

The texts of each document are concatenations of its pieces, drawn at random.
"""

import json
import pathlib
import random

import xgrammar

NUM_TEXTS = 24  # of each document, accepted and rejected each at most

INTEGER = {"type": "json_schema", "json_schema": {"type": "integer"}}
ANY = {"type": "any_text"}


def tag(begin, content, end):
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def const(value):
    return {"type": "const_string", "value": value}


def triggered(**options):
    tags = [tag("<f=a>", INTEGER, "</f>"), tag("<f=b>", ANY, "</f>"), tag("[g]", const("x"), ["!", "?"])]
    return {"type": "triggered_tags", "triggers": ["<f=", "[g"], "tags": tags, **options}


CALLS = ["a", "<f=", "a>", "<f=a>", "12", "</f>", "<f=b>", "b>", "é", "[g]", "x", "!", "?", "<", "[", "<f=a>12</f>",
         "[g]x!"]
DOCUMENTS = [
    (triggered(), CALLS),
    (triggered(at_least_one=True), CALLS),
    (triggered(stop_after_first=True), CALLS),
    (triggered(at_least_one=True, stop_after_first=True), CALLS),
    (triggered(excludes=["é", "xx"]), CALLS),
    (tag("(", triggered(), ")"), CALLS + ["(", ")"]),
    (tag("<t>", ANY, "</t>"), ["<t>", "</t>", "a", "<", "</", "é"]),
    (tag("<t>", {"type": "sequence", "elements": [const("ab"), ANY]}, ["</t>", "."]),
     ["<t>", "</t>", "ab", "b", ".", "<"]),
    (tag("(", {"type": "or", "elements": [tag("[", ANY, "]"), {"type": "any_text", "excludes": ["["]}]}, ")"),
     ["(", ")", "[", "]", "a"]),
    ({"type": "tags_with_separator", "tags": [tag("<a>", INTEGER, ";"), tag("<b>", ANY, ";")], "separator": ","},
     ["<a>", "1", ";", "<b>", "x", ",", "<a>1;", "<b>;"]),
    ({"type": "tags_with_separator", "tags": [tag("<a>", INTEGER, ";")], "separator": "", "at_least_one": True},
     ["<a>", "1", ";", "<a>1;"]),
    ({"type": "sequence", "elements": [
        {"type": "optional", "content": const("a")}, {"type": "plus", "content": const("b")},
        {"type": "star", "content": const("c")}, {"type": "repeat", "min": 1, "max": 2, "content": const("d")},
        {"type": "regex", "pattern": "[x-z]{2}"}, {"type": "grammar", "grammar": "root ::= \"e\" | \"(\" root \")\""}]},
     ["a", "b", "c", "d", "xy", "z", "e", "(", ")", "abcdxye", "bdzz((e))"]),
    ({"type": "sequence", "elements": [tag("<think>", ANY, "</think>"), {"type": "json_schema", "json_schema": {
        "type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
        "additionalProperties": False}}]},
     ["<think>", "</think>", "{\"a\": true}", "{\"a\":false}", "{", "hm", "<"]),
]


def accepts(grammar, text):
    matcher = xgrammar.GrammarMatcher(grammar, terminate_without_stop_token=False)
    if not matcher.accept_string(text):
        return False
    mask = xgrammar.allocate_token_bitmask(1, grammar.tokenizer_info.vocab_size)
    matcher.fill_next_token_bitmask(mask)
    end = grammar.tokenizer_info.stop_token_ids[0]
    return bool(int(mask[0, end // 32]) >> (end % 32) & 1)


def main():
    rng = random.Random(1)
    vocab = [bytes([byte]) for byte in range(256)] + [b"<end>"]
    info = xgrammar.TokenizerInfo(vocab, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    compiler = xgrammar.GrammarCompiler(info)
    cases = []
    for form, pieces in DOCUMENTS:
        document = {"type": "structural_tag", "format": form}
        grammar = compiler.compile_structural_tag(json.dumps(document))
        texts = {True: [], False: []}
        for _ in range(3000):
            text = "".join(rng.choices(pieces, k=rng.randint(0, 6)))
            kind = texts[accepts(grammar, text)]
            if text not in kind and len(kind) < NUM_TEXTS:
                kind.append(text)
        cases.append({"document": document, "accepted": texts[True], "rejected": texts[False]})
    path = pathlib.Path(__file__).parent / "golden" / "structural_tags.json"
    path.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
