"""Makes the demo pair: from the corpora to models/demo, vocab_lists/demo.vocab.json and the held-out prompts.

    pip install -r scripts/train_demo/requirements.txt
    python3 scripts/train_demo --corpora DIR --work DIR --engine build/release/shortlist [--spec-bench spec_bench.jsonl]

Every stage stores its result under --work; an interrupted run resumes from there. A GPU is used if there is one.
"""

import argparse
import json
import pathlib
import subprocess

import numpy as np
import sentencepiece
import torch

import cards
import corpora
import counts
import drafts
import evaluate
import export
import prompts
import samples
import target as target_recipe
import unlikelihood

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="train_demo", description=__doc__.split("\n")[0])
    folder = pathlib.Path
    parser.add_argument("--corpora", type=folder, required=True, help="folder with the three *.jsonl.xz corpora")
    parser.add_argument("--work", type=folder, required=True, help="where stages leave their results")
    parser.add_argument("--out", type=folder, default=ROOT, help="repository to write into (default: this one)")
    parser.add_argument("--spec-bench", type=folder, help="Spec-Bench's questions; with it the prompts are written")
    parser.add_argument("--init", type=folder, help="folder with a smaller pair (target/, draft/) to go on from")
    parser.add_argument("--target-tokens", type=int, default=600_000_000)
    parser.add_argument("--unlikelihood-steps", type=int, default=160, help="updates of the target against its loops")
    parser.add_argument("--draft-tokens", type=int, default=150_000_000)
    parser.add_argument("--tokens-per-step", type=int, default=32768)
    parser.add_argument("--samples", type=int, default=60_000, help="rows of 256 tokens that the target writes")
    parser.add_argument("--engine", type=folder, required=True, help="the shortlist binary, which writes them, and the list")
    parser.add_argument("--threads", type=int, help="CPU threads (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def ensure_tokenizer(arguments):
    """Returns the shipped tokenizer; if there is none, one trained on the corpora."""
    path = arguments.out / "models/demo/target/tokenizer.model"
    if not path.exists():
        texts = (text for source in corpora.SOURCES for name, text in source.documents(arguments.corpora)
                 if not corpora.is_held_out(source.name + "/" + name))
        path.parent.mkdir(parents=True, exist_ok=True)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line for text in texts for line in text.splitlines() if line),
            model_prefix=str(path.with_suffix("")), model_type="bpe", vocab_size=target_recipe.SHAPE.vocab_size,
            byte_fallback=True, normalization_rule_name="identity", split_digits=True, remove_extra_whitespaces=False,
            character_coverage=0.9995, input_sentence_size=1_000_000, shuffle_input_sentence=True,
        )  # fmt: skip
    return path


def write_vocab_list(arguments, tokenizer_path):
    """Writes the list counted by the engine. Bytes are ranked like all other tokens: a draft that cannot spell costs
    a token, and 256 rows cost every step. Returns the ids, most frequent first."""
    path = arguments.out / "vocab_lists/demo.vocab.json"
    source = (
        "the demo target's own outputs and the demo pair's corpora: C++ documentation (MicrosoftDocs/cpp-docs, "
        "CC-BY-4.0), books 1876-1925 (US public domain), GSM8K training problems (MIT), Python's standard library (PSF)"
    )
    command = [arguments.engine, "vocab", "build", "--tokenizer", tokenizer_path, "--out", path, "--source", source]
    command += ["--pin", "control", "--min-pair-count", "5", "--text-key", "ids", "--text"]
    command += [f"{weight}@{rows}" for weight, rows in counts.write_rows(arguments.work)]
    subprocess.run(command, check=True)
    return np.array(json.loads(path.read_text())["ids"])


def main():
    arguments = parse_arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    work, seed = arguments.work, arguments.seed
    work.mkdir(parents=True, exist_ok=True)
    tokenizer_path = ensure_tokenizer(arguments)
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer_path))
    corpora.tokenize_all(arguments.corpora, tokenizer, work)

    init = arguments.init
    target = target_recipe.train(
        work, device, arguments.target_tokens, arguments.tokens_per_step, seed, init and init / "target"
    )
    unlikelihood.train(target, work, device, arguments.unlikelihood_steps, seed)
    target.requires_grad_(False)
    if arguments.engine:
        export.write_llama(work / "target", target, tokenizer_path, card="")
    samples.write_samples(target, work, device, arguments.samples, seed, arguments.engine, tokenizer)
    both = drafts.train(
        target, work, device, arguments.draft_tokens, arguments.tokens_per_step // 2, seed, init and init / "draft"
    )

    ranked = write_vocab_list(arguments, tokenizer_path)
    evaluation = evaluate.report(target, both, ranked, work, device)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    facts = {
        "commit": commit.stdout.strip() or "unknown",
        "seed": seed,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU",
        "torch": torch.__version__,
        "init": init is not None,
        "target_tokens": arguments.target_tokens,
        "unlikelihood_steps": arguments.unlikelihood_steps,
        "unlikelihood_share": unlikelihood.SHARE,
        "draft_tokens": arguments.draft_tokens,
        "own_share": drafts.OWN_SHARE,
        "target_parameters": sum(parameter.numel() for parameter in target.parameters()),
    }
    demo = arguments.out / "models/demo"
    export.write_llama(demo / "target", target, tokenizer_path, cards.target_card(target.shape, facts, evaluation))
    eagle_card = cards.draft_card("Demo draft, EAGLE", cards.EAGLE, facts, " It went on from the bootstrap draft.")
    export.write_eagle(demo / "draft", both["eagle"], tokenizer_path, eagle_card)
    small_card = cards.draft_card("Demo draft, small Llama", cards.SMALL, facts)
    export.write_llama(demo / "small_draft", both["small"], tokenizer_path, small_card)
    if arguments.spec_bench:
        out = arguments.out / "bench/demo/prompts.jsonl"
        out.parent.mkdir(parents=True, exist_ok=True)
        prompts.write_prompts(out, work, tokenizer, arguments.spec_bench, per_source=24, seed=seed)


if __name__ == "__main__":
    main()
