"""Makes models/demo/hybrid, a tiny Qwen3.5 with a layer for multi-token prediction (MTP): from the corpora to the
directory.

    pip install -r scripts/train_demo/requirements.txt
    python3 scripts/train_demo/hybrid.py --corpora DIR --work DIR [--engine build/release/shortlist] [--threads N]

It learns the demo target's distributions, and its MTP layer learns its own. Every stage stores its result under --work;
an interrupted run resumes from there.
"""

import argparse
import pathlib

import numpy as np
import sentencepiece
import torch
import torch.nn.functional as F
from transformers.cache_utils import DynamicCache

import cards
import corpora
import drafts
import eagle3
import evaluate
import hybrid_model
import llama
import samples
import target as target_recipe
import training

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUM_TOP = 16  # tokens of the teacher's distribution that are learnt, with shares that sum to 1
TARGET_RATE, MTP_RATE = 2e-3, 1.5e-3
NUM_ROLLOUTS = 3
NUM_DEPTHS = 4  # of the evaluation


@torch.no_grad()
def teacher_rows(teacher, work, num_rows, seed, device, batch=16):
    """Returns the rows to learn from: ids [rows, 256], the teacher's own outputs and text; top ids and their shares
    [rows, 255, NUM_TOP]; and the teacher's features of some rows [n, hidden]."""
    path = work / "hybrid_rows.pt"
    if path.exists():
        return torch.load(path)
    own = np.load(work / "samples.npy")[:num_rows].astype(np.int64)
    text = corpora.Batches(work, num_rows - len(own), own.shape[1], seed + 21)[0]
    ids, tops, shares, features = torch.from_numpy(np.concatenate([own, text])), [], [], []
    ids = ids[torch.randperm(len(ids), generator=torch.Generator().manual_seed(seed))]
    for part in ids.split(batch):
        with training.autocast(device):
            states = teacher(part[:, :-1].to(device))
            for row in states:
                best = teacher.logits(row).float().topk(NUM_TOP)
                tops.append(best.indices.to(torch.int16).cpu())
                shares.append(best.values.softmax(dim=-1).half().cpu())
        if len(features) < 4:
            features.append(states.flatten(0, 1).double().cpu())
        if len(tops) % (16 * batch) == 0:
            print(f"teacher: {len(tops):>6} of {len(ids)} rows", flush=True)
    rows = ids, torch.stack(tops), torch.stack(shares), torch.cat(features)
    torch.save(rows, path)
    return rows


