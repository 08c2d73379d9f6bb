"""Hugging Face generate(assistant_model=...): the assistant's head pruned to the active vocabulary.

`PrunedHead` replaces the assistant's lm_head. It scores the active rows alone and returns -infinity elsewhere:
generate() needs logits by token id. The target verifies over its whole vocabulary, so greedy text is the same as with
the original assistant. Tokens that the assistant reads (the prompt and the target's choices) enter the dynamic part.

To adopt it:

    assistant.lm_head = PrunedHead(assistant.lm_head.weight, manager)
    watch(assistant, manager)

usage: python hf_assistant.py [--repository DIR] [--new-tokens N]    (the demo pair in DIR/models/demo: target, small_draft)
"""

import argparse
import time
from pathlib import Path

import torch

import shortlist


class PrunedHead(torch.nn.Module):
    def __init__(self, weight, manager):
        super().__init__()
        self.weight = torch.nn.Parameter(weight.detach(), requires_grad=False)  # shared, not copied
        self.manager = manager

    def forward(self, hidden):
        flat = hidden.reshape(-1, hidden.shape[-1])
        row_ids = self.manager.active().row_ids
        logits = shortlist.gather_head(flat, self.weight, row_ids)
        full = torch.full((flat.shape[0], self.weight.shape[0]), float("-inf"))
        full[:, row_ids.long()] = logits
        return full.reshape(*hidden.shape[:-1], -1).to(hidden.dtype)


def watch(assistant, manager):
    """Makes everything that the assistant reads active: the prompt, and the target's corrections."""

    def add(_, args, kwargs):
        ids = kwargs.get("input_ids", args[0] if args else None)
        if ids is not None:
            manager.add(ids.reshape(-1))

    return assistant.register_forward_pre_hook(add, with_kwargs=True)


def timed(function):
    function()
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repository", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--new-tokens", type=int, default=48)
    options = parser.parse_args()
    try:
        from transformers import AutoModelForCausalLM
    except ImportError:
        raise SystemExit("this adapter needs transformers: pip install transformers")

    torch.set_num_threads(1)  # small models: two threads spend more time waiting for each other than computing
    models = options.repository / "models" / "demo"
    target = AutoModelForCausalLM.from_pretrained(models / "target", dtype=torch.float32).eval()
    assistant = AutoModelForCausalLM.from_pretrained(models / "small_draft", dtype=torch.float32).eval()
    chosen = shortlist.VocabList.read(str(options.repository / "vocab_lists" / "demo.vocab.json"), vocab_size=16_384)
    # Prompts as ids, so that no tokenizer is needed: BOS, then likely tokens of the list.
    prompts = [torch.tensor([[1, *chosen.ids[first : first + 12 : 3].tolist()]]) for first in (40, 900)]

    def generate(**how):
        return [
            target.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=options.new_tokens,
                            do_sample=False, pad_token_id=2, **how)[0].tolist()
            for prompt in prompts
        ]

    with torch.no_grad():
        alone, alone_s = timed(generate)
        unpruned, unpruned_s = timed(lambda: generate(assistant_model=assistant))
        manager = shortlist.VocabularyManager(chosen, top=1024, dynamic_capacity=512)
        assistant.lm_head = PrunedHead(assistant.lm_head.weight, manager)
        watch(assistant, manager)
        pruned, pruned_s = timed(lambda: generate(assistant_model=assistant))

    assert pruned == unpruned, "the texts differ"
    num_tokens = sum(len(output) - prompt.shape[1] for output, prompt in zip(pruned, prompts))
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {num_tokens} tokens of {len(prompts)} prompts: "
          f"same greedy text as with the unpruned assistant{' and without one' if alone == pruned else ''}")
    print(f"{'':28s} {'tokens/s':>9s} {'rows scored':>12s}")
    print(f"{'target alone':28s} {num_tokens / alone_s:9.1f} {'-':>12s}")
    print(f"{'assistant':28s} {num_tokens / unpruned_s:9.1f} {16_384:12d}")
    print(f"{'assistant, pruned head':28s} {num_tokens / pruned_s:9.1f} {len(manager.active()):12d}")


if __name__ == "__main__":
    main()
