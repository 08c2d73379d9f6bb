"""Makes tests/reference/golden/eagle3_*: tiny random EAGLE-3 heads with their targets, and what reference
implementations compute for four draft steps.

Run with a Python that has torch, transformers, safetensors and speculators:
    python tests/reference/make_eagle3_golden.py
Each case holds target/ and draft/ as directories, and golden.safetensors, with T = NUM_TOKENS:
    ids       [T + STEPS]      t_0 .. ; row i of the draft takes t_i+1
    taps      [A], boundaries of the target
    tapped    [T, A * hidden]  the target's residual stream there, positions 0 .. T - 1, side by side
    scored    [T + STEPS - 1, hidden]  what the head scores: rows 0 .. T - 1 from the target's states; the last row
    features  the same shape   and those after it from the feature of the row before, and the feature of each
    tokens    [rows of the head]  in ascending order
    logits    [T + STEPS - 1, rows of the head]
The heads of SafeAILab's and SpecForge's formats are computed by the formulas of their papers and code, written out
below; that of speculators by its Eagle3DraftModel.
"""

import copy

import torch
from safetensors.torch import save_file
from speculators import SpeculatorsConfig, VerifierConfig
from speculators.models.eagle3 import Eagle3DraftModel, Eagle3SpeculatorConfig
from speculators.proposals.greedy import GreedyTokenProposalConfig
from tiny_models import fresh_dir, save_model, tiny_config, write_json
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config

NUM_TOKENS, STEPS = 20, 4
VOCAB = 100


def make_target(directory, num_layers, seed):
    torch.manual_seed(seed)
    target = LlamaForCausalLM(LlamaConfig(**tiny_config(num_hidden_layers=num_layers))).eval()
    with torch.no_grad():
        target.get_input_embeddings().weight.normal_(0.0, 1.0)
    save_model(target, directory / "target")
    return target


@torch.no_grad()
def tapped_states(target, ids, taps):
    """The residual stream that enters layer b, or for b = n the final norm, for each b of taps."""
    streams = {}
    hooks = [layer.register_forward_pre_hook(lambda _, args, i=i: streams.__setitem__(i, args[0]))
             for i, layer in enumerate([*target.model.layers, target.model.norm])]  # fmt: skip
    target.model(ids[None])
    for hook in hooks:
        hook.remove()
    return torch.cat([streams[tap][0] for tap in taps], dim=-1)


def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


