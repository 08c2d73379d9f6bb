"""Trains the target against its loops: unlikelihood training on its own greedy outputs (Welleck et al., 2020).

A small model that always takes its likeliest token soon repeats itself. Here it writes greedily, and every token that
ends an n-gram it had written before is made less likely. At the same time it continues to learn the corpora. The
result is a mean of the weights before and after (Wortsman et al., 2022): it keeps the held-out loss and most of what
drafts predict.
"""

import numpy as np
import torch

import corpora
import evaluate
import llama
import samples
import target
import training

PEAK_RATE = 3e-4
FIRST_LAYER = 5  # the layers below it, and the embedding (also the head), are frozen
TEXT_ROWS, TEXT_LEN = 16, 256
OWN_ROWS, PROMPT_LEN, NUM_NEW = 32, 32, 128
STEPS_PER_WRITING = 4  # updates that share one round of outputs
GRAM = 4
WEIGHT = 1.0
SHARE = 0.4  # of the trained weights in the mean


def repeats(row, first, n=GRAM):
    """[tokens - first] bool: True if the n-gram that ends at row[first + i] had been written before, from `first`
    on."""
    seen, marks = set(), np.zeros(len(row) - first, bool)
    for end in range(first + n, len(row) + 1):
        gram = tuple(row[end - n : end])
        marks[end - 1 - first] = gram in seen
        seen.add(gram)
    return marks


def unlikelihood(model, ids, marked):
    """Mean over all generated tokens of -log(1 - p) at the marked ones.

    ids: [rows, PROMPT_LEN + NUM_NEW]; marked: [rows, NUM_NEW] bool.
    """
    features = model(ids[:, :-1])[:, PROMPT_LEN - 1 :]
    logits = model.logits(features[marked]).float()
    written = ids[:, PROMPT_LEN:][marked]
    p = torch.softmax(logits, dim=-1).gather(1, written[:, None])
    return -torch.log1p(-p.clamp_max(1.0 - 1e-4)).sum() / marked.numel()


def train(model, work, device, num_steps, seed):
    """Applies num_steps updates to the layers from FIRST_LAYER on. Leaves the mean of the weights before and
    after."""
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.requires_grad_(False)
    for layer in model.layers[FIRST_LAYER:]:
        layer.requires_grad_(True)
    text = corpora.Batches(work, TEXT_ROWS, TEXT_LEN + 1, seed + 11)
    outputs = {}

    def write(block):
        rows = OWN_ROWS * STEPS_PER_WRITING
        prompts = samples.document_starts(work, "train", rows, PROMPT_LEN, seed + 1000 + block)
        generator = torch.Generator(device).manual_seed(seed)
        ids = samples.generate(model, prompts, NUM_NEW, np.zeros(rows), generator, device)
        marks = np.stack([repeats(row.tolist(), PROMPT_LEN) for row in ids])
        print(f"unlikelihood: {marks.mean():.1%} of the written tokens end a {GRAM}-gram written before", flush=True)
        outputs.clear()
        outputs[block] = ids, marks

    def loss_of_step(number):
        block, part = divmod(number, STEPS_PER_WRITING)
        if block not in outputs:
            write(block)
        mine = slice(part * OWN_ROWS, (part + 1) * OWN_ROWS)  # the sources alternate: each part contains all
        ids, marks = (torch.from_numpy(array[mine]).to(device) for array in outputs[block])
        with training.autocast(device):
            loss = llama.next_token_loss(model, torch.from_numpy(text[number]).to(device))
            return loss + WEIGHT * unlikelihood(model, ids, marks) if marks.any() else loss

    def report():
        losses = target.held_out_loss(model, work, device)
        _, repeated = evaluate.greedy_outputs(model, work, device)
        held_out = "  ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
        return f"held out  {held_out}  repeated 6-grams {repeated.mean():.1%}, below 30 % in {(repeated < 0.3).mean():.0%}"

    training.run("unlikelihood", model, loss_of_step, num_steps, PEAK_RATE, work, report)
    model.load_state_dict({name: before[name].lerp(weight, SHARE) for name, weight in model.state_dict().items()})
    return model
