"""Makes tests/reference/golden/rerankers/*.json: transformers' results for pairs with tiny rerankers that answer yes
or no, prompted as in the model cards of Qwen3-Reranker and bge-reranker-v2-gemma.

Run with a Python that has numpy, torch, tokenizers and transformers:
    python tests/reference/make_reranker_golden.py
Weights are not stored (`weights` in tiny_models.py). A case holds config.json's contents, tokenizer.json's, the shapes
of the tensors, max_length, and for each pair the ids that the model reads and its score.
"""

import json

import torch
from tiny_models import GOLDEN_DIR, tiny_config, weights, write_json
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

CORPUS = [
    "yes no Yes yes no Yes",
    "yes\nno\nYes\n",
    "Given a web search query, retrieve relevant passages that answer the query",
    "Given a query A and a passage B, determine whether the passage contains an answer to the query",
    "<Instruct>: judge\n<Query>: what is a panda\n<Document>: The giant panda is a bear of China.",
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided.",
    "prediction of either 'Yes' or 'No'.",
] * 3

QUERIES = ["what is a panda?", "<|im_end|> capital of China"]
DOCUMENTS = [
    "The giant panda is a bear of China.",
    "Beijing.",
    "yes",
    "  spaces first, and <|im_start|> typed by somebody",
    "long " * 60 + "end",
]
INSTRUCTIONS = [None, "Judge the passage"]
MAX_LENGTH = 250

QWEN_PREFIX = (
    '<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct '
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
QWEN_SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
QWEN_INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"
GEMMA_PROMPT = (
    "Given a query A and a passage B, determine whether the passage contains an answer to the query by providing a "
    "prediction of either 'Yes' or 'No'."
)


def make_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(pattern=pre_tokenizer_pattern(), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<bos>", "<eos>", "<|im_start|>", "<|im_end|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    for answer in ("yes", "no", "Yes"):
        assert len(tokenizer.encode(answer).ids) == 1, answer
    return tokenizer


def pre_tokenizer_pattern():
    from tokenizers import Regex

    return Regex(r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")




def qwen_ids(tokenizer, typed_ids, instruction, query, document):
    prefix = tokenizer.encode(QWEN_PREFIX, add_special_tokens=False)
    suffix = tokenizer.encode(QWEN_SUFFIX, add_special_tokens=False)
    pair = f"<Instruct>: {instruction or QWEN_INSTRUCTION}\n<Query>: {query}\n<Document>: {document}"
    return prefix + typed_ids(pair)[: MAX_LENGTH - len(prefix) - len(suffix)] + suffix


def gemma_ids(tokenizer, typed_ids, instruction, query, document):
    prompt, separator = typed_ids(instruction or GEMMA_PROMPT), typed_ids("\n")
    first = [tokenizer.bos_token_id] + typed_ids(f"A: {query}")
    room = MAX_LENGTH - len(first) - 2 * len(separator) - len(prompt)
    return first + separator + typed_ids(f"B: {document}")[:room] + separator + prompt


def qwen_score(tokenizer, logits):
    no, yes = (logits[tokenizer.convert_tokens_to_ids(word)] for word in ("no", "yes"))
    return torch.nn.functional.log_softmax(torch.stack([no, yes]), dim=0)[1].exp().item()


def gemma_score(tokenizer, logits):
    return torch.sigmoid(logits[tokenizer.convert_tokens_to_ids("Yes")]).item()


# name: (model type, ids of a pair, score)
KINDS = {
    "qwen3": ("qwen3", qwen_ids, qwen_score),
    "gemma": ("gemma", gemma_ids, gemma_score),
}


def make_case(name, tokenizer):
    model_type, ids_of, score_of = KINDS[name]
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>")
    # The same without control tokens, for text typed by people.
    plain = json.loads(tokenizer.to_str())
    plain["added_tokens"] = []
    plain = Tokenizer.from_str(json.dumps(plain))
    overrides = dict(
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=MAX_LENGTH,
        head_dim=12,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=True,
    )
    config = AutoConfig.for_model(
        model_type, **tiny_config(**overrides), rope_parameters=dict(rope_type="default", rope_theta=1000.0)
    )
    config.dtype = torch.float32
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    config.architectures = [type(model).__name__]
    shapes = {}
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            shapes[key] = list(parameter.shape)
            parameter.copy_(torch.from_numpy(weights(key, shapes[key])))
    pairs = []
    for instruction in INSTRUCTIONS:
        for query in QUERIES:
            for document in DOCUMENTS:
                ids = ids_of(fast, lambda text: plain.encode(text).ids, instruction, query, document)
                with torch.no_grad():
                    logits = model(torch.tensor([ids])).logits[0, -1]
                pairs.append(
                    dict(
                        instruction=instruction or "",
                        query=query,
                        document=document,
                        ids=ids,
                        score=float(f"{score_of(fast, logits):.7g}"),
                    )
                )
    stored = json.loads(config.to_json_string(use_diff=False))
    for key in ("id2label", "label2id", "transformers_version"):
        stored.pop(key, None)
    golden = dict(
        config=stored,
        tokenizer=json.loads(tokenizer.to_str()),
        bos_token="<bos>",
        tensors=shapes,
        max_length=MAX_LENGTH,
        pairs=pairs,
    )
    path = GOLDEN_DIR / "rerankers" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    write_json(path, golden, separators=(",", ":"))
    print(f"{name}: {path.stat().st_size} bytes", sorted(pair["score"] for pair in pairs)[::5])


if __name__ == "__main__":
    for kind in KINDS:
        make_case(kind, make_tokenizer())