class PlainHead:
    """EAGLE-3 with one layer, one position at a time."""

    def __init__(self, weights, prefix, heads, kv_heads, head_dim, eps, theta, norm_before_residual):
        self.weights, self.prefix, self.eps, self.theta = weights, prefix, eps, theta
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, head_dim
        self.norm_before_residual = norm_before_residual
        self.keys, self.values = [], []

    def layer(self, name, x):
        return x @ self.weights[f"{self.prefix}{name}.weight"].T

    def norm(self, name, x):
        return rms_norm(x, self.weights[name + ".weight"], self.eps)

    def fuse(self, tapped):
        num_taps = self.weights["fc.weight"].shape[1] // self.weights["fc.weight"].shape[0]
        if "fc_norm.0.weight" in self.weights:
            parts = tapped.chunk(num_taps, dim=-1)
            tapped = torch.cat([self.norm(f"fc_norm.{i}", part) for i, part in enumerate(parts)], dim=-1)
        return tapped @ self.weights["fc.weight"].T + self.weights.get("fc.bias", torch.zeros(()))

    def rotate(self, x, position):
        frequency = self.theta ** (-torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        cos, sin = (position * frequency).cos(), (position * frequency).sin()
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def step(self, position, embedded, feature):
        """Keys and values of later positions are dropped. Returns what the head scores, and the next feature."""
        del self.keys[position:], self.values[position:]
        a = self.norm(self.prefix + "input_layernorm", embedded)
        c = self.norm(self.prefix + "hidden_norm", feature)
        joined = torch.cat([a, c])
        q = self.rotate(self.layer("self_attn.q_proj", joined).view(self.heads, self.head_dim), position)
        k = self.rotate(self.layer("self_attn.k_proj", joined).view(self.kv_heads, self.head_dim), position)
        self.keys.append(k)
        self.values.append(self.layer("self_attn.v_proj", joined).view(self.kv_heads, self.head_dim))
        group = self.heads // self.kv_heads
        k, v = (torch.stack(x).repeat_interleave(group, dim=1) for x in (self.keys, self.values))
        weights = (torch.einsum("hd,khd->hk", q, k) / self.head_dim**0.5).softmax(-1)
        attended = torch.einsum("hk,khd->hd", weights, v).flatten()
        x = (c if self.norm_before_residual else feature) + self.layer("self_attn.o_proj", attended)
        normed = self.norm(self.prefix + "post_attention_layernorm", x)
        gate = torch.nn.functional.silu(self.layer("mlp.gate_proj", normed))
        x = x + self.layer("mlp.down_proj", gate * self.layer("mlp.up_proj", normed))
        return self.norm("norm", x), x

    def run(self, ids, tapped, embedding):
        scored, features = [], []
        for position, feature in enumerate(self.fuse(tapped)):
            out = self.step(position, embedding[ids[position + 1]], feature)
            scored.append(out[0]), features.append(out[1])
        for position in range(NUM_TOKENS, NUM_TOKENS + STEPS - 1):
            out = self.step(position, embedding[ids[position + 1]], features[-1])
            scored.append(out[0]), features.append(out[1])
        return torch.stack(scored), torch.stack(features)


def random_weights(config, prefix, num_taps, target_hidden, head_dim, num_rows):
    def linear(rows, columns):
        return torch.randn(rows, columns) / columns**0.5

    def norm(size):
        return 1.0 + 0.2 * torch.randn(size)

    hidden, ffn = config["hidden_size"], config["intermediate_size"]
    q, kv = (config[name] * head_dim for name in ("num_attention_heads", "num_key_value_heads"))
    weights = {
        "fc.weight": linear(hidden, num_taps * target_hidden),
        "norm.weight": norm(hidden),
        prefix + "input_layernorm.weight": norm(hidden),
        prefix + "hidden_norm.weight": norm(hidden),
        prefix + "post_attention_layernorm.weight": norm(hidden),
        prefix + "self_attn.q_proj.weight": linear(q, 2 * hidden),
        prefix + "self_attn.k_proj.weight": linear(kv, 2 * hidden),
        prefix + "self_attn.v_proj.weight": linear(kv, 2 * hidden),
        prefix + "self_attn.o_proj.weight": linear(hidden, q),
        prefix + "mlp.gate_proj.weight": linear(ffn, hidden),
        prefix + "mlp.up_proj.weight": linear(ffn, hidden),
        prefix + "mlp.down_proj.weight": linear(hidden, ffn),
    }
    if num_rows:
        weights["lm_head.weight"] = linear(num_rows, hidden)
    return weights


def choose_tokens(num_rows, in_order=True):
    """Returns the tokens of the rows, d2t and t2d."""
    tokens = torch.randperm(VOCAB)[:num_rows]
    tokens = tokens.sort().values if in_order else tokens
    mask = torch.zeros(VOCAB, dtype=torch.bool)
    mask[tokens] = True
    return tokens, tokens - torch.arange(num_rows), mask


def save_golden(directory, ids, taps, tapped, scored, features, head, tokens, scale=1.0):
    order = tokens.argsort()
    golden = dict(
        ids=ids.to(torch.int32), taps=torch.tensor(taps, dtype=torch.int32), tapped=tapped, scored=scale * scored,
        features=features, tokens=tokens[order].to(torch.int32), logits=(scale * scored) @ head[order].T,
    )  # fmt: skip
    save_file({name: tensor.contiguous() for name, tensor in golden.items()}, directory / "golden.safetensors")
    print(f"{directory.name}: max |scored| {scored.abs().max():.3f}, |features| {features.abs().max():.3f}")


def draw_ids():
    return torch.randint(0, VOCAB, (NUM_TOKENS + STEPS,))


@torch.no_grad()
def make_safeailab():
    """pytorch_model.bin, midlayer, the default taps, rows in no order; head_dim of config.json is ignored."""
    directory = fresh_dir("eagle3_safeailab")
    target = make_target(directory, num_layers=8, seed=10)
    config = tiny_config(num_hidden_layers=1)
    tokens, d2t, t2d = choose_tokens(60, in_order=False)
    weights = random_weights(config, "midlayer.", 3, 32, head_dim=8, num_rows=60)
    (directory / "draft").mkdir()
    torch.save(weights | {"d2t": d2t, "t2d": t2d}, directory / "draft" / "pytorch_model.bin")
    config |= dict(architectures=["LlamaForCausalLM"], model_type="llama", draft_vocab_size=60, head_dim=16,
                   torch_dtype="float32")  # fmt: skip
    write_json(directory / "draft" / "config.json", config, indent=2)
    ids, taps = draw_ids(), [2, 4, 5]
    tapped = tapped_states(target, ids[:NUM_TOKENS], taps)
    head = PlainHead(weights, "midlayer.", 4, 2, 8, config["rms_norm_eps"], 10000.0, norm_before_residual=False)
    scored, features = head.run(ids, tapped, target.get_input_embeddings().weight)
    save_golden(directory, ids, taps, tapped, scored, features, weights["lm_head.weight"], tokens)


@torch.no_grad()
def make_specforge():
    """Flat safetensors of EAGLE-3.1: norms of each tap, ids of layers whose outputs are meant, the target's head."""
    directory = fresh_dir("eagle3_specforge")
    target = make_target(directory, num_layers=6, seed=11)
    config = tiny_config(num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1)
    weights = random_weights(config, "layers.0.", 3, 32, head_dim=20, num_rows=0)
    weights["fc.bias"] = 0.3 * torch.randn(32)
    for i in range(3):
        weights[f"fc_norm.{i}.weight"] = 1.0 + 0.2 * torch.randn(32)
    (directory / "draft").mkdir()
    save_file(weights, directory / "draft" / "model.safetensors")
    config |= dict(
        architectures=["LlamaForCausalLMEagle3"], model_type="llama", draft_vocab_size=None, head_dim=20, bias=True,
        target_hidden_size=32, fc_norm=True, norm_output=True, norm_before_residual=True, logit_scale=0.5,
        rope_theta=5000.0, torch_dtype="float32",
        eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 2, 4], "use_aux_hidden_state": True},
    )  # fmt: skip
    write_json(directory / "draft" / "config.json", config, indent=2)
    ids, taps = draw_ids(), [2, 3, 5]
    tapped = tapped_states(target, ids[:NUM_TOKENS], taps)
    head = PlainHead(weights, "layers.0.", 2, 1, 20, config["rms_norm_eps"], 5000.0, norm_before_residual=True)
    scored, features = head.run(ids, tapped, target.get_input_embeddings().weight)
    save_golden(directory, ids, taps, tapped, scored, features, target.lm_head.weight, torch.arange(VOCAB), scale=0.5)


