"""The hybrid's networks: Qwen3.5's, from transformers, in a tiny shape. The target, its layer for multi-token
prediction (MTP), and the directory that holds both."""

import torch
import torch.nn.functional as F
from torch import nn
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig
from transformers.modeling_layers import MtpModel
from transformers.models.qwen3_5 import modeling_qwen3_5 as qwen3_5

import drafts
import export

CONFIG = {
    "architectures": ["Qwen3_5ForCausalLM"],
    "model_type": "qwen3_5_text",
    "hidden_size": 160,
    "intermediate_size": 352,
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "full_attention_interval": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "attn_output_gate": True,
    "attention_bias": False,
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
    "vocab_size": 16384,
    "max_position_embeddings": 1024,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "mtp_num_hidden_layers": 1,
    "mtp_use_dedicated_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "dtype": "bfloat16",
}

# transformers' names of an MTP layer's parts, and those in published checkpoints.
MTP_NAMES = {
    "eh_proj": "mtp.fc",
    "enorm": "mtp.pre_fc_norm_embedding",
    "hnorm": "mtp.pre_fc_norm_hidden",
    "post_norm": "mtp.norm",
    "mtp_block": "mtp.layers.0",
}


class Hybrid(nn.Module):
    """The target. forward() returns features after the final norm, like llama.Llama's."""

    def __init__(self):
        super().__init__()
        self.network = Qwen3_5ForCausalLM(Qwen3_5TextConfig(**CONFIG | {"dtype": "float32"}))
        for layer in self.network.model.layers:
            if layer.block_type == "linear_attention":
                self._initialise(layer.linear_attn)

    @staticmethod
    def _initialise(net):
        """Decays of a token from 0.999 down to 0.2, as in Mamba 2 (Dao and Gu, 2024): transformers' own initial values
        forget nearly everything at once."""
        with torch.no_grad():
            nn.init.uniform_(net.conv1d.weight, -0.5, 0.5)
            net.A_log.copy_(torch.linspace(1.0, 16.0, len(net.A_log)).log())
            step = torch.logspace(-3.0, -1.0, len(net.A_log))
            net.dt_bias.copy_(step + torch.log(-torch.expm1(-step)))  # softplus's inverse

    @property
    def embed_tokens(self):
        return self.network.model.embed_tokens

    def forward(self, ids, cache=None):
        with torch.autocast(ids.device.type, enabled=False):  # the chunks of a delta rule need f32
            return self.network.model(ids, cache=cache, use_cache=cache is not None).last_hidden_state

    def logits(self, features):
        return F.linear(features, self.embed_tokens.weight)

    def start_from(self, table, counts, features):
        """Begins with the embedding that keeps most of another model's logits: its table [vocab_size, width] projected
        onto the directions that matter for its features [n, width]. counts: [vocab_size], of the training text."""
        lower = torch.linalg.cholesky(features.T @ features / len(features))  # of white features: table @ lower
        whitened = table.double() @ lower
        gram = whitened.T @ (whitened * (counts.double() + 1.0).sqrt()[:, None])
        basis = torch.linalg.eigh(gram).eigenvectors[:, -CONFIG["hidden_size"] :]
        with torch.no_grad():
            self.embed_tokens.weight.copy_(whitened @ basis)


def make_mtp(target):
    """Returns an MTP layer that begins with the target's last layer, applied to its normed features."""
    config = target.network.config
    config.num_mtp_layers, config.mtp_layer_types = 1, ["full_attention"]  # else transformers has none for this family
    layer = MtpModel(target.network, 1).layers[0]
    with torch.no_grad():
        layer.mtp_block.load_state_dict(target.network.model.layers[-1].state_dict())
        layer.post_norm.load_state_dict(target.network.model.norm.state_dict())
        for norm in (layer.enorm, layer.hnorm):
            nn.init.zeros_(norm.weight)  # stored less 1
        layer.eh_proj.weight[:, config.hidden_size :] = torch.eye(config.hidden_size)
    return layer


def _projected(attention, x, angles):
    """x: [rows, tokens, hidden] -> queries, keys and values for query heads [rows, heads, tokens, head_dim], and the
    output gate [rows, tokens, heads x head_dim]."""

    def heads(y, width=attention.head_dim):
        return y.view(*x.shape[:2], -1, width)

    q, gate = heads(attention.q_proj(x), 2 * attention.head_dim).chunk(2, dim=-1)
    q = attention.q_norm(q).transpose(1, 2)
    k = attention.k_norm(heads(attention.k_proj(x))).transpose(1, 2)
    v = heads(attention.v_proj(x)).transpose(1, 2)
    q, k = qwen3_5.apply_rotary_pos_emb(q, k, *angles)
    k, v = (qwen3_5.repeat_kv(y, attention.num_key_value_groups) for y in (k, v))
    return q, k, v, gate.sigmoid().flatten(2)


def rollouts(mtp, target, ids, features, num_steps):
    """Yields the layer's outputs y [rows, tokens, hidden] if step 1 sees the target's features and every later step the
    outputs of the previous one; see drafts.Eagle.rollouts.

    ids: [rows, tokens], position i holding t_i+1; features: the target's, position i holding h_i.
    """
    embedded = target.embed_tokens(ids)
    block, attention = mtp.mtp_block, mtp.mtp_block.self_attn
    angles = target.network.model.rotary_emb(embedded, torch.arange(ids.shape[1], device=ids.device)[None])
    keys, values = [], []
    for _ in range(num_steps):
        x = mtp.eh_proj(torch.cat([mtp.enorm(embedded), mtp.hnorm(features)], dim=-1))
        q, k, v, gate = _projected(attention, block.input_layernorm(x), angles)
        keys.append(k)
        values.append(v)
        x = x + attention.o_proj(drafts.attend_unrolled(q, keys, values) * gate)
        x = x + block.mlp(block.post_attention_layernorm(x))
        features = mtp.post_norm(x)
        yield features
        features = torch.roll(features, 1, dims=1)


def write(folder, target, mtp, tokenizer, card):
    weights = {name: weight for name, weight in target.network.state_dict().items() if name != "lm_head.weight"}
    for name, weight in mtp.state_dict().items():
        part, rest = name.split(".", 1)
        weights[f"{MTP_NAMES[part]}.{rest}"] = weight
    export.write(folder, CONFIG, weights, tokenizer, card)
