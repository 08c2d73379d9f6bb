"""Writes golden/gguf/qwen35.gguf: the Qwen3.5 of golden/mtp/own_head.json with its MTP layer, as llama.cpp's
convert_hf_to_gguf.py writes it, and checks that transformers reads the same model from it.

Run with a Python that has numpy, torch, transformers and gguf:
    python tests/reference/make_gguf_qwen35_golden.py
"""

import json

import gguf
import numpy as np
import torch
from tiny_models import GOLDEN_DIR, weights
from transformers import AutoConfig, AutoModelForCausalLM

MODULES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "post_attention_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "linear_attn.in_proj_qkv": "attn_qkv",
    "linear_attn.in_proj_z": "attn_gate",
    "linear_attn.in_proj_a": "ssm_alpha",
    "linear_attn.in_proj_b": "ssm_beta",
    "linear_attn.conv1d": "ssm_conv1d",
    "linear_attn.norm": "ssm_norm",
    "linear_attn.out_proj": "ssm_out",
}
MTP = {
    "mtp.fc.weight": "nextn.eh_proj.weight",
    "mtp.pre_fc_norm_embedding.weight": "nextn.enorm.weight",
    "mtp.pre_fc_norm_hidden.weight": "nextn.hnorm.weight",
    "mtp.norm.weight": "nextn.shared_head_norm.weight",
}
TOP = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def renamed(name, num_layers):
    if name in TOP:
        return TOP[name]
    if name in MTP:
        return f"blk.{num_layers}.{MTP[name]}"
    if name.startswith("mtp.layers.0."):
        layer, rest = num_layers, name.removeprefix("mtp.layers.0.")
    else:
        layer, rest = name.removeprefix("model.layers.").split(".", 1)
    if rest == "linear_attn.A_log":
        return f"blk.{layer}.ssm_a"
    if rest == "linear_attn.dt_bias":
        return f"blk.{layer}.ssm_dt.bias"
    module, kind = rest.rsplit(".", 1)
    return f"blk.{layer}.{MODULES[module]}.{kind}"


def tiled(rows, config, width, first=0):
    """Puts the value heads after row `first`, of `width` rows each, from groups by key head into an order in which
    neighbours have different key heads."""
    groups = config["linear_num_key_heads"], config["linear_num_value_heads"] // config["linear_num_key_heads"]
    values = rows[first:].reshape(*groups, width, *rows.shape[1:]).swapaxes(0, 1)
    return np.concatenate([rows[:first], values.reshape(rows[first:].shape)])


def converted(name, weight, config):
    width = config["linear_value_head_dim"]
    queries_and_keys = 2 * config["linear_num_key_heads"] * config["linear_key_head_dim"]
    module = name.rsplit("linear_attn.", 1)[-1]
    norms = ("norm.weight", "norm_embedding.weight", "norm_hidden.weight")
    if name.endswith(norms) and module != "norm.weight":
        return weight + np.float32(1)
    if module == "A_log":
        return tiled(-np.exp(weight), config, 1)
    if module in ("dt_bias", "in_proj_a.weight", "in_proj_b.weight"):
        return tiled(weight, config, 1)
    if module == "in_proj_z.weight":
        return tiled(weight, config, width)
    if module == "in_proj_qkv.weight":
        return tiled(weight, config, width, queries_and_keys)
    if module == "conv1d.weight":
        return tiled(weight[:, 0], config, width, queries_and_keys)
    if module == "out_proj.weight":
        return tiled(weight.T, config, width).T
    return weight


def write(path, golden):
    config = golden["config"]
    rope = config["rope_parameters"]
    num_layers = config["num_hidden_layers"]
    writer = gguf.GGUFWriter(path, "qwen35")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(num_layers + 1)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(int(config["head_dim"] * rope["partial_rotary_factor"]))
    writer.add_array("qwen35.rope.dimension_sections", rope["mrope_section"] + [0])
    writer.add_uint32("qwen35.nextn_predict_layers", 1)
    writer.add_uint32("qwen35.full_attention_interval", config["layer_types"].index("full_attention") + 1)
    writer.add_uint32("qwen35.ssm.conv_kernel", config["linear_conv_kernel_dim"])
    writer.add_uint32("qwen35.ssm.state_size", config["linear_key_head_dim"])
    writer.add_uint32("qwen35.ssm.group_count", config["linear_num_key_heads"])
    writer.add_uint32("qwen35.ssm.time_step_rank", config["linear_num_value_heads"])
    writer.add_uint32(
        "qwen35.ssm.inner_size", config["linear_num_value_heads"] * config["linear_value_head_dim"]
    )
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    tokens = ["<unk>", "<s>", "</s>"] + [chr(33 + i) for i in range(config["vocab_size"] - 3)]
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3] + [1] * (len(tokens) - 3))
    writer.add_token_merges(["! \""])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    for name, shape in golden["tensors"].items():
        weight = converted(name, weights(name, shape), config)
        writer.add_tensor(renamed(name, num_layers), np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check(path, golden):
    """Compares what transformers reads from the file with the checkpoint."""
    config = AutoConfig.for_model(**golden["config"])
    original = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in original.named_parameters():
            parameter.copy_(torch.from_numpy(weights(name, list(parameter.shape))))
    read = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    ids = torch.tensor([golden["ids"]])
    with torch.no_grad():
        wanted, got = original(ids).logits, read(ids).logits
    error = (wanted - got).abs().max() / wanted.abs().max()
    assert error < 1e-5, error
    print(f"{path.name}: {path.stat().st_size} bytes; transformers' logits differ by {error:.1e} of the largest")


if __name__ == "__main__":
    case = json.loads((GOLDEN_DIR / "mtp/own_head.json").read_text())
    file = GOLDEN_DIR / "gguf/qwen35.gguf"
    write(file, case)
    check(file, case)
