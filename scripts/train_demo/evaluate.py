"""Evaluates the trained pair: held-out loss, repetition, and the accept length for each size of the vocabulary."""

import numpy as np
import torch
import torch.nn.functional as F

import corpora
import drafts
import samples
import target as target_recipe
import training

PROMPT_LEN, NUM_NEW, NUM_DRAFT_TOKENS = 48, 128, 4


def _accept_length(hits):
    """Returns tokens per verify step of a greedy chain. hits: [steps, positions], True if draft step s at position i
    (counted from the chain's first fed position) proposed the target's token."""
    num_steps, positions = hits.shape
    at = steps = 0
    while at + num_steps <= positions:
        # Step s of a chain that begins at `at` is at position at + s.
        good = 0
        while good < num_steps and hits[good, at + good]:
            good += 1
        at += good + 1
        steps += 1
    return at, steps


def accepted_by_depth(chosen, ids, prompt_len):
    """Returns the share of accepted tokens at each depth of a greedy chain that was accepted so far.

    ids: [rows, tokens], the target's greedy output after prompt_len tokens. chosen: for each step [rows, tokens - 2],
    position i holding the step's token for position i + 2.
    """
    hits = torch.stack([row == ids[:, 2:] for row in chosen])[:, :, prompt_len:]  # [steps, rows, positions]
    num_steps, width = len(hits), hits.shape[2] - len(hits)
    chains = torch.stack([hits[step, :, step : step + width] for step in range(num_steps)])
    accepted = chains.cumprod(dim=0).float().mean(dim=(1, 2))
    before = torch.cat([torch.ones(1), accepted[:-1]])
    return (accepted / before).tolist()


def _rows_in_use(ranked, num_rows, device):
    return torch.as_tensor(np.sort(ranked[:num_rows]).astype(np.int64), device=device)


@torch.no_grad()
def _hits_by_size(target, both, ids, ranked, sizes, device):
    """Returns {(draft, size): [rows, steps, positions]} over the generated part of ids, [rows, tokens]."""
    head = target.embed_tokens.weight
    ids = torch.from_numpy(ids).to(device)
    hits = {}
    with training.autocast(device):
        features = target(ids[:, :-1])
        eagle = both["eagle"].rollouts(F.embedding(ids[:, 1:-1], head), features[:, :-1], NUM_DRAFT_TOKENS)
        eagle = torch.stack([x.float() for x in eagle])  # [steps, rows, positions, hidden]
        small = both["small"](ids[:, 1:-1]).float()
    wanted = ids[:, 2:]
    for size in sizes:
        chosen = _rows_in_use(ranked, size, device)
        best = torch.stack([chosen[(x @ head[chosen].T).argmax(-1)] for x in eagle])
        hits["eagle", size] = (best == wanted).transpose(0, 1)[:, :, PROMPT_LEN - 2 :].cpu().numpy()
        best = chosen[(small @ both["small"].embed_tokens.weight[chosen].T).argmax(-1)]
        same = (best == wanted)[:, None].expand(-1, NUM_DRAFT_TOKENS, -1)
        hits["small", size] = same[:, :, PROMPT_LEN - 2 :].cpu().numpy()
    return hits


def greedy_outputs(target, work, device, num_prompts=96, seed=3):
    """Returns greedy continuations of held-out documents, ids [num_prompts, PROMPT_LEN + NUM_NEW], and the share of
    repeated 6-grams in each."""
    prompts = samples.document_starts(work, "held_out", num_prompts, PROMPT_LEN, seed)
    generator = torch.Generator(device).manual_seed(seed)
    ids = samples.generate(target, prompts, NUM_NEW, np.zeros(num_prompts), generator, device)
    return ids, np.array([samples.repeated_share(row[PROMPT_LEN:].tolist()) for row in ids])


def report(target, both, ranked, work, device):
    """Prints the evaluation and returns it as lines of Markdown. ranked: token ids, most frequent first."""
    lines = ["| source | held-out loss, nats a token |", "|---|---|"]
    for name, loss in target_recipe.held_out_loss(target, work, device).items():
        lines.append(f"| {name} | {loss:.3f} |")
    ids, repeated = greedy_outputs(target, work, device)
    fresh = repeated < 0.3
    lines += [
        "",
        f"Greedy, {len(ids)} held-out documents, {PROMPT_LEN} + {NUM_NEW} tokens: {repeated.mean():.1%} of 6-grams "
        f"are repetitions; in {fresh.mean():.0%} of the outputs fewer than 30 %.",
        "",
        f"Tokens per verify step of a greedy chain of {NUM_DRAFT_TOKENS}, static lists (all outputs / those without "
        "loops):",
        "",
        "| rows | EAGLE | small Llama |",
        "|---|---|---|",
    ]
    vocab_size = target.shape.vocab_size
    sizes = [vocab_size, vocab_size // 4, vocab_size // 8, vocab_size // 16, vocab_size // 32]
    hits = _hits_by_size(target, both, ids, ranked, sizes, device)
    for size in sizes:
        cells = []
        for draft in ("eagle", "small"):
            for rows in (np.arange(len(ids)), np.flatnonzero(fresh)):
                counts = np.array([_accept_length(hits[draft, size][row]) for row in rows]).reshape(-1, 2).sum(0)
                cells.append(counts[0] / max(counts[1], 1))
        lines.append(f"| {size} | {cells[0]:.3f} / {cells[1]:.3f} | {cells[2]:.3f} / {cells[3]:.3f} |")
    print("\n".join(lines), flush=True)
    return lines
