"""Makes tests/reference/golden/embed/: results of transformers and sentence-transformers for hidden states.

Run with a Python that has torch, transformers 5.23 and sentence-transformers 6.2; on processors with AMX, with
ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16.

classifier/<name>/     a tiny random sequence classifier; golden.safetensors: input_ids, seq_begin, hidden (last hidden
                       states, flat), logits, sigmoid, softmax
vectors/<name>/        a sentence-transformers directory without its transformer's weights; golden.safetensors: hidden,
                       seq_begin, vectors, vectors_3 (3 dimensions, normalised anew); settings.json: as it is loaded
"""

import json
import shutil

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tiny_models import fresh_dir, save_model, write_json
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BertTokenizer,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)

HIDDEN, VOCAB = 16, 31
LENGTHS = [1, 5, 2, 12]
PROMPT_LENGTH = 1
LEGACY_FLAGS = {
    "cls": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}

TINY = dict(
    vocab_size=VOCAB,
    hidden_size=HIDDEN,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=HIDDEN,
    max_position_embeddings=40,
    initializer_range=0.5,
)


def seq_begin():
    return torch.tensor([0, *LENGTHS]).cumsum(0).to(torch.int32)


def randomise(model):
    """Randomises biases and norms, which are zero and one in a new model and would hide a mistake."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return model.eval()


@torch.no_grad()
def make_classifier(name, model):
    directory = fresh_dir("embed", "classifier", name)
    save_model(randomise(model), directory)
    ids = [torch.randint(4, VOCAB, (1, length)) for length in LENGTHS]
    hidden = [model.base_model(i).last_hidden_state[0] for i in ids]
    logits = torch.cat([model(i).logits for i in ids])
    save_file(
        dict(
            input_ids=torch.cat(ids, dim=1)[0].to(torch.int32),
            seq_begin=seq_begin(),
            hidden=torch.cat(hidden),
            logits=logits,
            sigmoid=logits.sigmoid(),
            softmax=logits.softmax(dim=-1),
        ),
        directory / "golden.safetensors",
    )


def make_transformer(directory):
    """Makes a BERT that is never run: hidden states are random."""
    source = directory / "source"
    BertModel(BertConfig(**TINY)).save_pretrained(source)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(97, 123))]
    (source / "vocab.txt").write_text("\n".join(words))
    BertTokenizer(str(source / "vocab.txt")).save_pretrained(source)
    return Transformer(str(source), max_seq_length=20)


def make_legacy(directory):
    """Rewrites the files in the format of versions 2 and 3."""
    modules = json.loads((directory / "modules.json").read_text())
    for module in modules:
        module["type"] = "sentence_transformers.models." + module["type"].split(".")[-1]
    write_json(directory / "modules.json", modules, indent=2)
    path = directory / "1_Pooling" / "config.json"
    pooling = json.loads(path.read_text())
    flags = {flag: mode == pooling["pooling_mode"] for mode, flag in LEGACY_FLAGS.items()}
    write_json(path, {"word_embedding_dimension": pooling["embedding_dimension"]} | flags, indent=2)
    write_json(directory / "sentence_bert_config.json", dict(max_seq_length=18, do_lower_case=False), indent=2)


def settings_of(model):
    pooling = next(module for module in model if isinstance(module, Pooling))
    return dict(
        pooling=pooling.pooling_mode,
        hidden=pooling.embedding_dimension,
        include_prompt=pooling.include_prompt,
        dense=[
            dict(
                in_features=m.in_features,
                out_features=m.out_features,
                bias=m.bias,
                activation=type(m.activation_function).__name__,
            )
            for m in model
            if isinstance(m, Dense)
        ],
        normalize=any(isinstance(module, Normalize) for module in model),
        max_seq_len=model.max_seq_length,
        prompts=model.prompts,
        default_prompt_name=model.default_prompt_name,
        similarity=model.similarity_fn_name,
    )


def run_modules(model, hidden):
    """Applies the modules after the transformer to padded hidden states."""
    padded = torch.nn.utils.rnn.pad_sequence(hidden, batch_first=True)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(h), dtype=torch.int64) for h in hidden], batch_first=True)
    features = dict(token_embeddings=padded, attention_mask=mask, prompt_length=PROMPT_LENGTH)
    for module in list(model)[1:]:
        features = module(features)
    return features["sentence_embedding"]


@torch.no_grad()
def make_vectors(name, modules, legacy=False, safetensors=True, lengths=LENGTHS, **options):
    directory = fresh_dir("embed", "vectors", name)
    model = SentenceTransformer(modules=[make_transformer(directory), *modules], device="cpu", **options)
    model.save(str(directory), create_model_card=False, safe_serialization=safetensors)
    shutil.rmtree(directory / "source")
    if legacy:
        make_legacy(directory)
    loaded = SentenceTransformer(str(directory), device="cpu").eval()
    hidden = [torch.randn(length, HIDDEN) for length in lengths]
    vectors = run_modules(loaded, hidden)
    write_json(directory / "settings.json", settings_of(loaded), indent=2)
    save_file(
        dict(
            hidden=torch.cat(hidden),
            seq_begin=torch.tensor([0, *lengths]).cumsum(0).to(torch.int32),
            vectors=vectors,
            vectors_3=F.normalize(vectors[:, :3]),
        ),
        directory / "golden.safetensors",
    )
    for unused in ("model.safetensors", "pytorch_model.bin", "tokenizer.json", "vocab.txt", "README.md"):
        (directory / unused).unlink(missing_ok=True)


if __name__ == "__main__":
    fresh_dir("embed")
    torch.manual_seed(0)
    make_classifier("bert", BertForSequenceClassification(BertConfig(**TINY, num_labels=1)))
    xlm_roberta = XLMRobertaConfig(**TINY, pad_token_id=1, num_labels=1)
    make_classifier("xlm_roberta", XLMRobertaForSequenceClassification(xlm_roberta))
    modern = TINY | dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    make_classifier("modernbert_cls", ModernBertForSequenceClassification(ModernBertConfig(**modern, id2label=labels)))
    make_classifier(
        "modernbert_mean",
        ModernBertForSequenceClassification(
            ModernBertConfig(
                **modern,
                num_labels=1,
                classifier_pooling="mean",
                classifier_bias=True,
                classifier_activation="gelu_new",
                norm_bias=True,
                norm_eps=1e-3,
            )
        ),
    )

    prompts = {"query": "query: ", "passage": "passage: "}
    make_vectors("mean", [Pooling(HIDDEN, "mean"), Normalize()], prompts=prompts, default_prompt_name="query")
    make_vectors(
        "cls_dense",
        [
            Pooling(HIDDEN, "cls"),
            Dense(HIDDEN, 24, activation_function=torch.nn.GELU()),
            Dense(24, 8, bias=False, activation_function=torch.nn.Identity()),
            Normalize(),
        ],
        similarity_fn_name="dot",
    )
    make_vectors("last_raw", [Pooling(HIDDEN, "lasttoken")], similarity_fn_name="euclidean")
    make_vectors("legacy_mean", [Pooling(HIDDEN, "mean"), Dense(HIDDEN, 8), Normalize()], legacy=True)
    make_vectors("legacy_cls", [Pooling(HIDDEN, "cls")], legacy=True)
    make_vectors(
        "without_prompt",
        [Pooling(HIDDEN, "mean", include_prompt=False), Normalize()],
        lengths=[2, 5, 3, 12],
        prompts=prompts,
    )
    make_vectors("torch_dense", [Pooling(HIDDEN, "mean"), Dense(HIDDEN, 8)], safetensors=False)
