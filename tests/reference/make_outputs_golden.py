"""Makes tests/reference/golden/outputs/: results of transformers, sentence-transformers and FlagEmbedding's formulae
for texts with tiny random models, from text to result.

Run with a Python that has torch, transformers 5.24 and sentence-transformers 6.2; on processors with AMX, with
ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16.

Each directory is a whole model with a golden.json.
bge_m3                    {"texts": [{"text", "ids", "dense", "sparse": [[id, weight]], "multi_vector"}], "scores": MaxSim of
                          each text as a query (row) for each as a document}. FlagEmbedding 1.4.2 is restated: its M3Embedder
                          (inference/embedder/encoder_only/m3.py) and EncoderOnlyEmbedderM3ModelForInference.
splade_*                  {"texts": [{"text", "ids", "sparse"}]}
classifier_*              {"function", "labels", "texts": [{"text", "ids", "logits", "scores"}]}
heads_36                  layers alone
zero_shot                 transformers' pipeline: {"labels", "text", "candidates", "template", "logits", "one", "several"};
                          rules.json: {"templates": [{"template", "text" or null}], "orders" of labels: [{"labels", "logits",
                          "one", "several"}]}
"""

import json
import shutil
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from make_embed_golden import HIDDEN, TINY, VOCAB, randomise
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling
from tiny_models import GOLDEN_DIR, fresh_dir, save_model, tiny_config, write_json
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForSequenceClassification,
    Qwen3Config,
    Qwen3ForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
    XLMRobertaModel,
    ZeroShotClassificationPipeline,
    pipeline,
)
from transformers.pipelines.zero_shot_classification import ZeroShotClassificationArgumentHandler

LETTERS = [chr(97 + i) for i in range(26)]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", *LETTERS, "<mask>"]
TEXTS = ["a", "b c a c c b", "d e f g h i j k l m", "z ?? y ?? z x w v u t s", "q"]
assert len(BERT) == len(ROBERTA) == VOCAB


def save_tokenizer(directory, words, **names):
    """Saves a tokenizer of words between blanks, with BERT's or RoBERTa's tokens around a text, or none."""
    ids = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=names.get("unk_token", words[0])))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if names:
        cls, sep = names["cls_token"], names["sep_token"]
        middle = f"{sep} $B:1 {sep}:1" if cls == "[CLS]" else f"{sep} {sep} $B {sep}"
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{cls} $A {sep}", pair=f"{cls} $A {middle}", special_tokens=[(t, ids[t]) for t in (cls, sep)]
        )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(directory)


def save_bert_tokenizer(directory):
    save_tokenizer(directory, BERT, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]",
                   mask_token="[MASK]")


def save_roberta_tokenizer(directory):
    save_tokenizer(directory, ROBERTA, unk_token="<unk>", cls_token="<s>", sep_token="</s>", pad_token="<pad>",
                   bos_token="<s>", eos_token="</s>", mask_token="<mask>")


def rounded(tensor):
    return json.loads(json.dumps(tensor.tolist()), parse_float=lambda text: round(float(text), 7))


def pairs(weights):
    """Returns [[id, weight]] of {id: weight}, in the order of ids."""
    return [[i, round(float(weights[i]), 7)] for i in sorted(weights)]


@torch.no_grad()
def make_bge_m3():
    directory = fresh_dir("outputs", "bge_m3")
    model = randomise(XLMRobertaModel(XLMRobertaConfig(**TINY, pad_token_id=1), add_pooling_layer=False))
    save_model(model, directory)
    save_roberta_tokenizer(directory)
    sparse_linear, colbert_linear = torch.nn.Linear(HIDDEN, 1), torch.nn.Linear(HIDDEN, 8)
    torch.save(sparse_linear.state_dict(), directory / "sparse_linear.pt")
    torch.save(colbert_linear.half().state_dict(), directory / "colbert_linear.pt")  # some checkpoints store it so
    colbert_linear.float()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    special = [tokenizer.special_tokens_map[f"{name}_token"] for name in ("cls", "eos", "pad", "unk")]
    unused = {tokenizer.convert_tokens_to_ids(token) for token in special}
    entries, vectors = [], []
    for text in TEXTS:
        ids = tokenizer(text)["input_ids"]
        hidden = model(torch.tensor([ids])).last_hidden_state
        weights = {}
        for w, i in zip(torch.relu(sparse_linear(hidden))[0, :, 0].tolist(), ids):
            if i not in unused and w > 0:
                weights[i] = max(w, weights.get(i, 0))
        vectors.append(F.normalize(colbert_linear(hidden[:, 1:]), dim=-1)[0])
        entries.append(dict(text=text, ids=ids, dense=rounded(F.normalize(hidden[0, 0], dim=-1)), sparse=pairs(weights),
                            multi_vector=rounded(vectors[-1])))
    scores = [[float(torch.einsum("in,jn->ij", q, p).max(-1)[0].sum() / q.size(0)) for p in vectors] for q in vectors]
    write_json(directory / "golden.json", dict(texts=entries, scores=rounded(torch.tensor(scores))))


