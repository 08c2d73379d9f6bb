"""The counts for the vocabulary list: tokens of all texts, as rows that `shortlist vocab build` reads."""

import json

import numpy as np

import corpora

OWN_WEIGHT = 4  # weight of the target's own outputs, relative to all corpora together


def _texts(work):
    """Yields (name, weight, rows of ids) of each source and of the target's outputs; the weights sum to 1."""
    for source in corpora.SOURCES:
        yield source.name, source.share / (1 + OWN_WEIGHT), corpora.load_tokens(work, source.name, "train")
    yield "own", OWN_WEIGHT / (1 + OWN_WEIGHT), np.load(work / "samples.npy", mmap_mode="r")


def write_rows(work):
    """Writes work/NAME.ids.jsonl for each. Returns [(weight, path)]."""
    written = []
    for name, weight, rows in _texts(work):
        path = work / f"{name}.ids.jsonl"
        with open(path, "w") as file:
            for i in range(len(rows)):
                file.write(json.dumps({"ids": rows[i].tolist()}) + "\n")
        written.append((weight, path))
    return written