@torch.no_grad()
def make_speculators(name, layer_config, taps, num_layers, num_rows, seed, **switches):
    directory = fresh_dir(name)
    target = make_target(directory, num_layers=num_layers, seed=seed)
    layer_config._attn_implementation = "eager"
    config = Eagle3SpeculatorConfig(
        transformer_layer_config=layer_config, draft_vocab_size=num_rows, eagle_aux_hidden_state_layer_ids=taps,
        speculators_config=SpeculatorsConfig(
            algorithm="eagle3", proposal_methods=[GreedyTokenProposalConfig(speculative_tokens=STEPS)],
            default_proposal_method="greedy", verifier=VerifierConfig(name_or_path=None, architectures=[]),
        ), **switches,
    )  # fmt: skip
    model = Eagle3DraftModel(copy.deepcopy(config)).eval()
    for key, weight in model.named_parameters():
        if weight.dim() < 2 and key.endswith("norm.weight") or "norm." in key:
            weight.copy_(1.0 + 0.2 * torch.randn(weight.shape))
        elif key == "embed_tokens.weight":
            weight.normal_(0.0, 1.0)
        else:
            weight.copy_(torch.randn(weight.shape) * (0.3 if weight.dim() < 2 else weight.shape[-1] ** -0.5))
    tokens = torch.arange(VOCAB)
    if num_rows < VOCAB:
        tokens, d2t, t2d = choose_tokens(num_rows)
        model.load_vocab_mappings(t2d, d2t)
    model.save_pretrained(directory / "draft")
    (directory / "draft" / "config.py").unlink(missing_ok=True)
    ids = draw_ids()
    tapped = tapped_states(target, ids[:NUM_TOKENS], taps)

    # Step k of the model runs all rows; that of row T - 1 is the chain's. Rows after it exist for their tokens alone.
    normed, before, logits = [], [], []

    def keep(module, args, out):
        if module is model.norm:
            before.append(args[0][0])
            normed.append(out[0])
        else:
            logits.append(out[0])

    hooks = [module.register_forward_hook(keep) for module in (model.norm, model.lm_head)]
    more = torch.randn(STEPS - 1, tapped.shape[1])
    model(torch.cat([tapped, more])[None], ids[1:][None], torch.zeros(1, NUM_TOKENS + STEPS - 1, dtype=torch.long),
          ttt_steps=STEPS)  # fmt: skip
    for hook in hooks:
        hook.remove()
    features = normed if config.norm_output else before
    last = NUM_TOKENS - 1

    def chain(of_steps):
        return torch.cat([of_steps[0][:NUM_TOKENS]] + [rows[last : last + 1] for rows in of_steps[1:]])

    save_golden(directory, ids, taps, tapped, chain(normed), chain(features), model.lm_head.weight, tokens)
    golden = chain(normed) @ model.lm_head.weight.T
    assert torch.allclose(golden, chain(logits), atol=1e-5)


if __name__ == "__main__":
    make_safeailab()
    make_specforge()
    llama = tiny_config(num_hidden_layers=2, head_dim=8)
    make_speculators("eagle3_speculators_llama", LlamaConfig(**llama), [1, 3, 4], num_layers=5, num_rows=70, seed=12,
                     norm_before_residual=True, norm_before_fc=True)  # fmt: skip
    qwen = tiny_config(num_hidden_layers=1, head_dim=16, attention_bias=False)
    make_speculators("eagle3_speculators_qwen3", Qwen3Config(**qwen), [0, 2, 3, 4], num_layers=4, num_rows=VOCAB,
                     seed=13, norm_before_residual=False, fc_norm=True, norm_output=True)  # fmt: skip
