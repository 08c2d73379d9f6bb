"""Makes tests/reference/golden/inputs.json and functions.json: how sentence-transformers reads the files of a tiny
BERT.

Run with a Python that has torch, transformers 5.24 and sentence-transformers 6.2.
inputs.json     inputs of texts that are too long and of pairs, by settings of sides, lengths and token types.
                [{"name", "files": {path: contents}, "truncation": tokenizer.json's member, "text", "second" (for a
                CrossEncoder), "ids", "types" (null: the model gets none)}]
functions.json  the function that a CrossEncoder applies to logits. [{"name", "files", "function": "raw" or "sigmoid"}]
"""

import json
import tempfile
from pathlib import Path

from sentence_transformers import CrossEncoder, SentenceTransformer
from tiny_models import GOLDEN_DIR, write_json
from transformers import BertConfig, BertForSequenceClassification, BertModel

TEXT = "a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4"
MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]
POOLING = {"word_embedding_dimension": 36, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
CROSS_ENCODER = {"modules.json": MODULES[:1], "config_sentence_transformers.json": {"model_type": "CrossEncoder"}}
SENTENCE, TOKENIZER, MODEL = "sentence_bert_config.json", "tokenizer_config.json", "config.json"
LEFT = {"direction": "Left", "max_length": 6, "strategy": "OnlyFirst", "stride": 3}


def cut(direction="Left", **others):
    return {"direction": direction, "max_length": 512, "strategy": "LongestFirst", "stride": 0} | others


def bert(**fields):
    return {TOKENIZER: {"tokenizer_class": "BertTokenizer", **fields}}


LENGTH = {SENTENCE: {"max_seq_length": 8}}
EMBED = [  # name, files, truncation
    ("nothing", bert(), None),
    ("json_left", bert() | LENGTH, cut()),
    ("json_right", bert() | LENGTH, cut("Right")),
    ("json_left_bounds_nothing", bert(model_max_length=9), LEFT),
    ("json_left_without_config", LENGTH, cut()),
    ("config_before_json", bert(truncation_side="right") | LENGTH, cut()),
    ("config_left", bert(truncation_side="left") | LENGTH, cut("Right")),
    ("tokenizer_args", bert() | {SENTENCE: {"max_seq_length": 8, "tokenizer_args": {"truncation_side": "left"}}}, None),
    (
        "processor_kwargs_before_all",
        bert(truncation_side="left") | {SENTENCE: {"processor_kwargs": {"truncation_side": "right", "padding_side": "left"}}},
        cut(),
    ),
    (
        "older_name_in_place_of_newer",
        bert()
        | {SENTENCE: {"processor_kwargs": {"truncation_side": "right"}, "tokenizer_args": {"truncation_side": "left"}}},
        None,
    ),
    (
        "model_max_length_before_max_seq_length",
        bert() | {SENTENCE: {"max_seq_length": 20, "processor_kwargs": {"model_max_length": 7}}},
        None,
    ),
    ("max_len", bert(max_len=7), None),
    ("model_max_length_before_max_len", bert(max_len=7, model_max_length=9), None),
    (
        "length_of_the_call",
        bert() | {SENTENCE: {"max_seq_length": 20, "processing_kwargs": {"text": {"max_length": 6}}}},
        None,
    ),
]


def named(name, **fields):
    return {TOKENIZER: {"tokenizer_class": name, "pad_token": "[PAD]", **fields}}


TYPES = [
    ("bert", named("BertTokenizer")),
    ("bert_fast", named("BertTokenizerFast")),
    ("electra_fast", named("ElectraTokenizerFast")),
    ("fast", named("PreTrainedTokenizerFast")),
    ("slow", named("PreTrainedTokenizer")),
    ("backend", named("TokenizersBackend")),
    ("unknown", named("OurOwnTokenizer")),
    ("distilbert", named("DistilBertTokenizer")),
    ("no_class", {TOKENIZER: {}}),
    ("no_tokenizer_config", {}),
    ("class_of_the_model", {TOKENIZER: {"pad_token": "[PAD]"}, MODEL: {"tokenizer_class": "PreTrainedTokenizerFast"}}),
    ("own_class_before_the_models", named("BertTokenizer") | {MODEL: {"tokenizer_class": "PreTrainedTokenizerFast"}}),
    ("names_without", named("BertTokenizer", model_input_names=["input_ids", "attention_mask"])),
    ("names_with", named("PreTrainedTokenizerFast", model_input_names=["input_ids", "token_type_ids"])),
    (
        "names_of_the_processor",
        named("BertTokenizer") | CROSS_ENCODER | {SENTENCE: {"processor_kwargs": {"model_input_names": ["input_ids"]}}},
    ),
]
PAIR_FILES = [
    ("modules_length", bert() | CROSS_ENCODER | LENGTH, cut()),
    ("no_modules_no_length", bert() | LENGTH, None),
    ("no_modules_model_max_length", bert(model_max_length=11) | LENGTH, cut()),
]

IDENTITY, SIGMOID = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
SAVED = "config_sentence_transformers.json"


def model(**fields):
    return {MODEL: fields}


FUNCTIONS = [
    ("nothing", {}),
    ("regression", model(problem_type="regression")),
    ("multi_label", model(problem_type="multi_label_classification")),
    ("of_config", model(sentence_transformers={"activation_fn": IDENTITY, "version": "4.0.1"})),
    ("of_config_null", model(sentence_transformers={"activation_fn": None}, sbert_ce_default_activation_function=IDENTITY)),
    ("of_config_without_function", model(sentence_transformers={"version": "4.0.1"})),
    ("older_name", model(sbert_ce_default_activation_function=IDENTITY)),
    ("older_name_short", model(sbert_ce_default_activation_function="torch.nn.Identity")),
    (
        "newer_before_older",
        model(sentence_transformers={"activation_fn": SIGMOID}, sbert_ce_default_activation_function=IDENTITY),
    ),
    ("saved_without_modules", {SAVED: {"model_type": "CrossEncoder", "activation_fn": IDENTITY}}),
    ("saved", CROSS_ENCODER | {SAVED: {"model_type": "CrossEncoder", "activation_fn": IDENTITY}}),
    (
        "saved_before_config",
        CROSS_ENCODER
        | {SAVED: {"model_type": "CrossEncoder", "activation_fn": SIGMOID}}
        | model(sentence_transformers={"activation_fn": IDENTITY}),
    ),
    ("saved_null", CROSS_ENCODER | {SAVED: {"model_type": "CrossEncoder", "activation_fn": None}}),
    ("saved_without_type", CROSS_ENCODER | {SAVED: {"activation_fn": IDENTITY}}),
]


def make_dir(root, model, files, truncation):
    model.save_pretrained(root)
    tokenizer = json.loads((GOLDEN_DIR / "tokenizers" / "bert.json").read_text())["tokenizer"]
    files = {"tokenizer.json": tokenizer | {"truncation": truncation}} | files
    for name, contents in files.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        if name == MODEL:
            contents = json.loads(path.read_text()) | contents
        path.write_text(json.dumps(contents))


def tiny_bert():
    return BertConfig(
        vocab_size=len(json.loads((GOLDEN_DIR / "tokenizers" / "bert.json").read_text())["tokenizer"]["model"]["vocab"]),
        hidden_size=36,
        intermediate_size=56,
        num_hidden_layers=1,
        num_attention_heads=3,
        max_position_embeddings=30,
        num_labels=1,
    )


def run_function(name, files):
    with tempfile.TemporaryDirectory() as folder:
        make_dir(Path(folder), BertForSequenceClassification(tiny_bert()), bert() | files, None)
        function = CrossEncoder(folder, device="cpu").activation_fn
    names = {"Identity": "raw", "Sigmoid": "sigmoid"}
    return {"name": name, "files": files, "function": names[type(function).__name__]}


def run(name, files, truncation, second):
    if second is None:
        files = {"modules.json": MODULES, "1_Pooling/config.json": POOLING} | files
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_dir(root, (BertModel if second is None else BertForSequenceClassification)(tiny_bert()), files, truncation)
        loaded = (SentenceTransformer if second is None else CrossEncoder)(folder, device="cpu")
        features = loaded[0].preprocess([TEXT if second is None else (TEXT, second)])
    types = features.get("token_type_ids")
    return {
        "name": name,
        "files": files,
        "truncation": truncation,
        "text": TEXT,
        "second": second,
        "ids": features["input_ids"][0].tolist(),
        "types": None if types is None else types[0].tolist(),
    }


if __name__ == "__main__":
    cases = [run(*case, None) for case in EMBED]
    cases += [run(name, files, None, "x y z") for name, files in TYPES]
    cases += [run(*case, "x y z") for case in PAIR_FILES]
    write_json(GOLDEN_DIR / "inputs.json", cases, separators=(",", ":"))
    functions = [run_function(*case) for case in FUNCTIONS]
    write_json(GOLDEN_DIR / "functions.json", functions, separators=(",", ":"))
    for case in functions:
        print(case["name"], case["function"])
    for case in cases:
        print(case["name"], len(case["ids"]), case["ids"][1:4], case["types"] and sum(case["types"]))
