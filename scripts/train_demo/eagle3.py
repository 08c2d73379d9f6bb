"""Makes models/demo/eagle3, an EAGLE-3 head for the shipped target: from the corpora to the directory.

    pip install -r scripts/train_demo/requirements.txt
    python3 scripts/train_demo/eagle3.py --corpora DIR --work DIR [--engine build/release/shortlist] [--threads N]

Every stage stores its result under --work; an interrupted run resumes from there.
"""

import argparse
import json
import pathlib

import numpy as np
import sentencepiece
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

import cards
import corpora
import drafts
import evaluate
import llama
import samples
import target as target_recipe
import training

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAPS = (2, 5, 11)  # layer boundaries of the target; the last one is what enters its final norm
NUM_ROWS = 4096
NUM_ROLLOUTS = 2
NUM_DEPTHS = 4  # of the evaluation
PEAK_RATE = 1.5e-3
SHAPE = drafts.EAGLE_SHAPE


class Eagle3(nn.Module):
    """EAGLE-3 (Li et al., 2025). Position i takes the embedding of t_i+1 and a feature of h_i, and predicts t_i+2. The
    first feature is fc of the target's residual stream at TAPS, that of a later step the previous step's output. The
    normed feature is the residual: later steps stay in the range of the first.
    Parameter names are those of published heads."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.fc = nn.Linear(len(TAPS) * shape.hidden, shape.hidden, bias=False)
        self.midlayer = llama.Layer(shape)
        self.midlayer.hidden_norm = llama.RmsNorm(shape.hidden, shape.rms_norm_eps)
        attention = self.midlayer.self_attn
        for name in ("q_proj", "k_proj", "v_proj"):
            rows = getattr(attention, name).out_features
            setattr(attention, name, nn.Linear(2 * shape.hidden, rows, bias=False))
        self.norm = llama.RmsNorm(shape.hidden, shape.rms_norm_eps)
        self.lm_head = nn.Linear(shape.hidden, NUM_ROWS, bias=False)
        llama.initialise(self, num_layers=1)
        cos, sin = llama.rope_table(shape, shape.context_len)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def start_from(self, target, eagle1, ids, tapped, stream):
        """Begins with the target's head and norm, which stay, with what the EAGLE-1 draft has learnt, and with the fc
        that best predicts the target's last stream. tapped: [tokens, taps x hidden]; stream: [tokens, hidden]."""
        with torch.no_grad():
            self.lm_head.weight.copy_(target.embed_tokens.weight[ids])
            self.norm.weight.copy_(target.norm.weight)
            gram = tapped.T @ tapped
            ridge = 1e-3 * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype)
            self.fc.weight.copy_(torch.linalg.solve(gram + ridge, tapped.T @ stream).T)
            layer, given = self.midlayer, {name: weight.float() for name, weight in eagle1.items()}
            layer.hidden_norm.weight.copy_(target.norm.weight)
            layer.input_layernorm.weight.fill_(target.embed_tokens.weight.pow(2).mean().sqrt())
            for part in ("q_proj", "k_proj", "v_proj"):
                projection = given[f"layers.0.self_attn.{part}.weight"] @ given["fc.weight"]
                getattr(layer.self_attn, part).weight.copy_(projection)
            layer.self_attn.o_proj.weight.copy_(given["layers.0.self_attn.o_proj.weight"])
            layer.post_attention_layernorm.weight.copy_(given["layers.0.post_attention_layernorm.weight"])
            for part in ("gate_proj", "up_proj", "down_proj"):
                getattr(layer.mlp, part).weight.copy_(given[f"layers.0.mlp.{part}.weight"])
        self.lm_head.requires_grad_(False)

    def rollouts(self, embedded, tapped, num_rollouts):
        """Yields what the head scores in each step, as drafts.Eagle.rollouts does. tapped: [rows, tokens, taps x
        hidden], position i holding h_i."""
        tokens = embedded.shape[1]
        cos, sin = self.cos[:tokens], self.sin[:tokens]
        layer, attention = self.midlayer, self.midlayer.self_attn
        features = self.fc(tapped.to(embedded.dtype)).float()
        keys, values = [], []
        for _ in range(num_rollouts):
            normed = layer.hidden_norm(features)
            joined = torch.cat([layer.input_layernorm(embedded), normed], dim=-1)
            q, k, v = attention.project(joined, cos, sin)
            keys.append(attention.for_query_heads(k))
            values.append(attention.for_query_heads(v))
            x = normed + attention.o_proj(drafts.attend_unrolled(q, keys, values))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
            yield self.norm(x)
            features = torch.roll(x, 1, dims=1)  # before the norm


