#!/usr/bin/env python3
"""Writes golden/gguf: blocks of every type of GGUF tensor with their values, and a small Llama model as a GGUF file.

usage: tests/reference/make_gguf_golden.py    (needs gguf, numpy and safetensors)
blocks.json   by type: random blocks, and what gguf.quants.dequantize makes of them, as hexadecimal bytes of f32
llama.gguf    golden/llama_mha, with the rows of q and k in llama.cpp's order (its convert_hf_to_gguf.py: permute)
parts-*.gguf  the same in two files
"""

import json
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize
from safetensors.numpy import load_file

GOLDEN = Path(__file__).resolve().parent / "golden"
NUM_BLOCKS = 4
# Offsets of the f16 numbers of a block.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208], "IQ4_NL": [0]}  # fmt: skip


def random_blocks(name, random):
    kind = gguf.GGMLQuantizationType[name]
    blocks = random.integers(0, 256, (NUM_BLOCKS, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    for offset in SCALES[name]:
        scales = random.normal(scale=0.01, size=NUM_BLOCKS).astype(np.float16)
        blocks[:, offset:offset + 2] = scales.view(np.uint8).reshape(NUM_BLOCKS, 2)
    return blocks, dequantize(blocks, kind).astype(np.float32)


def permute(weight, num_heads):
    rows = weight.reshape(num_heads, 2, weight.shape[0] // num_heads // 2, *weight.shape[1:])
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(weight.shape))


def write_llama(path, **options):
    config = json.loads((GOLDEN / "llama_mha/config.json").read_text())
    weights = load_file(GOLDEN / "llama_mha/model.safetensors")
    writer = gguf.GGUFWriter(path, "llama", **options)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    tokens = [chr(ord("!") + i) for i in range(90)] + ["ab", "abc", "<s>", "</s>", "<user>"] + \
        [f"[PAD{i}]" for i in range(5)]
    types = [1] * 92 + [3, 3, 4] + [5] * 5
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(["a b", "ab c"])
    writer.add_bos_token_id(92)
    writer.add_eos_token_id(93)
    writer.add_add_bos_token(True)
    writer.add_chat_template("{{ messages[0].content }}")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, weight in weights.items():
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            weight = permute(weight, config["num_attention_heads"])
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    random = np.random.default_rng(7)
    golden = {}
    for name in SCALES:
        blocks, values = random_blocks(name, random)
        golden[name] = {"blocks": blocks.tobytes().hex(), "values": values.tobytes().hex()}
    (GOLDEN / "gguf").mkdir(exist_ok=True)
    (GOLDEN / "gguf/blocks.json").write_text(json.dumps(golden, indent=1) + "\n")
    write_llama(GOLDEN / "gguf/llama.gguf")
    write_llama(GOLDEN / "gguf/parts.gguf", split_max_tensors=11)


if __name__ == "__main__":
    main()