def train_target(teacher, rows, work, device, num_tokens, rows_per_step, seed):
    ids, tops, shares, features = rows
    torch.manual_seed(seed + 4)
    target = hybrid_model.Hybrid()
    target.start_from(teacher.embed_tokens.weight.cpu(), torch.bincount(ids.flatten(), minlength=16384), features)
    target.to(device)
    epoch = len(ids) // rows_per_step

    def loss_of_step(number):
        order = np.random.default_rng((seed, number // epoch)).permutation(len(ids))
        drawn = order[number % epoch * rows_per_step :][:rows_per_step]
        text, top, share = (of[drawn].to(device) for of in (ids, tops, shares))
        return llama.head_loss(target(text[:, :-1]), target.embed_tokens.weight, top.long(), share.float(), chunk=256)

    def report():
        losses = target_recipe.held_out_loss(target, work, device, length=256)
        return "held out  " + "  ".join(f"{name} {loss:.3f}" for name, loss in losses.items())

    num_steps = num_tokens // (rows_per_step * tops.shape[1])
    training.run("hybrid_target", target, loss_of_step, num_steps, TARGET_RATE, work, report, every=100)
    return target.requires_grad_(False)


def generate(target, prompts, num_new, temperatures, seed, device):
    """Continues prompts as samples.continue_rows does."""
    cache = DynamicCache(config=target.network.config)
    return samples.continue_rows(
        lambda ids: target.logits(target(ids, cache)[:, -1]), prompts, num_new, temperatures,
        torch.Generator(device).manual_seed(seed), device,
    )  # fmt: skip


def write_samples(target, work, num_rows, seed, device, batch=192):
    """Fills work/hybrid_samples.npy as samples.write_samples does for the demo target."""
    path = work / "hybrid_samples.npy"
    if path.exists():
        return
    prompts = samples.document_starts(work, "train", num_rows, samples.PROMPT_LEN, seed + 31)
    temperatures, parts = samples.half_greedy(num_rows), []
    for first in range(0, num_rows, batch):
        some = slice(first, first + batch)
        num_new = samples.ROW_LEN - samples.PROMPT_LEN
        parts.append(generate(target, prompts[some], num_new, temperatures[some], seed + first, device))
        print(f"hybrid samples: {first + len(parts[-1]):>6} of {num_rows} rows", flush=True)
    np.save(path, np.concatenate(parts).astype(np.uint16))


def train_mtp(target, work, device, num_tokens, rows_per_step, seed):
    torch.manual_seed(seed + 5)
    mtp = hybrid_model.make_mtp(target).to(device)
    rows = drafts.Rows(work, rows_per_step, seed + 41, own="hybrid_samples.npy")
    head, row_len = target.embed_tokens.weight, drafts.ROW_LEN
    generator = torch.Generator().manual_seed(seed)

    def loss_of_step(number):
        ids = torch.from_numpy(rows[number]).to(device)[:, : row_len + 1]
        chosen = torch.randperm(row_len - NUM_ROLLOUTS, generator=generator)[: row_len // 3] + NUM_ROLLOUTS
        chosen = chosen.to(device)
        with torch.no_grad():
            features = target(ids)
            true = features[:, 1:][:, chosen].reshape(-1, features.shape[-1])  # predicts t_i+2
            wanted = torch.softmax(F.linear(true, head), dim=-1)
        loss = 0.0
        for predicted in hybrid_model.rollouts(mtp, target, ids[:, 1:], features[:, :-1], NUM_ROLLOUTS):
            loss = loss + drafts.distillation(predicted[:, chosen].reshape(-1, predicted.shape[-1]), head, wanted)
        return loss / NUM_ROLLOUTS

    def report():
        rates = acceptance(mtp, target, work, device, num_rows=32)["all"]
        return "accepted at depth 1, 2, ...: " + " ".join(f"{rate:.3f}" for rate in rates)

    num_steps = num_tokens // (rows_per_step * row_len)
    training.run("hybrid_mtp", mtp, loss_of_step, num_steps, MTP_RATE, work, report, every=50)
    return mtp


@torch.no_grad()
def acceptance(mtp, target, work, device, num_rows=96, new=96, prompt=48):
    """Returns what evaluate.accepted_by_depth says of the target's greedy continuations of held-out documents: of all,
    and of the fresh ones, less than 30 % of whose 6-grams are repetitions; and the shares of both."""
    prompts = samples.document_starts(work, "held_out", num_rows, prompt, seed=3)
    ids = torch.from_numpy(generate(target, prompts, new, np.zeros(num_rows), 3, device)).to(device)
    steps = hybrid_model.rollouts(mtp, target, ids[:, 1:-1], target(ids[:, :-2]), NUM_DEPTHS)
    chosen, ids = torch.stack([target.logits(y).argmax(-1) for y in steps]).cpu(), ids.cpu()
    repeated = torch.tensor([samples.repeated_share(row[prompt:].tolist()) for row in ids])
    fresh = repeated < 0.3
    return {
        "all": evaluate.accepted_by_depth(chosen, ids, prompt),
        "fresh": evaluate.accepted_by_depth(chosen[:, fresh], ids[fresh], prompt),
        "repeated_share": repeated.mean().item(),
        "fresh_share": fresh.float().mean().item(),
    }


def main():
    parser = argparse.ArgumentParser(prog="hybrid", description=__doc__.split("\n")[0])
    folder = pathlib.Path
    parser.add_argument("--corpora", type=folder, required=True, help="folder with the three *.jsonl.xz corpora")
    parser.add_argument("--work", type=folder, required=True, help="where stages leave their results")
    parser.add_argument("--out", type=folder, default=ROOT, help="repository to write into (default: this one)")
    parser.add_argument("--engine", type=folder, help="the shortlist binary, which writes the teacher's samples faster")
    parser.add_argument("--samples", type=int, default=8192, help="rows of 256 tokens that the demo target writes")
    parser.add_argument("--rows", type=int, default=16384, help="rows to train the target on, with the samples")
    parser.add_argument("--tokens", type=int, default=20_000_000)
    parser.add_argument("--own-samples", type=int, default=4096, help="rows that the hybrid writes for its MTP layer")
    parser.add_argument("--mtp-tokens", type=int, default=8_000_000)
    parser.add_argument("--rows-per-step", type=int, default=16)
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    demo, work, seed = ROOT / "models/demo", arguments.work, arguments.seed
    work.mkdir(parents=True, exist_ok=True)
    tokenizer_path = demo / "target/tokenizer.model"
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer_path))
    corpora.tokenize_all(arguments.corpora, tokenizer, work)
    teacher = eagle3.load_target(demo / "target").to(device)
    (work / "target").exists() or (work / "target").symlink_to(demo / "target")
    samples.write_samples(teacher, work, device, arguments.samples, seed, arguments.engine, tokenizer)

    rows = teacher_rows(teacher, work, arguments.rows, seed, device)
    torch.set_float32_matmul_precision("medium")  # products in bf16, where the processor has them
    target = train_target(teacher, rows, work, device, arguments.tokens, arguments.rows_per_step, seed)
    write_samples(target, work, arguments.own_samples, seed, device)
    mtp = train_mtp(target, work, device, arguments.mtp_tokens, arguments.rows_per_step, seed)

    torch.set_float32_matmul_precision("highest")
    with torch.no_grad():  # what is measured is what is shipped
        for parameter in (*target.parameters(), *mtp.parameters()):
            parameter.copy_(parameter.to(torch.bfloat16))
    facts = {
        "losses": target_recipe.held_out_loss(target, work, device, length=256),
        "acceptance": acceptance(mtp, target, work, device),
        "num_rows": len(rows[0]), "tokens": arguments.tokens, "mtp_tokens": arguments.mtp_tokens,
        "samples": arguments.samples, "own_samples": arguments.own_samples, "seed": seed,
        "parameters": sum(parameter.numel() for parameter in target.parameters()),
        "mtp_parameters": sum(parameter.numel() for parameter in mtp.parameters()),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU", "torch": torch.__version__,
    }  # fmt: skip
    print(facts, flush=True)
    hybrid_model.write(arguments.out / "models/demo/hybrid", target, mtp, tokenizer_path, cards.hybrid_card(facts))


if __name__ == "__main__":
    main()
