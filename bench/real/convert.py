#!/usr/bin/env python3
"""Converts a GGUF file of a Qwen2 or Llama model to a Hugging Face directory with weights in bf16.

usage: bench/real/convert.py FILE.gguf OUT_DIR

Writes config.json, generation_config.json, tokenizer.json, tokenizer_config.json and model.safetensors. Weights are
dequantized a few rows at a time: the 1.5B model takes 2 GB of memory, the mapped file included. Tokenizers are
byte-level BPE with the pre-tokenizers `qwen2` and `smollm`. A file that needs anything else is rejected before OUT_DIR
is written. Needs requirements.txt.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from tokenizer import tokenizer_files

ARCHITECTURES = {"qwen2": "Qwen2ForCausalLM", "llama": "LlamaForCausalLM"}

TOP_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}

CHUNK_ELEMENTS = 1 << 24


class Metadata:
    """Key-value pairs of a GGUF file. `{arch}` in a key is the file's architecture."""

    def __init__(self, reader):
        self.fields = reader.fields
        self.arch = ""
        self.arch = self.require("general.architecture")

    def get(self, key, default=None):
        field = self.fields.get(key.replace("{arch}", self.arch))
        return default if field is None else field.contents()

    def require(self, key):
        value = self.get(key)
        if value is None:
            raise ValueError(f"metadata has no {key.replace('{arch}', self.arch)}")
        return value


def check_supported(metadata):
    if metadata.arch not in ARCHITECTURES:
        raise ValueError(f"architecture {metadata.arch!r}; expected one of {', '.join(ARCHITECTURES)}")
    if metadata.get("split.count", 1) > 1:
        raise ValueError(f"part of a model in {metadata.get('split.count')} files; expected one file")
    scaling = metadata.get("{arch}.rope.scaling.type", "none")
    if scaling != "none":
        raise ValueError(f"rope scaling {scaling!r}; expected none")


def hugging_face_name(name):
    """`blk.3.attn_q.weight` -> `model.layers.3.self_attn.q_proj.weight`."""
    match = re.fullmatch(r"(?:blk\.(?P<layer>\d+)\.)?(?P<module>\w+)\.(?P<kind>weight|bias)", name)
    if match:
        names = TOP_NAMES if match["layer"] is None else LAYER_NAMES
        if match["module"] in names:
            prefix = "" if match["layer"] is None else f"model.layers.{match['layer']}."
            return f"{prefix}{names[match['module']]}.{match['kind']}"
    raise ValueError(f"tensor {name!r} is not part of a Qwen2 or Llama model known here")


def shortest_float(value):
    """The shortest decimal number that gives the same float32: 1e-06 rather than 9.999999974752427e-07."""
    return float(str(np.float32(value)))


def model_config(metadata, shapes):
    """Returns config.json. `shapes`: of all tensors, by Hugging Face name."""
    num_heads = metadata.require("{arch}.attention.head_count")
    hidden = metadata.require("{arch}.embedding_length")
    config = {
        "architectures": [ARCHITECTURES[metadata.arch]],
        "model_type": metadata.arch,
        "hidden_act": "silu",
        "hidden_size": hidden,
        "intermediate_size": metadata.require("{arch}.feed_forward_length"),
        "num_hidden_layers": metadata.require("{arch}.block_count"),
        "num_attention_heads": num_heads,
        "num_key_value_heads": metadata.get("{arch}.attention.head_count_kv", num_heads),
        "head_dim": metadata.get("{arch}.attention.key_length", hidden // num_heads),
        "max_position_embeddings": metadata.require("{arch}.context_length"),
        "rms_norm_eps": shortest_float(metadata.require("{arch}.attention.layer_norm_rms_epsilon")),
        "rope_theta": shortest_float(metadata.get("{arch}.rope.freq_base", 10000.0)),
        "tie_word_embeddings": "lm_head.weight" not in shapes,
        "torch_dtype": "bfloat16",
        # Rows of the embedding: a file may pad them beyond the tokens of its tokenizer.
        "vocab_size": shapes["model.embed_tokens.weight"][0],
    }
    if metadata.arch == "llama":
        config["attention_bias"] = any(name.endswith("q_proj.bias") for name in shapes)
        config["mlp_bias"] = any(name.endswith("up_proj.bias") for name in shapes)
    else:
        config["use_sliding_window"] = False
    return config


def stored_rows(tensor, metadata, config):
    """Returns the tensor's stored rows in Hugging Face's order.

    In `llama` files row 2j + p of a head's q and k is Hugging Face's row p * head_dim / 2 + j (p: 0 or 1). A row is a
    whole number of quantized blocks, so rows are reordered without being dequantized.
    """
    module = tensor.name.split(".")[-2]
    if metadata.arch != "llama" or module not in ("attn_q", "attn_k"):
        return tensor.data
    num_heads = config["num_attention_heads" if module == "attn_q" else "num_key_value_heads"]
    pairs = tensor.data.reshape(num_heads, config["head_dim"] // 2, 2, -1)
    return pairs.swapaxes(1, 2).reshape(tensor.data.shape)


def to_bf16(values):
    """Rounds f32 values to the nearest bf16 (ties to even), as uint16."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def write_tensor(file, tensor, rows):
    num_columns = int(tensor.shape[0])
    step = max(1, CHUNK_ELEMENTS // num_columns) if len(tensor.shape) > 1 else len(rows)
    for start in range(0, len(rows), step):
        values = dequantize(rows[start:start + step], tensor.tensor_type)
        if not np.isfinite(values).all():
            raise ValueError(f"tensor {tensor.name!r} holds values that are not finite")
        file.write(to_bf16(values).tobytes())


def write_weights(path, tensors, shapes, metadata, config):
    """Writes one safetensors file, tensor by tensor. `path` exists only once the file is complete."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        end = offset + 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    partial = path.with_suffix(".part")
    with open(partial, "wb") as file:
        file.write(len(encoded).to_bytes(8, "little") + encoded)
        for number, tensor in enumerate(tensors, start=1):
            write_tensor(file, tensor, stored_rows(tensor, metadata, config))
            if number % 50 == 0 or number == len(tensors):
                print(f"{path}: {number} of {len(tensors)} tensors, {file.tell() / 1e6:,.0f} MB", flush=True)
    partial.replace(path)


def convert(source, directory):
    reader = GGUFReader(source)
    metadata = Metadata(reader)
    check_supported(metadata)
    # GGUF lists the fastest dimension first.
    shapes = {hugging_face_name(tensor.name): [int(size) for size in reversed(tensor.shape)]
              for tensor in reader.tensors}
    if "model.embed_tokens.weight" not in shapes:
        raise ValueError("no tensor token_embd.weight")
    config = model_config(metadata, shapes)
    files = {"config.json": config, **tokenizer_files(metadata)}
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    write_weights(directory / "model.safetensors", reader.tensors, shapes, metadata, config)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE.gguf")
    parser.add_argument("directory", type=Path, metavar="OUT_DIR")
    arguments = parser.parse_args()
    try:
        convert(arguments.file, arguments.directory)
    except (OSError, ValueError) as error:
        sys.exit(f"convert.py: {arguments.file}: {error}")


if __name__ == "__main__":
    main()
