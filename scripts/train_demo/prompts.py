"""Held-out prompts for bench/demo: beginnings of documents that no training stage has seen, and Spec-Bench questions."""

import json

import numpy as np

import corpora

PROMPT_TOKENS = 64
ANSWER = "\nAnswer:"


def _held_out_text(work, tokenizer, source, count, draw):
    file = corpora.load_tokens(work, source, "held_out")
    order = draw.permutation(len(file))
    taken = []
    for index in order:
        document = file[index]
        if source == "arithmetic":
            text = tokenizer.decode(document.tolist())
            if ANSWER in text:
                taken.append(text.split(ANSWER)[0] + ANSWER)
        elif len(document) >= 3 * PROMPT_TOKENS:
            taken.append(tokenizer.decode(document[:PROMPT_TOKENS].tolist()))
        if len(taken) == count:
            break
    return taken


def _spec_bench(path, count):
    """The same number of questions from every category, as far as `count` goes."""
    by_category = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        by_category.setdefault(row["category"], []).append(row["turns"][0])
    taken, depth = [], 0
    while len(taken) < count:
        taken += [questions[depth] for questions in by_category.values() if depth < len(questions)]
        depth += 1
    return taken[:count]


def write_prompts(out, work, tokenizer, spec_bench, per_source, seed):
    draw = np.random.default_rng((seed, 5))
    with out.open("w") as file:
        for source in ("documentation", "stories", "arithmetic"):
            for text in _held_out_text(work, tokenizer, source, per_source, draw):
                file.write(json.dumps({"source": source, "prompt": text}, ensure_ascii=False) + "\n")
        for text in _spec_bench(spec_bench, per_source):
            file.write(json.dumps({"source": "Spec-Bench", "prompt": text}, ensure_ascii=False) + "\n")
