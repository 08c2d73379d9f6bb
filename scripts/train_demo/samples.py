"""What the target itself writes: the text its drafts must predict."""

import numpy as np
import torch

import corpora
import llama
import training

BOS, EOS = 1, 2


@torch.no_grad()
def generate(model, prompts, num_new, temperatures, generator, device):
    """Continues prompts [rows, prompt_len] by num_new tokens; temperatures: [rows], 0 is greedy.

    Returns ids [rows, prompt_len + num_new]. A row goes on after EOS: what follows is a new document.
    """
    ids = torch.from_numpy(prompts).to(device)
    heat = torch.as_tensor(temperatures, dtype=torch.float32, device=device)[:, None]
    caches = [llama.LayerCache(model.shape, len(ids), ids.shape[1] + num_new, device) for _ in model.layers]
    fresh = ids
    with training.autocast(device):
        for _ in range(num_new):
            logits = model.logits(model(fresh, caches)[:, -1]).float()
            # Gumbel noise scaled by the temperature: the maximum is a sample, and at 0 the greedy choice.
            uniform = torch.rand(logits.shape, generator=generator, device=device).clamp_min(1e-20)
            fresh = (logits - heat * torch.log(-torch.log(uniform))).argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, fresh], dim=1)
    return ids.cpu().numpy()


def document_starts(work, split, num_rows, length, seed, names=None):
    """First `length` tokens of documents, the sources in turn; only documents at least twice as long."""
    draw = np.random.default_rng((seed, 77))
    names = names or [source.name for source in corpora.SOURCES]
    files = [corpora.load_tokens(work, name, split) for name in names]
    rows = []
    while len(rows) < num_rows:
        file = files[len(rows) % len(files)]
        document = file[draw.integers(len(file))]
        if len(document) >= 2 * length:
            rows.append(document[:length].astype(np.int64))
    return np.stack(rows)


def write_samples(model, work, device, num_rows, seed, prompt_len=32, num_new=223, batch=192):
    """Fills work/samples.npy, [num_rows, prompt_len + num_new + 1] ids: half of the rows greedy, the rest at temperatures
    0.6 to 1."""
    path = work / "samples.npy"
    if path.exists():
        return
    generator = torch.Generator(device).manual_seed(seed)
    prompts = document_starts(work, "train", num_rows, prompt_len, seed)
    parts = []
    for first in range(0, num_rows, batch):
        part = prompts[first : first + batch]
        heat = np.where(np.arange(len(part)) % 8 < 4, 0.0, np.linspace(0.6, 1.0, len(part)))
        parts.append(generate(model, part, num_new + 1, heat, generator, device).astype(np.uint16))
        print(f"samples: {first + len(part):>6} of {num_rows} rows", flush=True)
    np.save(path, np.concatenate(parts))


def repeated_share(ids, n=6):
    """Share of a row's n-grams that had occurred before in it."""
    grams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return 1.0 - len(set(grams)) / len(grams)
