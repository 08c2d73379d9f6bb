"""The target's own output: the text that its drafts must predict."""

import json
import subprocess

import numpy as np
import torch

import corpora
import llama
import training

PROMPT_LEN, ROW_LEN = 32, 256


@torch.no_grad()
def continue_rows(next_logits, prompts, num_new, temperatures, generator, device):
    """Continues prompts [rows, prompt_len] by num_new tokens; temperatures: [rows], 0 is greedy.

    next_logits(ids): takes the prompts, then one token [rows, 1] a call, and returns the logits after the last one.
    Returns ids [rows, prompt_len + num_new]. A row continues after EOS with a new document.
    """
    fresh = ids = torch.from_numpy(prompts).to(device)
    heat = torch.as_tensor(temperatures, dtype=torch.float32, device=device)[:, None]
    for _ in range(num_new):
        logits = next_logits(fresh).float()
        # Gumbel noise scaled by the temperature: the maximum is a sample, and at 0 the greedy choice.
        uniform = torch.rand(logits.shape, generator=generator, device=device).clamp_min(1e-20)
        fresh = (logits - heat * torch.log(-torch.log(uniform))).argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, fresh], dim=1)
    return ids.cpu().numpy()


def generate(model, prompts, num_new, temperatures, generator, device):
    """Continues prompts as continue_rows does, by a llama.Llama."""
    capacity = prompts.shape[1] + num_new
    caches = [llama.LayerCache(model.shape, len(prompts), capacity, device) for _ in model.layers]
    with training.autocast(device):
        return continue_rows(
            lambda ids: model.logits(model(ids, caches)[:, -1]), prompts, num_new, temperatures, generator, device
        )


def document_starts(work, split, num_rows, length, seed, names=None):
    """Returns the first `length` tokens of documents, alternating between sources; only documents at least twice as
    long."""
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


def half_greedy(num_rows):
    """Half of the rows greedy, the rest at temperatures 0.6, 0.8 and 1."""
    return np.array([0.0, 0.6, 0.0, 0.8, 0.0, 1.0])[np.arange(num_rows) % 6]


def _written_by_engine(engine, model_dir, tokenizer, prompts, temperatures, num_new, scratch):
    """Same as generate(), but by the engine's binary, which is many times faster on a CPU. Rows are returned in
    another order, and end at EOS or after num_new tokens."""
    rows = []
    for temperature in np.unique(temperatures):
        texts = [tokenizer.decode(row.tolist()) for row in prompts[temperatures == temperature]]
        scratch.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in texts))
        command = [engine, "generate", "--model", model_dir, "--prompts", scratch, "--json", "--batch", "8"]
        command += ["--max-new-tokens", str(num_new), "--temperature", str(temperature)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        for text, line in zip(texts, lines):
            rows.append(tokenizer.encode(text, add_bos=True) + json.loads(line)["output_ids"])
        print(f"samples: {len(rows):>6} of {len(prompts)} rows", flush=True)
    return rows


def write_samples(model, work, device, num_rows, seed, engine=None, tokenizer=None, batch=192):
    """Fills work/samples.npy, [num_rows or more, ROW_LEN] ids: beginnings of training documents, continued by the target.

    With `engine`, the path of the `shortlist` binary, this binary writes them, from the target in work/target.
    """
    path = work / "samples.npy"
    if path.exists():
        return
    prompts = document_starts(work, "train", num_rows, PROMPT_LEN, seed)
    temperatures = half_greedy(num_rows)
    if engine is not None:
        written = _written_by_engine(
            engine, work / "target", tokenizer, prompts, temperatures, ROW_LEN - PROMPT_LEN, work / "prompts.jsonl"
        )
        flat = np.concatenate(written)  # short ones are followed by the next
        np.save(path, flat[: len(flat) // ROW_LEN * ROW_LEN].reshape(-1, ROW_LEN).astype(np.uint16))
        return
    generator = torch.Generator(device).manual_seed(seed)
    parts = []
    for first in range(0, num_rows, batch):
        part, heat = prompts[first : first + batch], temperatures[first : first + batch]
        parts.append(generate(model, part, ROW_LEN - PROMPT_LEN, heat, generator, device).astype(np.uint16))
        print(f"samples: {first + len(part):>6} of {num_rows} rows", flush=True)
    np.save(path, np.concatenate(parts))


def repeated_share(ids, n=6):
    """Share of a row's n-grams that had occurred before in it."""
    grams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return 1.0 - len(set(grams)) / len(grams)
