"""The drafts: an EAGLE head on the target's features and a separate small Llama. Both learn the target's
distributions, on the corpora and on the target's own output. They train together because the target's pass over the
text is the expensive part.
"""

import json

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

import corpora
import llama
import target as target_recipe
import training

EAGLE_SHAPE = llama.Shape(hidden=256, intermediate=704, num_layers=1, num_heads=4, num_kv_heads=4)
SMALL_SHAPE = llama.Shape(hidden=128, intermediate=352, num_layers=3, num_heads=2, num_kv_heads=2)
PEAK_RATE = 1.5e-3
ROW_LEN = 254  # tokens fed; the row holds two more, since EAGLE's last position predicts the one after next
NUM_ROLLOUTS = 4
OWN_SHARE = 0.75  # of the rows, taken from the target's own outputs
FEATURE_WEIGHT = 0.2


def attend_unrolled(q, keys, values):
    """The attention of the last of several steps that predict from one another's outputs. Step k of position i is the
    chain of position i - k: it sees the first step's keys up to there, and of later steps its own chain's alone.

    q: queries of the last step; keys, values: of each step, for query heads; all [batch, heads, tokens, head_dim].
    Returns [batch, tokens, heads x head_dim].
    """
    step, tokens = len(keys) - 1, q.shape[2]
    position = torch.arange(tokens, device=q.device)
    distance = position[:, None] - position[None, :]  # query minus key
    scale = q.shape[3] ** -0.5
    scores = [(q @ keys[0].transpose(2, 3)).float() * scale]
    scores[0] = scores[0].masked_fill(distance < step, float("-inf"))
    for own in range(1, step + 1):
        # Key of step `own` of the same chain: it is step - own positions before the query.
        back = torch.roll(keys[own], step - own, dims=2)
        scores.append((q * back).sum(-1, keepdim=True).float() * scale)
    weights = torch.cat(scores, dim=-1)
    weights = torch.where(position[:, None] < step, 0.0, weights).softmax(dim=-1).to(q.dtype)
    y = weights[..., :tokens] @ values[0]
    for own in range(1, step + 1):
        y = y + weights[..., tokens + own - 1, None] * torch.roll(values[own], step - own, dims=2)
    return y.transpose(1, 2).flatten(2)


class Eagle(nn.Module):
    """EAGLE-1 (Li et al., 2024): position i takes fc([embedding(t_i+1); h_i]) and predicts h_i+1, with h the target's
    features after its final norm."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.fc = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.layers = nn.ModuleList([llama.Layer(shape, input_norm=False)])
        llama.initialise(self, shape.num_layers)
        cos, sin = llama.rope_table(shape, shape.context_len)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def rollouts(self, embedded, features, num_rollouts):
        """Yields the draft's predictions if step 1 sees the target's features and every later step those of the
        previous step (HASS, Zhang et al., 2024: training-time test).

        embedded: [rows, tokens, hidden], position i holding the embedding of t_i+1; features: the same shape, h_i.
        Yields one [rows, tokens, hidden] for each step: position i, a prediction of h_i+1. The first `step` positions
        of a later step have no preceding chain.

        A chain whose step s is at position j began at position j - s: it sees the keys of true features up to there,
        and after it those of its own steps 1 .. s.
        """
        tokens = embedded.shape[1]
        cos, sin = self.cos[:tokens], self.sin[:tokens]
        layer, attention = self.layers[0], self.layers[0].self_attn
        keys, values = [], []
        for _ in range(num_rollouts):
            x = self.fc(torch.cat([embedded, features.to(embedded.dtype)], dim=-1))
            q, k, v = attention.project(x, cos, sin)
            keys.append(attention.for_query_heads(k))
            values.append(attention.for_query_heads(v))
            x = x + attention.o_proj(attend_unrolled(q, keys, values))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
            yield x
            features = torch.roll(x, 1, dims=1)


class _Distillation(torch.autograd.Function):
    """Mean cross entropy of softmax(x weight^T) against given distributions. Gradients are computed in the forward
    pass. weight may be frozen."""

    @staticmethod
    def forward(ctx, x, weight, wanted):
        with torch.autocast(x.device.type, enabled=False):
            low, w = x.to(torch.bfloat16), weight.to(torch.bfloat16)
            log_q = torch.log_softmax((low @ w.T).float(), dim=-1)
            loss = -torch.dot(log_q.flatten(), wanted.flatten()) / len(x)
            gradient = (log_q.exp_().sub_(wanted) / len(x)).to(torch.bfloat16)
            w_gradient = (gradient.T @ low).float() if weight.requires_grad else None
            ctx.save_for_backward((gradient @ w).to(x.dtype), w_gradient)
        return loss

    @staticmethod
    def backward(ctx, upstream):
        x_gradient, w_gradient = ctx.saved_tensors
        return x_gradient * upstream, None if w_gradient is None else w_gradient * upstream, None


def distillation(x, weight, wanted):
    """Mean cross entropy of softmax(x weight^T) against the distributions `wanted`."""
    return _Distillation.apply(x, weight, wanted)


class Rows:
    """Makes [num_rows, ROW_LEN + 2] ids for update number i, from the corpora and the target's own outputs, work/own."""

    def __init__(self, work, num_rows, seed, own="samples.npy"):
        self._own = np.load(work / own, mmap_mode="r")
        self._num_own = round(num_rows * OWN_SHARE)
        self._text = corpora.Batches(work, num_rows - self._num_own, ROW_LEN + 2, seed + 1)
        self._seed = seed

    def __getitem__(self, number):
        draw = np.random.default_rng((self._seed, 99, number))
        own = self._own[draw.integers(len(self._own), size=self._num_own), : ROW_LEN + 2].astype(np.int64)
        return np.concatenate([own, self._text[number]])


