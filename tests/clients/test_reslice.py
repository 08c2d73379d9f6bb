"""`shortlist vocab reslice`: what vLLM and SGLang make of the new checkpoint, by the rules of their loaders.

SGLang (models/llama_eagle3.py): hot_token_id = d2t + arange. vLLM (models/llama_eagle3.py): logits of the draft go to
arange + d2t of a row of -inf as long as the target's vocabulary.
"""

import json
import struct
import subprocess

import numpy as np
import pytest
from processes import ROOT

VOCAB, HIDDEN = 16384, 16


def write_safetensors(path, tensors):
    header, data = {}, b""
    names = {"float32": "F32", "int64": "I64", "bool": "BOOL"}
    for name, tensor in tensors.items():
        header[name] = {"dtype": names[str(tensor.dtype)], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    contents = path.read_bytes()
    end = 8 + struct.unpack("<Q", contents[:8])[0]
    header = json.loads(contents[8:end])
    header.pop("__metadata__", None)
    types = {"F32": np.float32, "I64": np.int64, "BOOL": np.bool_}
    return {name: np.frombuffer(contents[end + entry["data_offsets"][0]:end + entry["data_offsets"][1]],
                                types[entry["dtype"]]).reshape(entry["shape"]) for name, entry in header.items()}


def logits_in_vllm(tensors, hidden):
    targets = np.arange(len(tensors["d2t"])) + tensors["d2t"]
    logits = np.full(VOCAB, -np.inf, np.float32)
    logits[targets] = tensors["lm_head.weight"] @ hidden
    return logits


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    random = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("eagle3")
    ids = np.sort(random.permutation(VOCAB)[:4000])
    mask = np.zeros(VOCAB, np.bool_)
    mask[ids] = True
    write_safetensors(folder / "model.safetensors", {
        "d2t": ids - np.arange(len(ids)), "t2d": mask,
        "lm_head.weight": random.standard_normal((len(ids), HIDDEN), np.float32),
        "midlayer.hidden_norm.weight": np.ones(HIDDEN, np.float32),
        "fc.weight": random.standard_normal((HIDDEN, 3 * HIDDEN), np.float32)})
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLMEagle3"], "vocab_size": VOCAB, "draft_vocab_size": len(ids),
        "hidden_size": HIDDEN, "tie_word_embeddings": False}))
    return folder, ids


@pytest.mark.parametrize("num_rows", [1, 64, 1500, 4000])
def test_engines_see_the_rows_that_were_asked_for(checkpoint, tmp_path, num_rows):
    folder, ids = checkpoint
    asked = np.sort(np.random.default_rng(num_rows).choice(ids, num_rows, replace=False))
    (tmp_path / "list.txt").write_text("\n".join(map(str, asked)))
    out = tmp_path / "out"
    subprocess.run([ROOT / "build/release/shortlist", "vocab", "reslice", folder, "--model", ROOT / "models/demo/target",
                    "--list", tmp_path / "list.txt", "--pin", "none", "--out", out], check=True)
    old, new = read_safetensors(folder / "model.safetensors"), read_safetensors(out / "model.safetensors")
    assert np.array_equal(new["d2t"] + np.arange(num_rows), asked)  # SGLang's hot_token_id
    assert json.loads((out / "config.json").read_text())["draft_vocab_size"] == num_rows == len(new["lm_head.weight"])
    assert np.array_equal(np.flatnonzero(new["t2d"]), asked)
    hidden = np.random.default_rng(9).standard_normal(HIDDEN, np.float32)
    expected = np.where(new["t2d"], logits_in_vllm(old, hidden), -np.inf)
    assert np.allclose(logits_in_vllm(new, hidden), expected, rtol=1e-6)
    assert np.array_equal(new["fc.weight"], old["fc.weight"])