def load_target(folder):
    model = llama.Llama(target_recipe.SHAPE)
    given = load_file(folder / "model.safetensors")
    model.load_state_dict({name.removeprefix("model."): weight.float() for name, weight in given.items()})
    return model.requires_grad_(False)


def states_of(target, ids):
    """Returns the target's states at TAPS, joined, and its last stream, before the final norm."""
    cos, sin = target.cos[: ids.shape[1]], target.sin[: ids.shape[1]]
    x = target.embed_tokens(ids)
    boundaries = [x]
    for layer in target.layers:
        x = layer(x, cos, sin)
        boundaries.append(x)
    return torch.cat([boundaries[tap] for tap in TAPS], dim=-1), x


class Rows:
    """Rows of the target's own outputs and of the corpora, with the target's states at every position: computed once
    and used for several epochs, because the target's pass is the expensive part."""

    @torch.no_grad()
    def __init__(self, target, work, num_rows, seed, batch=16):
        rows = drafts.Rows(work, batch, seed)
        self.ids = torch.from_numpy(np.concatenate([rows[number] for number in range(-(-num_rows // batch))]))
        device = target.norm.weight.device
        tapped, streams = [], []
        with training.autocast(device):
            for ids in self.ids.split(batch):
                states = states_of(target, ids[:, : drafts.ROW_LEN + 1].to(device))
                tapped.append(states[0].to(torch.bfloat16).cpu())
                streams.append(states[1].to(torch.bfloat16).cpu())
        self.tapped, self.streams = torch.cat(tapped), torch.cat(streams)
        print(f"eagle3: states of {len(self.ids)} rows", flush=True)


def likely_ids(path):
    """Returns the NUM_ROWS most likely tokens of a list, pinned ones included, in ascending order."""
    document = json.loads(path.read_text())
    ranked = document.get("pinned", []) + [id for id in document["ids"] if id not in set(document.get("pinned", []))]
    return torch.tensor(sorted(ranked[:NUM_ROWS]))


def train(head, target, ids_of_rows, rows, work, device, num_steps, rows_per_step, seed):
    generator = torch.Generator().manual_seed(seed)
    table, row_len = target.embed_tokens.weight, drafts.ROW_LEN

    def loss_of_step(number):
        draw = np.random.default_rng((seed, number)).choice(len(rows.ids), rows_per_step, replace=False)
        ids, tapped, stream = (of[draw].to(device) for of in (rows.ids, rows.tapped, rows.streams))
        chosen = torch.randperm(row_len - NUM_ROLLOUTS, generator=generator)[: row_len // 3] + NUM_ROLLOUTS
        chosen = chosen.to(device)
        with training.autocast(device):
            with torch.no_grad():
                true = target.norm(stream[:, 1:][:, chosen].reshape(-1, stream.shape[-1]))  # predicts t_i+2
                # Tokens without a row keep their share, which no row can earn.
                wanted = torch.softmax(F.linear(true, table).float(), dim=-1)[:, ids_of_rows]
            loss = 0.0
            embedded = F.embedding(ids[:, 1 : row_len + 1], table)
            for scored in head.rollouts(embedded, tapped[:, :row_len], NUM_ROLLOUTS):
                logits = head.lm_head(scored[:, chosen].reshape(-1, scored.shape[-1])).float()
                loss = loss - (wanted * torch.log_softmax(logits, dim=-1)).sum() / len(wanted)
        return loss / NUM_ROLLOUTS

    training.run("eagle3", head, loss_of_step, num_steps, PEAK_RATE, work)


@torch.no_grad()
def acceptance(head, target, ids_of_rows, work, device, num_rows=64, new=96, prompt=48):
    """Returns evaluate.accepted_by_depth of the target's greedy continuations of held-out documents."""
    prompts = samples.document_starts(work, "held_out", num_rows, prompt, seed=3)
    generator = torch.Generator(device).manual_seed(3)
    ids = torch.from_numpy(samples.generate(target, prompts, new, np.zeros(num_rows), generator, device))
    with training.autocast(device):
        tapped, _ = states_of(target, ids[:, :-1])
        embedded = F.embedding(ids[:, 1:-1], target.embed_tokens.weight)
        best = [ids_of_rows[head.lm_head(x).argmax(-1)] for x in head.rollouts(embedded, tapped[:, :-1], NUM_DEPTHS)]
    return evaluate.accepted_by_depth(best, ids, prompt)


def write(folder, head, ids_of_rows, card):
    folder.mkdir(parents=True, exist_ok=True)
    shape = head.shape
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": 1,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "head_dim": shape.head_dim,
        "vocab_size": target_recipe.SHAPE.vocab_size,
        "draft_vocab_size": NUM_ROWS,
        "target_hidden_size": target_recipe.SHAPE.hidden,
        "max_position_embeddings": shape.context_len,
        "rms_norm_eps": shape.rms_norm_eps,
        "rope_theta": shape.rope_theta,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "norm_before_residual": True,
        "eagle_aux_hidden_state_layer_ids": list(TAPS),
        "bos_token_id": 1,
        "eos_token_id": 2,
        "torch_dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    tensors = {name: weight.detach().cpu().to(torch.bfloat16) for name, weight in head.state_dict().items()}
    tensors["d2t"] = ids_of_rows - torch.arange(NUM_ROWS)
    mask = torch.zeros(target_recipe.SHAPE.vocab_size, dtype=torch.bool)
    mask[ids_of_rows] = True
    tensors["t2d"] = mask
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors",
              metadata={"format": "pt"})  # fmt: skip
    (folder / "model.safetensors").chmod(0o644)
    (folder / "README.md").write_text(card)


def main():
    parser = argparse.ArgumentParser(prog="eagle3", description=__doc__.split("\n")[0])
    folder = pathlib.Path
    parser.add_argument("--corpora", type=folder, required=True, help="folder with the three *.jsonl.xz corpora")
    parser.add_argument("--work", type=folder, required=True, help="where stages leave their results")
    parser.add_argument("--out", type=folder, default=ROOT, help="repository to write into (default: this one)")
    parser.add_argument("--engine", type=folder, help="the shortlist binary, which writes samples faster")
    parser.add_argument("--samples", type=int, default=8192, help="rows of 256 tokens that the target writes")
    parser.add_argument("--rows", type=int, default=8192, help="rows to train on")
    parser.add_argument("--tokens", type=int, default=6_000_000)
    parser.add_argument("--tokens-per-step", type=int, default=3048)
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    demo, work = ROOT / "models/demo", arguments.work
    work.mkdir(parents=True, exist_ok=True)
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(demo / "target/tokenizer.model"))
    corpora.tokenize_all(arguments.corpora, tokenizer, work)
    target = load_target(demo / "target").to(device)
    (work / "target").exists() or (work / "target").symlink_to(demo / "target")
    samples.write_samples(target, work, device, arguments.samples, arguments.seed, arguments.engine, tokenizer)

    torch.manual_seed(arguments.seed)
    ids_of_rows = likely_ids(ROOT / "vocab_lists/demo.vocab.json").to(device)
    rows = Rows(target, work, arguments.rows, arguments.seed)
    head = Eagle3(SHAPE)
    some = slice(0, 64)
    head.start_from(target, load_file(demo / "draft/model.safetensors"), ids_of_rows.cpu(),
                    *(of[some].flatten(0, 1).double() for of in (rows.tapped, rows.streams)))  # fmt: skip
    head.to(device)
    rows_per_step = arguments.tokens_per_step // drafts.ROW_LEN
    num_steps = arguments.tokens // arguments.tokens_per_step
    train(head, target, ids_of_rows, rows, work, device, num_steps, rows_per_step, arguments.seed)
    rates = acceptance(head, target, ids_of_rows, work, device)
    print("accepted at depth 1, 2, ...:", " ".join(f"{rate:.3f}" for rate in rates), flush=True)
    facts = {
        "tokens": arguments.tokens, "rows": len(rows.ids), "samples": arguments.samples, "seed": arguments.seed, "rates": rates,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU", "torch": torch.__version__,
    }  # fmt: skip
    write(arguments.out / "models/demo/eagle3", head, ids_of_rows, cards.eagle3_card(facts))


if __name__ == "__main__":
    main()