def start_from(eagle, folder):
    """Loads a trained EAGLE draft of the same shape."""
    given = load_file(folder / "model.safetensors")
    eagle.load_state_dict({name: weight.float() for name, weight in given.items() if name in eagle.state_dict()})


def train(target, work, device, num_tokens, tokens_per_step, seed, init=None):
    torch.manual_seed(seed + 2)
    both = nn.ModuleDict({"eagle": Eagle(EAGLE_SHAPE), "small": llama.Llama(SMALL_SHAPE)}).to(device)
    if init is not None and not (work / "drafts.pt").exists():
        start_from(both["eagle"], init)
    head = target.embed_tokens.weight.detach()
    num_rows = tokens_per_step // ROW_LEN
    rows = Rows(work, num_rows, seed)
    generator = torch.Generator().manual_seed(seed)

    def loss_of_step(number):
        ids = torch.from_numpy(rows[number]).to(device)
        with training.autocast(device):
            with torch.no_grad():
                features = target(ids[:, : ROW_LEN + 1])
                embedded = F.embedding(ids[:, 1 : ROW_LEN + 1], head)
            # Losses use half of the positions, different ones each time: the heads are the expensive part.
            chosen = torch.randperm(ROW_LEN - NUM_ROLLOUTS, generator=generator)[: ROW_LEN // 2] + NUM_ROLLOUTS
            chosen = chosen.to(device)
            true = features[:, 1:][:, chosen].reshape(-1, features.shape[-1])  # h_i+1: predicts t_i+2
            with torch.no_grad():
                wanted = torch.softmax(F.linear(true, head).float(), dim=-1)
            loss = 0.0
            for predicted in both["eagle"].rollouts(embedded, features[:, :ROW_LEN], NUM_ROLLOUTS):
                x = predicted[:, chosen].reshape(-1, predicted.shape[-1]).float()
                loss = loss + distillation(x, head, wanted) + FEATURE_WEIGHT * F.smooth_l1_loss(x, true.float())
            small = both["small"](ids[:, 1 : ROW_LEN + 1])[:, chosen]
            small = small.reshape(-1, small.shape[-1])
            return loss / NUM_ROLLOUTS + distillation(small, both["small"].embed_tokens.weight, wanted)

    num_steps = num_tokens // tokens_per_step
    training.run("drafts", both, loss_of_step, num_steps, PEAK_RATE, work)
    return both
