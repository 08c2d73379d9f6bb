"""The target: a Llama trained on the corpora."""

import json

import numpy as np
import torch
from safetensors.torch import load_file

import corpora
import llama
import training

SHAPE = llama.Shape(hidden=256, intermediate=704, num_layers=11, num_heads=4, num_kv_heads=4)
PEAK_RATE = 1.2e-3
SHORT, LONG = 256, 1024  # row lengths; the long ones come last, after short-range patterns are learnt
LONG_FROM = 0.8


def start_from(model, folder):
    """Loads a smaller trained model of the same width. Its layers are spread evenly; copies inserted between them
    have no effect at first (their last projections are zero), so that training continues where it had stopped."""
    config = json.loads((folder / "config.json").read_text())
    given = load_file(folder / "model.safetensors")
    state = model.state_dict()
    state["embed_tokens.weight"] = given["model.embed_tokens.weight"].float()
    state["norm.weight"] = given["model.norm.weight"].float()
    num_given, num_layers = config["num_hidden_layers"], model.shape.num_layers
    origin = [index * num_given // num_layers for index in range(num_layers)]
    for index, source in enumerate(origin):
        is_copy = index > 0 and origin[index - 1] == source
        for name in state:
            prefix = f"layers.{index}."
            if name.startswith(prefix):
                weight = given[f"model.layers.{source}." + name[len(prefix) :]].float()
                empties = is_copy and name.endswith(("o_proj.weight", "down_proj.weight"))
                state[name] = torch.zeros_like(weight) if empties else weight
    model.load_state_dict(state)


@torch.no_grad()
def held_out_loss(model, work, device, tokens_per_source=16384, length=512):
    """Nats per token by source, over windows spread evenly over its held-out documents."""
    losses = {}
    for source in corpora.SOURCES:
        ids = corpora.load_tokens(work, source.name, "held_out").ids
        count = min(tokens_per_source // length, (len(ids) - 1) // length)
        starts = np.linspace(0, len(ids) - length - 1, count).astype(np.int64)
        rows = np.stack([ids[start : start + length + 1].astype(np.int64) for start in starts])
        total = 0.0
        for part in torch.from_numpy(rows).split(8):
            with training.autocast(device):
                total += llama.next_token_loss(model, part.to(device)).item() * len(part)
        losses[source.name] = total / count
    return losses


def train(work, device, num_tokens, tokens_per_step, seed, init=None):
    torch.manual_seed(seed)
    model = llama.Llama(SHAPE).to(device)
    if init is not None and not (work / "target.pt").exists():
        start_from(model, init)
    num_steps = num_tokens // tokens_per_step
    streams = {
        length: corpora.Batches(work, tokens_per_step // length, length + 1, seed) for length in (SHORT, LONG)
    }

    def loss_of_step(number):
        rows = streams[LONG if number >= LONG_FROM * num_steps else SHORT][number]
        with training.autocast(device):
            return llama.next_token_loss(model, torch.from_numpy(rows).to(device))

    def evaluate():
        losses = held_out_loss(model, work, device)
        return "held out  " + "  ".join(f"{name} {loss:.3f}" for name, loss in losses.items())

    print(f"target: {evaluate()}", flush=True)
    training.run("target", model, loss_of_step, num_steps, PEAK_RATE, work, evaluate)
    return model
