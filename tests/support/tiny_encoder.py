"""Tiny encoders as model directories, for servers in tests; uses only the Python 3.11 standard library.

A golden encoder (tests/reference/golden/encoders) with the weights that GoldenWeights computes from tensors' names
(tests/model/model_fixture.h), an embedding with a row for each id of a golden WordPiece tokenizer, and the files of a
sentence-transformers model, as in TinyEncoder of tests/runtime."""

import json
import math
import shutil
import struct
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "reference/golden"
MAX_TOKENS = 30  # per input
_MASK = (1 << 64) - 1


def _f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def _weights(name, shape):
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & _MASK
    spread = _f32(math.sqrt(6.0 / shape[-1]))
    for i in range(1, math.prod(shape) + 1):
        z = (seed + i * 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        z = z ^ (z >> 31)
        unit = (z >> 40) * 2.0**-23 - 1.0
        if name.endswith("Norm.weight"):
            yield 1.0 + 0.25 * unit
        else:
            yield (0.5 if name.endswith(".bias") else spread) * unit


def _safetensors(shapes):
    header, data = {}, bytearray()
    for name, shape in shapes.items():
        begin = len(data)
        data += struct.pack(f"<{math.prod(shape)}f", *_weights(name, shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write_tiny_encoder(directory, golden, heads=False):
    """`golden`: "bert", which makes vectors of 36 dimensions (with `heads` also sparse vectors and multi-vectors), or
    "bert_classification", which makes one score. Returns the directory, created if missing."""
    directory = Path(directory)
    case = json.loads((GOLDEN / f"encoders/{golden}.json").read_text())
    tokenizer = json.loads((GOLDEN / "tokenizers/bert.json").read_text())["tokenizer"]
    vocab_size = len(tokenizer["model"]["vocab"])
    case["config"]["vocab_size"] = vocab_size
    for name, shape in case["tensors"].items():
        if name.endswith("word_embeddings.weight"):
            shape[0] = vocab_size
    files = {"config.json": case["config"], "tokenizer.json": tokenizer}
    if golden == "bert":
        kind = "sentence_transformers.models."
        files["modules.json"] = [
            {"idx": 0, "name": "0", "path": "", "type": kind + "Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": kind + "Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": kind + "Normalize"},
        ]
        files["1_Pooling/config.json"] = {"word_embedding_dimension": 36, "pooling_mode_mean_tokens": True}
    for name, contents in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(contents))
    for name in ("sparse_linear.pt", "colbert_linear.pt") if heads else ():
        shutil.copy(GOLDEN / "outputs/heads_36" / name, directory)
    (directory / "model.safetensors").write_bytes(_safetensors(case["tensors"]))
    return directory