def make_heads():
    """Makes heads for tests/support/tiny_encoder.py and TinyEncoder, whose states have 36 values."""
    directory = fresh_dir("outputs", "heads_36")
    torch.save(torch.nn.Linear(36, 1).state_dict(), directory / "sparse_linear.pt")
    torch.save(torch.nn.Linear(36, 8).state_dict(), directory / "colbert_linear.pt")


def splade_entries(encode, tokenizer):
    entries = []
    for text in TEXTS:
        dense = encode(text)
        entries.append(dict(text=text, ids=tokenizer(text)["input_ids"],
                            sparse=pairs({int(i): dense[i] for i in dense.nonzero()[:, 0]})))
    return dict(texts=entries)


@torch.no_grad()
def make_splade(name, model, save_tokenizer_to):
    """Makes a published checkpoint without modules.json: Naver's formula, max over positions of log(1 +
    relu(logits))."""
    directory = fresh_dir("outputs", name)
    save_model(randomise(model), directory)
    save_tokenizer_to(directory)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    encode = lambda text: model(**tokenizer(text, return_tensors="pt")).logits.relu().log1p().max(dim=1)[0][0]  # noqa: E731
    write_json(directory / "golden.json", splade_entries(encode, tokenizer))
    return directory


def make_sparse_encoder():
    """Makes sentence-transformers' own directory of a sparse encoder."""
    directory = fresh_dir("outputs", "splade_sentence_transformers")
    source = make_splade("source", BertForMaskedLM(BertConfig(**TINY)), save_bert_tokenizer)
    transformer = Transformer(str(source), transformer_task="fill-mask")
    model = SparseEncoder(modules=[transformer, SpladePooling("max")], device="cpu").eval()
    model.save(str(directory), create_model_card=False)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    encode = lambda text: model.encode(text, convert_to_sparse_tensor=False)  # noqa: E731
    write_json(directory / "golden.json", splade_entries(encode, tokenizer))
    shutil.rmtree(source)


@torch.no_grad()
def make_classifier(name, model, save_tokenizer_to, function):
    directory = fresh_dir("outputs", f"classifier_{name}")
    save_model(randomise(model), directory)
    save_tokenizer_to(directory)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    functions = {"raw": lambda x: x, "sigmoid": torch.sigmoid, "softmax": lambda x: x.softmax(-1)}
    entries = []
    for text in TEXTS:
        ids = tokenizer(text)["input_ids"]
        logits = model(torch.tensor([ids])).logits[0]
        entries.append(dict(text=text, ids=ids, logits=rounded(logits), scores=rounded(functions[function](logits))))
    labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
    write_json(directory / "golden.json", dict(function=function, labels=labels, texts=entries))
    return directory


@torch.no_grad()
def make_zero_shot():
    labels = {0: "contradiction", 1: "neutral", 2: "entailment"}
    config = BertConfig(**TINY, id2label=labels, label2id={label: i for i, label in labels.items()})
    model = BertForSequenceClassification(config)
    directory = make_classifier("nli", model, save_bert_tokenizer, "softmax")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    judge = pipeline("zero-shot-classification", model=model, tokenizer=tokenizer, device="cpu")
    text, candidates, template = "a b c d e", ["x y", "z", "k l m"], "s t {} u"
    ids = [tokenizer(text, template.format(label), return_tensors="pt") for label in candidates]
    golden = dict(labels=list(labels.values()), text=text, candidates=candidates, template=template,
                  logits=[rounded(model(**i).logits[0]) for i in ids])
    for name, several in [("one", False), ("several", True)]:
        result = judge(text, candidates, hypothesis_template=template, multi_label=several)
        scores = dict(zip(result["labels"], result["scores"]))
        golden[name] = [round(scores[label], 7) for label in candidates]
    write_json(fresh_dir("outputs", "zero_shot") / "golden.json", golden)


