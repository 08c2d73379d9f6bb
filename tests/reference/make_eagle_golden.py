"""Makes tests/reference/golden/eagle*: a tiny random EAGLE-1 draft with its target, and the results of a plain
PyTorch forward pass.

Run with a Python that has torch, transformers and safetensors:
    python tests/reference/make_eagle_golden.py
Each case holds target/ and draft/ as directories, and golden.safetensors: next_ids [num_tokens] (t_i+1), features
[num_tokens, hidden] (f_i) and predicted [num_tokens, hidden] (the draft's output for them). The network follows
SafeAILab/EAGLE's cnets1.py: fc over [embedding; feature], layers of which the first has no input norm, no final norm,
rotary position i. A head of Qwen2's shape has biases of q, k and v, one of Qwen3's norms of q and k. Its vocabulary,
and its copy of the embedding, may be padded differently from the target's.
"""

import torch
from safetensors.torch import save_file
from tiny_models import fresh_dir, save_model, tiny_config, write_json
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

NUM_TOKENS = 24

CONFIG = tiny_config()
del CONFIG["num_hidden_layers"]  # target and draft have different ones
HIDDEN, FFN, VOCAB = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["vocab_size"]
HEADS, KV_HEADS = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"]
EPS, THETA, HEAD_DIM = CONFIG["rms_norm_eps"], 10000.0, HIDDEN // HEADS


def random_draft(num_layers, bias, qkv_bias=False, qk_norm=False):
    def linear(rows, columns):
        return torch.randn(rows, columns) / columns**0.5

    weights = {"fc.weight": linear(HIDDEN, 2 * HIDDEN)}
    if bias:
        weights["fc.bias"] = 0.3 * torch.randn(HIDDEN)
    for i in range(num_layers):
        prefix = f"layers.{i}."
        weights[prefix + "self_attn.q_proj.weight"] = linear(HEADS * HEAD_DIM, HIDDEN)
        weights[prefix + "self_attn.k_proj.weight"] = linear(KV_HEADS * HEAD_DIM, HIDDEN)
        weights[prefix + "self_attn.v_proj.weight"] = linear(KV_HEADS * HEAD_DIM, HIDDEN)
        weights[prefix + "self_attn.o_proj.weight"] = linear(HIDDEN, HEADS * HEAD_DIM)
        weights[prefix + "mlp.gate_proj.weight"] = linear(FFN, HIDDEN)
        weights[prefix + "mlp.up_proj.weight"] = linear(FFN, HIDDEN)
        weights[prefix + "mlp.down_proj.weight"] = linear(HIDDEN, FFN)
        weights[prefix + "post_attention_layernorm.weight"] = 1.0 + 0.2 * torch.randn(HIDDEN)
        if qkv_bias:
            for part, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
                weights[prefix + f"self_attn.{part}_proj.bias"] = 0.3 * torch.randn(heads * HEAD_DIM)
        if qk_norm:
            for part in "qk":
                weights[prefix + f"self_attn.{part}_norm.weight"] = 1.0 + 0.2 * torch.randn(HEAD_DIM)
        if i > 0:
            weights[prefix + "input_layernorm.weight"] = 1.0 + 0.2 * torch.randn(HIDDEN)
    return weights


def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * weight


