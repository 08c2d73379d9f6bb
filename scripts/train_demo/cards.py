"""The model cards: what each model is, its training data and procedure, and its results."""

DATA = """\
| source | share of the tokens | from | licence |
|---|---|---|---|
| documentation | 40 % | MicrosoftDocs/cpp-docs a2e592a | CC-BY-4.0, credit Microsoft |
| stories | 25 % | mlschmitt/classic-books-markdown 9448827, books of 1876 to 1925 | public domain (US) |
| arithmetic | 20 % | openai/grade-school-math 3101c7d, training split | MIT |
| code | 15 % | Python's standard library, tests left out | PSF |

2 % of each source (whole pages, modules and books) were held out. The weights are Apache-2.0.
"""


def _recipe(facts):
    lines = [
        f"Trained by `scripts/train_demo` at commit {facts['commit']}, seed {facts['seed']}, on {facts['device']},",
        f"PyTorch {facts['torch']}, in bf16 autocast: Muon for the matrices of the layers, AdamW for the rest.",
    ]
    return "\n".join(lines)


def target_card(shape, facts, evaluation):
    start = (
        f"It went on from the bootstrap target (6 layers, about 12 million tokens of the same documentation, books and\n"
        f"arithmetic; which documents that one had seen was not recorded, so some held-out documents may be among them)."
        if facts["init"]
        else "It was trained from scratch."
    )
    return f"""# Demo target

A Llama of {facts['target_parameters'] / 1e6:.1f} M parameters: {shape.num_layers} layers, hidden {shape.hidden}, {shape.num_heads} heads of {shape.head_dim},
FFN {shape.intermediate}, tied head of {shape.vocab_size:,} rows, context {shape.context_len:,}. It exists so that every claim of this repository can be
seen without a download. It writes documentation, stories and worked arithmetic that look right and rarely are.

{_recipe(facts)}
{facts['target_tokens'] / 1e6:.1f} M tokens, rows of 256 tokens and in the last fifth of 1,024. {start}

Then {facts['unlikelihood_steps']} updates of its upper layers against its loops (unlikelihood training, Welleck et al., 2020), of which the
weights hold {facts['unlikelihood_share']:.0%}, averaged with those from before.

{DATA}
## Evaluation

""" + "\n".join(evaluation) + "\n"


def draft_card(title, what, facts, init=""):
    """`init`: set if the training continued from a smaller pair's draft."""
    return f"""# {title}

{what}{init if facts["init"] else ""}

{_recipe(facts)}
{facts['draft_tokens'] / 1e6:.1f} M tokens, {facts['own_share']:.0%} of them written by the target itself (half greedily, half at temperatures 0.6 to 1), the
rest of the corpora below; it learns the target's distributions. What pruning its head costs is in the last table of
`../target/README.md`, and measured by the engine in `bench/results/`.

{DATA}"""


EAGLE = """\
EAGLE-1 layout, one layer: position i takes `fc([embedding(t_i+1); h_i])`, h being the target's features after its final
norm, and predicts h_i+1; embedding and head are the target's. Trained with its own rollouts of four steps, so that later
draft steps have seen predicted features (HASS, Zhang et al., 2024)."""

SMALL = """\
A Llama of its own (hidden 128, 3 layers, tied head of 16,384 rows): a draft that needs nothing of the target but its
tokenizer."""


def eagle3_card(facts):
    rates = ", ".join(f"{rate:.0%}" for rate in facts["rates"])
    return f"""# Demo draft, EAGLE-3

EAGLE-3 head (Li et al., 2025) for `../target`, in SpecForge's flat format. It reads the target's residual stream at
layer boundaries 2, 5 and 11, joined by `fc`, and has rows for the 4,096 most likely tokens of
`vocab_lists/demo.vocab.json` (`d2t`): the target's own. The embedding is the target's. It began with the layer of
`../draft` and the `fc` that best predicts the target's last stream, and was trained with rollouts of two steps.

Trained by `scripts/train_demo/eagle3.py`, seed {facts['seed']}, on {facts['device']}, PyTorch {facts['torch']}, in bf16 autocast:
{facts['tokens'] / 1e6:.1f} M tokens from {facts['rows']:,} rows of 256, 75 % of them from {facts['samples']:,} that the target wrote itself (half
greedily, half at temperatures 0.6 to 1), the rest of the corpora below. On greedy continuations of held-out documents,
{rates} of the tokens at depth 1, 2, ... are accepted where all before them were.

{DATA}"""


def hybrid_card(facts):
    found = facts["acceptance"]
    rates, fresh = (" | ".join(f"{rate:.0%}" for rate in found[which]) for which in ("all", "fresh"))
    losses = "\n".join(f"| {name} | {loss:.3f} |" for name, loss in facts["losses"].items())
    return f"""# Demo hybrid

A Qwen3.5 in a tiny shape, {facts['parameters'] / 1e6:.1f} M parameters: three layers with gated delta nets, one with attention, a tied head of
16,384 rows; and its layer for multi-token prediction (MTP, `mtp.*`, {facts['mtp_parameters'] / 1e6:.1f} M parameters), which drafts for it. The
tokenizer is a copy of `../target`'s.

Row i of the MTP layer takes the embedding of t_i+1 and the state m_i: the target's feature after its final norm in the
first step, the layer's own output after `mtp.norm` in every later one. Embedding and head are the target's.

Trained by `scripts/train_demo/hybrid.py`, seed {facts['seed']}, on {facts['device']}, PyTorch {facts['torch']}, transformers' network in
f32 with products in bf16: Muon for the matrices of the layers, AdamW for the rest.

1. The target: {facts['tokens'] / 1e6:.1f} M tokens from {facts['num_rows']:,} rows of 256, {facts['samples']:,} of them written by `../target` (half greedily, half at
   temperatures 0.6 to 1), the rest of the corpora below. It learns `../target`'s 16 likeliest tokens at each position,
   with their shares. Its embedding began as `../target`'s, projected onto 160 dimensions.
2. The MTP layer: {facts['mtp_tokens'] / 1e6:.1f} M tokens, 75 % of them from {facts['own_samples']:,} rows that the hybrid wrote itself, with rollouts of three
   steps. It learns the hybrid's distributions. It began as the target's last layer.

Greedy, 96 held-out documents, 48 + 96 tokens: {found['repeated_share']:.0%} of 6-grams are repetitions; in {found['fresh_share']:.0%} of the outputs fewer
than 30 %. Tokens of the MTP layer that are accepted where all before them were, by depth:

| outputs | 1 | 2 | 3 | 4 |
|---|---|---|---|---|
| all | {rates} |
| without loops | {fresh} |

No row of its training was longer than 256 tokens.

| source | held-out loss, nats a token |
|---|---|
{losses}

{DATA}"""