TEMPLATES = ["it is {}.", "{}", "it is {0}, or not", "{{{}}}", "a }}{}{{ b", "{{}} {}", "none", "{{}}", "{} or {}",
             "{0} or {0}", "{} or {0}", "{1}", "{label}", "{!r}", "{:>9}", "{", "}", "{} {", "a } b {}", "{0"]
# Accepted by the pipeline, rejected by this project: no place for the label, two places, or a format for it.
REFUSED = ["{{}}", "{0} or {0}", "{!r}", "{:>9}"]
LABELS = [["contradiction", "neutral", "entailment"], ["entailment", "contradiction", "neutral"],
          ["neutral", "ENTAILMENT", "Contradiction"], ["not_entailment", "entailment"], ["Entailed", "not_entailment"]]


def make_zero_shot_rules():
    """Runs the pipeline's own code without a model: how it reads templates, and which labels it compares."""
    templates = []
    for template in TEMPLATES:
        try:
            text = ZeroShotClassificationArgumentHandler()("text", ["label"], template)[0][0][1]
        except (ValueError, IndexError, KeyError):
            text = None
        templates.append(dict(template=template, text=text, refused_here=text is None or template in REFUSED))
    orders = []
    for labels in LABELS:
        config = SimpleNamespace(label2id={label: i for i, label in enumerate(labels)})
        judge = SimpleNamespace(model=SimpleNamespace(config=config))
        judge.entailment_id = ZeroShotClassificationPipeline.entailment_id.fget(judge)
        logits = [[0.5, -1.25, 2.0][: len(labels)], [-0.75, 0.25, 1.0][: len(labels)]]
        outputs = [dict(candidate_label=c, sequence="text", logits=torch.tensor([row])) for c, row in zip("xy", logits)]
        order = dict(labels=labels, logits=logits)
        for name, several in [("one", False), ("several", True)]:
            result = ZeroShotClassificationPipeline.postprocess(judge, outputs, multi_label=several)
            scores = dict(zip(result["labels"], result["scores"]))
            order[name] = [round(scores[label], 7) for label in "xy"]
        orders.append(order)
    write_json(GOLDEN_DIR / "outputs" / "zero_shot" / "rules.json", dict(templates=templates, orders=orders))


if __name__ == "__main__":
    torch.manual_seed(0)
    make_bge_m3()
    make_splade("splade_bert", BertForMaskedLM(BertConfig(**TINY)), save_bert_tokenizer)
    roberta = TINY | dict(pad_token_id=1, bos_token_id=0, eos_token_id=2)
    # The head's activation is the exact GELU all the same.
    other_act = XLMRobertaConfig(**roberta, hidden_act="gelu_new")
    make_splade("splade_roberta", XLMRobertaForMaskedLM(other_act), save_roberta_tokenizer)
    make_sparse_encoder()
    topics = dict(id2label={0: "joy", 1: "anger", 2: "none"}, problem_type="multi_label_classification")
    make_classifier("roberta", RobertaForSequenceClassification(RobertaConfig(**roberta, **topics)), save_roberta_tokenizer,
                    "sigmoid")
    make_zero_shot()
    make_zero_shot_rules()
    words = lambda directory: save_tokenizer(directory, BERT)  # noqa: E731
    decoder = tiny_config(vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=1, intermediate_size=HIDDEN,
                          num_attention_heads=2, num_key_value_heads=1, initializer_range=0.5, pad_token_id=0)
    make_classifier("llama", LlamaForSequenceClassification(LlamaConfig(**decoder, num_labels=1)), words,
                    "sigmoid")
    make_classifier("qwen2", Qwen2ForSequenceClassification(Qwen2Config(**decoder, num_labels=3)), words, "softmax")
    make_classifier("qwen3", Qwen3ForSequenceClassification(
        Qwen3Config(**decoder, head_dim=8, num_labels=2, problem_type="regression")), words, "raw")
    make_heads()
    distilled = dict(vocab_size=VOCAB, dim=HIDDEN, hidden_dim=HIDDEN, n_layers=1, n_heads=2, initializer_range=0.5,
                     max_position_embeddings=40)
    make_splade("splade_distilbert", DistilBertForMaskedLM(DistilBertConfig(**distilled)), save_bert_tokenizer)
    make_classifier("distilbert", DistilBertForSequenceClassification(DistilBertConfig(**distilled, num_labels=2)),
                    save_bert_tokenizer, "softmax")
    # A decoder without tied weights has a bias of its own, which counts.
    make_splade("splade_untied", BertForMaskedLM(BertConfig(**TINY, tie_word_embeddings=False)), save_bert_tokenizer)
