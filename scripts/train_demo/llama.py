"""The trained decoder: Llama with rotary positions in Hugging Face's half-split convention, tied head."""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass(frozen=True)
class Shape:
    hidden: int
    intermediate: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int = 64
    vocab_size: int = 16384
    context_len: int = 1024
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-5


class RmsNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rope_table(shape, length):
    """Returns cos, sin: [length, head_dim], both halves equal."""
    frequency = shape.rope_theta ** (-torch.arange(0, shape.head_dim, 2).float() / shape.head_dim)
    angle = torch.outer(torch.arange(length).float(), frequency)
    angle = torch.cat([angle, angle], dim=-1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-high, low], dim=-1) * sin


class LayerCache:
    """Keys and values of one layer, for up to `capacity` tokens of every row."""

    def __init__(self, shape, rows, capacity, device, dtype=torch.bfloat16):
        size = (rows, shape.num_kv_heads, capacity, shape.head_dim)
        self._keys = torch.empty(size, device=device, dtype=dtype)
        self._values = torch.empty(size, device=device, dtype=dtype)
        self.length = 0

    def append(self, keys, values):
        """Appends the next tokens' keys and values. Returns all keys and values so far."""
        end = self.length + keys.shape[2]
        self._keys[:, :, self.length : end] = keys
        self._values[:, :, self.length : end] = values
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        q_features = shape.num_heads * shape.head_dim
        kv_features = shape.num_kv_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.hidden, q_features, bias=False)
        self.k_proj = nn.Linear(shape.hidden, kv_features, bias=False)
        self.v_proj = nn.Linear(shape.hidden, kv_features, bias=False)
        self.o_proj = nn.Linear(q_features, shape.hidden, bias=False)

    def project(self, x, cos, sin):
        """x: [rows, tokens, hidden] -> rotated queries and keys, and values, each [rows, heads, tokens, head_dim]."""

        def heads(y, count):
            return y.view(*x.shape[:2], count, self.shape.head_dim).transpose(1, 2)

        v = heads(self.v_proj(x), self.shape.num_kv_heads)
        q = rotate(heads(self.q_proj(x), self.shape.num_heads), cos, sin).to(v.dtype)
        k = rotate(heads(self.k_proj(x), self.shape.num_kv_heads), cos, sin).to(v.dtype)
        return q, k, v

    def for_query_heads(self, k):
        group = self.shape.num_heads // self.shape.num_kv_heads
        return k if group == 1 else k.repeat_interleave(group, dim=1)

    def forward(self, x, cos, sin, cache=None):
        """x: [rows, tokens, hidden], which follow the content of `cache`. A cache takes one token at a time, or a
        start."""
        q, k, v = self.project(x, cos, sin)
        if cache is not None:
            k, v = cache.append(k, v)
        k, v = self.for_query_heads(k), self.for_query_heads(v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.down_proj = nn.Linear(shape.intermediate, shape.hidden, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape, input_norm=True):
        super().__init__()
        self.input_layernorm = RmsNorm(shape.hidden, shape.rms_norm_eps) if input_norm else nn.Identity()
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RmsNorm(shape.hidden, shape.rms_norm_eps)
        self.mlp = Mlp(shape)

    def forward(self, x, cos, sin, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


def initialise(module, num_layers):
    """Normal weights; those that write into the residual stream are scaled down by its depth (GPT-2)."""
    for name, parameter in module.named_parameters():
        if parameter.dim() < 2:
            continue
        std = 0.02
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            std /= (2 * num_layers) ** 0.5
        nn.init.normal_(parameter, std=std)


class Llama(nn.Module):
    """Parameter names are those of Hugging Face, without the leading `model.`."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.num_layers))
        self.norm = RmsNorm(shape.hidden, shape.rms_norm_eps)
        cos, sin = rope_table(shape, shape.context_len)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        initialise(self, shape.num_layers)

    def forward(self, ids, caches=None):
        """ids: [rows, tokens] -> features after the final norm, [rows, tokens, hidden]. caches: one for each layer."""
        first = caches[0].length if caches else 0
        cos, sin = (table[first : first + ids.shape[1]] for table in (self.cos, self.sin))
        x = self.embed_tokens(ids)
        for index, layer in enumerate(self.layers):
            x = layer(x, cos, sin, caches[index] if caches else None)
        return self.norm(x)

    def logits(self, features):
        return F.linear(features, self.embed_tokens.weight)


class _HeadLoss(torch.autograd.Function):
    """Mean cross entropy of a linear head against a few tokens' shares at each position. Logits exist for `chunk`
    positions at a time and are computed once: gradients are computed in the forward pass, while the probabilities are
    available. weight may be frozen.

    features: [n, hidden]; targets: [n, k] ids, different ones in each row; shares: [n, k], a row's sum is 1.
    """

    @staticmethod
    def forward(ctx, features, weight, targets, shares, chunk):
        with torch.autocast(features.device.type, enabled=False):
            x, w = features.to(torch.bfloat16), weight.to(torch.bfloat16)
            x_gradient = torch.empty_like(x)
            w_gradient = torch.zeros_like(weight) if weight.requires_grad else None
            total = torch.zeros((), device=x.device)
            for first in range(0, len(x), chunk):
                part, target, share = (of[first : first + chunk] for of in (x, targets, shares))
                probability = torch.softmax((part @ w.T).float(), dim=-1)
                at_target = probability.gather(1, target)
                total -= (share * at_target.clamp_min(1e-30).log()).sum()
                probability.scatter_(1, target, at_target - share)
                gradient = probability.to(torch.bfloat16)
                x_gradient[first : first + chunk] = gradient @ w
                if w_gradient is not None:
                    w_gradient += (gradient.T @ part).float()
        ctx.save_for_backward(x_gradient, w_gradient)
        ctx.dtypes = features.dtype, weight.dtype
        return total / len(x)

    @staticmethod
    def backward(ctx, upstream):
        x_gradient, w_gradient = ctx.saved_tensors
        scale = upstream / len(x_gradient)
        w_gradient = None if w_gradient is None else (w_gradient * scale).to(ctx.dtypes[1])
        return (x_gradient * scale).to(ctx.dtypes[0]), w_gradient, None, None, None


def head_loss(features, weight, targets, shares, chunk=2048):
    """Mean cross entropy, as _HeadLoss says, for features [..., hidden]."""
    n = targets.numel() // targets.shape[-1]
    targets, shares = targets.reshape(n, -1), shares.reshape(n, -1).to(features.device)
    return _HeadLoss.apply(features.reshape(n, -1), weight, targets, shares, chunk)


def next_token_loss(model, ids, chunk=2048):
    """Mean cross entropy of predicting ids[:, 1:] from the preceding tokens."""
    targets = ids[:, 1:].reshape(-1, 1)
    return head_loss(model(ids[:, :-1]), model.embed_tokens.weight, targets, torch.ones(targets.shape), chunk)