def rotate(x):
    """x: [num_tokens, heads, HEAD_DIM], row i at position i."""
    frequency = THETA ** (-torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM)
    angle = torch.arange(x.shape[0]).float()[:, None] * frequency
    cos, sin = angle.cos()[:, None, :], angle.sin()[:, None, :]
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def layer_forward(x, weights, i):
    def weight(name):
        return weights[f"layers.{i}.{name}.weight"]

    def project(part, heads):
        bias = weights.get(f"layers.{i}.self_attn.{part}_proj.bias", torch.zeros(()))
        return (normed @ weight(f"self_attn.{part}_proj").T + bias).view(num_tokens, heads, HEAD_DIM)

    num_tokens = x.shape[0]
    normed = rms_norm(x, weight("input_layernorm")) if i > 0 else x
    def normed_heads(part, heads):
        name = f"layers.{i}.self_attn.{part}_norm.weight"
        x = project(part, heads)
        return rms_norm(x, weights[name]) if name in weights else x

    q = rotate(normed_heads("q", HEADS))
    k = rotate(normed_heads("k", KV_HEADS))
    v = project("v", KV_HEADS)
    k = k.repeat_interleave(HEADS // KV_HEADS, dim=1)
    v = v.repeat_interleave(HEADS // KV_HEADS, dim=1)
    scores = torch.einsum("qhd,khd->hqk", q, k) / HEAD_DIM**0.5
    scores = scores.masked_fill(torch.ones(num_tokens, num_tokens).triu(1).bool(), float("-inf"))
    attended = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v).reshape(num_tokens, -1)
    x = x + attended @ weight("self_attn.o_proj").T
    normed = rms_norm(x, weight("post_attention_layernorm"))
    gate = torch.nn.functional.silu(normed @ weight("mlp.gate_proj").T)
    return x + (gate * (normed @ weight("mlp.up_proj").T)) @ weight("mlp.down_proj").T


FAMILIES = {
    "Llama": (LlamaConfig, LlamaForCausalLM, "LlamaForCausalLMEagle"),
    "Qwen2": (Qwen2Config, Qwen2ForCausalLM, "Qwen2ForCausalLM"),
    "Qwen3": (Qwen3Config, Qwen3ForCausalLM, "Qwen3ForCausalLM"),
}


def make_case(name, num_layers, bias, seed, family="Llama", padding=0):
    """`padding`: rows of the draft's vocabulary that the target does not have; if negative, the reverse."""
    torch.manual_seed(seed)
    directory = fresh_dir(name)
    config_class, model_class, architecture = FAMILIES[family]
    shape = CONFIG | ({"head_dim": HEAD_DIM} if family == "Qwen3" else {})
    target = model_class(config_class(**shape, num_hidden_layers=1)).eval()
    with torch.no_grad():
        target.get_input_embeddings().weight.normal_(0.0, 1.0)
    save_model(target, directory / "target")

    weights = random_draft(num_layers, bias, qkv_bias=family == "Qwen2", qk_norm=family == "Qwen3")
    num_rows = VOCAB + padding
    stored = dict(weights)
    if padding != 0:
        stored["embed_tokens.weight"] = torch.zeros(num_rows, HIDDEN)
        stored["embed_tokens.weight"][:VOCAB] = target.get_input_embeddings().weight.detach()[:num_rows]
    (directory / "draft").mkdir()
    save_file(stored, directory / "draft" / "model.safetensors")
    config = shape | dict(
        architectures=[architecture],
        vocab_size=num_rows,
        num_hidden_layers=num_layers,
        bias=bias,
        rope_theta=THETA,
        torch_dtype="float32",
    )
    write_json(directory / "draft" / "config.json", config, indent=2)

    ids = torch.randint(0, min(VOCAB, num_rows), (1, NUM_TOKENS + 1))
    with torch.no_grad():
        features = target.model(ids[:, :-1]).last_hidden_state[0]
        embedded = target.get_input_embeddings()(ids[0, 1:])
        x = torch.cat([embedded, features], dim=-1) @ weights["fc.weight"].T
        if bias:
            x = x + weights["fc.bias"]
        for i in range(num_layers):
            x = layer_forward(x, weights, i)
    golden = dict(
        next_ids=ids[0, 1:].to(torch.int32),
        features=features.contiguous(),
        predicted=x.contiguous(),
    )
    save_file(golden, directory / "golden.safetensors")
    print(f"{name}: max |predicted| {x.abs().max():.3f}")


if __name__ == "__main__":
    make_case("eagle", num_layers=1, bias=False, seed=0)
    make_case("eagle_bias_2_layers", num_layers=2, bias=True, seed=1)
    make_case("eagle_qwen2_padded", num_layers=1, bias=True, seed=2, family="Qwen2", padding=28)
    make_case("eagle_qwen2_2_layers_fewer_rows", num_layers=2, bias=False, seed=3, family="Qwen2", padding=-4)
    make_case("eagle_qwen3", num_layers=1, bias=False, seed=4, family="Qwen3")
