#!/usr/bin/env python3
"""Loads a checkpoint of `shortlist vocab reslice` by the methods of vLLM's and SGLang's own classes.

usage: check_resliced_heads.py CHECKPOINT VLLM SGLANG
CHECKPOINT has tensors of F32, F16, BF16, I64 and BOOL. VLLM and SGLANG are folders with the unpacked wheels (vllm 0.33.0
and sglang 0.5.23: `pip download --no-deps`). Of each, the source of load_weights and of what maps logits is run, on
NumPy in place of PyTorch: needs numpy alone.
Prints the number of rows, and fails where the map of either is not row + d2t with the mask t2d.
"""

import ast
import json
import struct
import sys
import types
from pathlib import Path

import numpy as np

TYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I64": np.int64, "BOOL": np.bool_}


class Tensor(np.ndarray):
    """An array with the few methods of torch.Tensor that are called."""

    device = None

    def new_full(self, shape, value):
        return np.full(shape, value, np.float32).view(Tensor)


def read(path):
    contents = path.read_bytes()
    end = 8 + struct.unpack("<Q", contents[:8])[0]
    for name, entry in json.loads(contents[8:end]).items():
        if name != "__metadata__":
            first, last = (end + offset for offset in entry["data_offsets"])
            values = np.frombuffer(contents[first:last], TYPES[entry["dtype"]])
            yield name, values.reshape(entry["shape"]).view(Tensor)


def methods(path, class_name, names, scope):
    """The methods `names` of a class, compiled from its file, with `scope` as the module's globals."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name in names:
                    method.decorator_list, method.returns = [], None
                    for argument in method.args.args:
                        argument.annotation = None
                    exec(compile(ast.Module([method], []), str(path), "exec"), scope)
                    found[method.name] = scope[method.name]
    assert set(found) == set(names), f"{path}: {class_name} has not all of {names}"
    return found


TORCH = types.SimpleNamespace(arange=lambda count, device=None: np.arange(count).view(Tensor), Tensor=Tensor)


def sglang_ids(folder, tensors):
    scope = {"torch": TORCH, "default_weight_loader": lambda param, weight: None}
    load = methods(folder / "sglang/srt/models/llama_eagle3.py", "LlamaForCausalLMEagle3", ["load_weights"], scope)
    model = types.SimpleNamespace(named_parameters=lambda: [], hot_token_id=None)
    load["load_weights"](model, tensors.items())
    return np.asarray(model.hot_token_id)


def vllm_logits(folder, tensors, vocab_size, draft_vocab_size, logits):
    """The logits over the target's vocabulary that the draft's `logits` become."""
    loaded = {}
    loader = types.SimpleNamespace(load_weights=lambda weights, mapper: loaded.update(weights))
    scope = {"torch": TORCH, "AutoWeightsLoader": lambda model: loader, "WeightsMapper": lambda **names: names,
             "process_eagle_weight": lambda model, name: None}
    run = methods(folder / "vllm/model_executor/models/llama_eagle3.py", "Eagle3LlamaForCausalLM",
                  ["load_weights", "compute_logits"], scope)
    model = types.SimpleNamespace(
        use_parallel_drafting=False, model=types.SimpleNamespace(use_aux_hidden_state=True, norm_before_fc=False),
        config=types.SimpleNamespace(vocab_size=vocab_size, draft_vocab_size=draft_vocab_size),
        lm_head=None, logits_processor=lambda head, hidden: logits.view(Tensor))
    run["load_weights"](model, tensors.items())
    assert loaded["lm_head.weight"].shape[0] == draft_vocab_size, "the head has other rows than config.json says"
    model.draft_id_to_target_id = loaded["draft_id_to_target_id"]
    return np.asarray(run["compute_logits"](model, None))


def main():
    checkpoint, vllm, sglang = map(Path, sys.argv[1:])
    tensors = dict(read(checkpoint / "model.safetensors"))
    config = json.loads((checkpoint / "config.json").read_text())
    vocab_size = len(tensors["t2d"])
    expected = np.flatnonzero(tensors["t2d"])
    assert np.array_equal(sglang_ids(sglang, tensors), expected), "SGLang's hot_token_id is not t2d"
    draft_logits = np.arange(1, len(expected) + 1, dtype=np.float32).reshape(1, -1)
    logits = vllm_logits(vllm, tensors, vocab_size, config["draft_vocab_size"], draft_logits)
    assert np.array_equal(logits[0, expected], draft_logits[0]), "vLLM puts logits elsewhere"
    assert np.isneginf(np.delete(logits[0], expected)).all(), "vLLM leaves other tokens possible"
    print(f"{len(expected)} rows: both maps are t2d")


if __name__ == "__main__":
    main()
