"""Makes tests/reference/golden/encoders/*.json: transformers' hidden states for tiny encoders of every architecture.

Run with a Python that has numpy, torch and transformers:
    ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 python tests/reference/make_encoder_golden.py
Weights are not stored: both sides compute them from the tensor's name (see `weights` in tiny_models.py and
GoldenWeights in tests/model/model_fixture.h). A case holds config.json's contents, the shapes of the tensors, and
sequences: their ids and token types, and the hidden states after the last layer. Each sequence is run alone in f32.
"""

import json

import torch
from tiny_models import GOLDEN_DIR, weights, write_json
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
)

VOCAB_SIZE, CONTEXT_LEN = 97, 30

BERT = dict(
    vocab_size=VOCAB_SIZE,
    hidden_size=36,
    intermediate_size=56,
    num_hidden_layers=2,
    num_attention_heads=3,
    max_position_embeddings=CONTEXT_LEN,
    type_vocab_size=2,
    num_labels=1,
)
DISTILBERT = dict(
    vocab_size=VOCAB_SIZE,
    dim=36,
    hidden_dim=56,
    n_layers=2,
    n_heads=3,
    max_position_embeddings=CONTEXT_LEN,
    num_labels=1,
)
# Rows for the padding id and those below it precede the first position.
ROBERTA = dict(
    BERT, max_position_embeddings=CONTEXT_LEN + 2, pad_token_id=1, type_vocab_size=1,
    layer_norm_eps=1e-5,
)
# Layers 0 and 3 are global; the others see three tokens to either side.
MODERN = dict(
    vocab_size=VOCAB_SIZE,
    hidden_size=32,
    intermediate_size=40,
    num_hidden_layers=5,
    num_attention_heads=2,
    max_position_embeddings=CONTEXT_LEN,
    global_attn_every_n_layers=3,
    local_attention=6,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    cls_token_id=1,
    sep_token_id=2,
    num_labels=1,
)

# name: (model type, kind of model, overrides, the architecture's name if it differs)
CASES = {
    "bert": ("bert", AutoModel, BERT, None),
    "contriever": ("bert", AutoModel, BERT | dict(num_attention_heads=2), "Contriever"),
    "bert_classification": (
        "bert", AutoModelForSequenceClassification, BERT | dict(hidden_act="gelu_new"), None),
    "bert_masked_lm": ("bert", AutoModelForMaskedLM, BERT | dict(num_hidden_layers=3), None),
    "distilbert": ("distilbert", AutoModel, DISTILBERT, None),
    "distilbert_classification": (
        "distilbert", AutoModelForSequenceClassification, DISTILBERT | dict(n_heads=2), None),
    "roberta": ("roberta", AutoModel, ROBERTA, None),
    "xlm_roberta": ("xlm-roberta", AutoModel, ROBERTA, None),
    "xlm_roberta_classification": (
        "xlm-roberta", AutoModelForSequenceClassification, ROBERTA, None),
    "modernbert": ("modernbert", AutoModel, MODERN, None),
    "modernbert_classification": (
        "modernbert",
        AutoModelForSequenceClassification,
        MODERN | dict(norm_bias=True, local_attention=9, num_attention_heads=4),
        None,
    ),
}


def sequences(num_token_types, pad):
    """Yields sequences of length 1, some and the longest; without padding ids. For RoBERTa (`pad` is its padding id,
    else None), which skips padding when it counts positions, one sequence contains padding."""
    for length in (1, 2, 17, CONTEXT_LEN):
        ids = [3 + (11 * i * i + 5 * i + length) % (VOCAB_SIZE - 3) for i in range(length)]
        types = [int(num_token_types > 1 and 3 * i > length) for i in range(length)]
        yield ids, types
    if pad is not None:
        yield [pad, 5, pad, pad, 9, 30, pad], [0] * 7


def make_case(name, model_type, kind, fields, architecture):
    config = AutoConfig.for_model(model_type, **fields)
    config.dtype = torch.float32
    model = kind.from_config(config, attn_implementation="eager").eval()
    config.architectures = [architecture or type(model).__name__]
    shapes = {}
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            shapes[key] = list(parameter.shape)
            parameter.copy_(torch.from_numpy(weights(key, shapes[key])))
    cases = []
    pad = fields["pad_token_id"] if "roberta" in model_type else None
    for ids, types in sequences(fields.get("type_vocab_size", 0), pad):
        inputs = dict(input_ids=torch.tensor([ids]))
        if "type_vocab_size" in fields:
            inputs["token_type_ids"] = torch.tensor([types])
        with torch.no_grad():
            hidden = model.base_model(**inputs).last_hidden_state[0]
        rows = [[float(f"{value:.7g}") for value in row] for row in hidden.tolist()]
        cases.append(dict(token_ids=ids, token_type_ids=types, hidden=rows))

    stored = json.loads(config.to_json_string(use_diff=False))
    stored.pop("transformers_version", None)
    path = GOLDEN_DIR / "encoders" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    write_json(path, dict(config=stored, tensors=shapes, sequences=cases), separators=(",", ":"))
    print(f"{name}: {path.stat().st_size} bytes, {stored['architectures'][0]}, {len(shapes)} tensors")


if __name__ == "__main__":
    for case, parts in CASES.items():
        make_case(case, *parts)
