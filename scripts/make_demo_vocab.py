#!/usr/bin/env python3
"""Makes a vocabulary list from token counts. Example (the shipped demo list):

scripts/make_demo_vocab.py --tokenizer models/demo/target/tokenizer.model --counts counts.json \
    --source "..." --out vocab_lists/demo.vocab.json

`--counts`: {"vocab_size": V, "ids": [...], "counts": [...]}, ids in rank order, counts never rising; and, where wanted,
"successors": V lists of ids, what follows each token, likeliest first. Pinned are the control pieces and the unknown
piece; bytes are ranked as all else is, since a draft that cannot spell costs a token and 256 rows cost every step.
Standard library alone.
"""

import argparse
import json

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # SentencePiece.Type in sentencepiece_model.proto


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Yields (number, value) of one protobuf message; value is bytes where it is length-delimited."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            if wire == 2:
                size, at = varint(data, at)
            else:
                size = {1: 8, 5: 4}[wire]
            value, at = data[at : at + size], at + size
        yield tag >> 3, value


def read_pieces(path):
    """[(type, byte string as text/tokenizer.h defines it for the fingerprint)] in id order."""
    pieces, unk_surface = [], " \u2047 ".encode()
    with open(path, "rb") as file:
        model = file.read()
    for number, value in fields(model):
        if number == 1:
            piece = dict(fields(value))
            pieces.append((piece.get(3, NORMAL), piece[1]))
        elif number == 2:
            unk_surface = dict(fields(value)).get(44, unk_surface)

    def token_bytes(kind, name):
        if kind == CONTROL:
            return name
        if kind == UNKNOWN:
            return unk_surface
        if kind == BYTE:
            return bytes([int(name[3:5], 16)])
        return name.replace("\u2581".encode(), b" ")

    return [(kind, token_bytes(kind, name)) for kind, name in pieces]


def fingerprint(pieces):
    value = 0xCBF29CE484222325
    for _, token in pieces:
        for byte in len(token).to_bytes(4, "little") + token:
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"fnv1a64:{value:016x}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("tokenizer", "counts", "source", "out"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()

    pieces = read_pieces(args.tokenizer)
    with open(args.counts) as file:
        counted = json.load(file)
    assert counted["vocab_size"] == len(pieces), "counts are of another tokenizer"
    pinned = [i for i, (kind, _) in enumerate(pieces) if kind in (UNKNOWN, CONTROL)]
    members = {
        "vocab_size": len(pieces),
        "fingerprint": fingerprint(pieces),
        "source": args.source,
        "ids": counted["ids"],
        "counts": counted["counts"],
        "pinned": pinned,
    }
    lines = [f'"{k}": {json.dumps(v, separators=(",", ":"))}' for k, v in members.items()]
    if "successors" in counted:
        assert len(counted["successors"]) == len(pieces), "successors are of another tokenizer"
        lists = ",\n".join(json.dumps(ids, separators=(",", ":")) for ids in counted["successors"])
        lines.append(f'"successors": [{lists}]')
    with open(args.out, "w") as file:
        file.write('{"format": "shortlist-vocab", "version": 1,\n' + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
