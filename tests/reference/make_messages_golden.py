"""Makes tests/reference/golden/messages.json: how sentence-transformers reads texts and pairs that go through a chat
template, and those that do not.

Run with a Python that has torch, transformers 5.24 and sentence-transformers 6.2.
[{"name", "files": {path: contents}, "text", "second" (for a CrossEncoder), "prompt", "ids" (null: the pair is
rejected)}]
"""

import tempfile
from pathlib import Path

from make_inputs_golden import CROSS_ENCODER, MODULES, POOLING, SENTENCE, TEXT, bert, make_dir, tiny_bert
from sentence_transformers import CrossEncoder, SentenceTransformer
from tiny_models import GOLDEN_DIR, write_json
from transformers import BertForSequenceClassification, BertModel

FLAT = "{% for m in messages %}[CLS] {{ m.role }} : {{ m.content }} [SEP] {% endfor %}{% if add_generation_prompt %}z z{% endif %}"
TYPED = "{% for m in messages %}[CLS] {{ m.role }} : {% for c in m.content %}{% if c.type == 'text' %}{{ c.text }}{% endif %}{% endfor %} [SEP] {% endfor %}"
# A prompt follows the text.
LATE = "{% for m in messages if m.role != 'system' %}{{ m.content }} {% endfor %}[SEP] {% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %} w"
NO_END = "{% for m in messages %}{{ m.content }} {% endfor %}"
NOTHING = "[CLS] a b c [SEP]"
VARIABLES = "[CLS] {{ word }}{{ words | length }} {{ messages[0].content }} [SEP]"
# As in Qwen2.5 and many others, whose templates write nothing for a pair.
KNOWN_ROLES = "{% for m in messages %}{% if m.role in ['system', 'user'] %}{{ m.content }} [SEP] {% endif %}{% endfor %}"
QUERY_ALONE = "{% for m in messages if m.role != 'document' %}{{ m.content }} [SEP] {% endfor %}"
RAISES = "{% for m in messages %}{% if m.role not in ['system', 'user'] %}{{ raise_exception('no such role') }}{% endif %}{{ m.content }} {% endfor %}"


def modalities(output, format="flat", **others):
    text = {"method": "forward", "method_output_name": output}
    name = "scores" if output == "logits" else "token_embeddings"
    message = {"message": text | {"format": format}} if format else {}
    return {SENTENCE: {"modality_config": {"text": text} | message, "module_output_name": name, **others}}


def embedder(chat_template, format="flat", **others):
    return bert(chat_template=chat_template) | modalities("last_hidden_state", format, **others)


def classifier(chat_template, format="flat", **others):
    task = {"transformer_task": "sequence-classification"}
    return bert(chat_template=chat_template) | CROSS_ENCODER | modalities("logits", format, **task, **others)


def arguments(**values):
    return {"processing_kwargs": {"chat_template": values}}


def left(files):
    return files | {"tokenizer_config.json": files["tokenizer_config.json"] | {"truncation_side": "left"}}


NAMED = [{"name": "default", "template": FLAT}, {"name": "other", "template": NO_END}]
SHORT = "a b c"
CASES = [  # name, files, text, second, prompt
    ("text", embedder(FLAT), SHORT, None, None),
    ("empty_text", embedder(FLAT), "", None, None),
    ("prompt", embedder(FLAT), SHORT, None, "d e"),
    ("structured", embedder(TYPED, "structured"), SHORT, None, "d e"),
    ("structured_where_flat_is_read", embedder(FLAT, "structured"), SHORT, None, None),
    ("auto_flat", embedder(FLAT, "auto"), SHORT, None, None),
    ("auto_structured", embedder(TYPED, "auto"), SHORT, None, "d e"),
    ("auto_of_several_templates", embedder(NAMED, "auto"), SHORT, None, None),
    ("variables", embedder(VARIABLES, **arguments(word="x", words=[1, 2])), SHORT, None, None),
    ("generation_prompt", embedder(FLAT, **arguments(add_generation_prompt=True)), SHORT, None, None),
    ("cut", embedder(FLAT), TEXT, None, None),
    ("cut_to_a_length", embedder(FLAT, max_seq_length=12), TEXT, None, None),
    ("just_not_cut", embedder(FLAT, max_seq_length=9), SHORT, None, None),
    ("cut_into_the_end", embedder(FLAT, max_seq_length=8), SHORT, None, None),
    ("cut_left", left(embedder(FLAT, max_seq_length=12)), TEXT, None, None),
    ("cut_with_prompt", embedder(FLAT, max_seq_length=14), TEXT, None, "d e"),
    ("cut_with_a_late_prompt", embedder(LATE, max_seq_length=14), TEXT, None, "d e"),
    ("cut_to_less_than_the_end", embedder(LATE, max_seq_length=3), TEXT, None, "d e f g"),
    ("cut_without_an_end", embedder(NO_END, max_seq_length=9), TEXT, None, None),
    ("cut_without_the_text", embedder(NOTHING, max_seq_length=4), TEXT, None, None),
    ("cut_without_restoring", embedder(FLAT, max_seq_length=12, **arguments(restore_suffix=False)), TEXT, None, None),
    ("cut_structured", embedder(TYPED, "structured", max_seq_length=12), TEXT, None, "d e"),
    ("text_alone", embedder(FLAT, None), SHORT, None, "d e "),
    ("older_file", bert(chat_template=FLAT) | {SENTENCE: {"max_seq_length": 20}}, SHORT, None, None),
    ("pair", classifier(FLAT), SHORT, "x y", None),
    ("pair_prompt", classifier(FLAT), SHORT, "x y", "d e"),
    ("pair_structured", classifier(TYPED, "structured"), SHORT, "x y", "d e"),
    ("pair_cut", classifier(FLAT, max_seq_length=16), SHORT, TEXT, None),
    ("pair_text_alone", classifier(FLAT, None), SHORT, "x y", "d e "),
    ("pair_older_file", bert(chat_template=FLAT) | CROSS_ENCODER, SHORT, "x y", None),
    ("pair_without_files", bert(chat_template=FLAT), SHORT, "x y", "d e"),
    ("pair_without_files_structured", bert(chat_template=TYPED), SHORT, "x y", None),
    ("pair_without_files_cut", bert(chat_template=FLAT), SHORT, TEXT, None),
    ("pair_without_template", bert(), SHORT, "x y", None),
    ("pair_is_nothing", classifier(KNOWN_ROLES), SHORT, "x y", None),
    ("pair_is_its_query", classifier(QUERY_ALONE), SHORT, "x y", None),
    ("pair_is_refused", classifier(RAISES), SHORT, "x y", None),
    ("pair_without_files_is_nothing", bert(chat_template=KNOWN_ROLES), SHORT, "x y", None),
]


def run(name, files, text, second, prompt):
    if second is None:
        files = {"modules.json": MODULES, "1_Pooling/config.json": POOLING} | files
    with tempfile.TemporaryDirectory() as folder:
        make_dir(Path(folder), (BertModel if second is None else BertForSequenceClassification)(tiny_bert()), files, None)
        loaded = (SentenceTransformer if second is None else CrossEncoder)(folder, device="cpu")
        try:
            ids = loaded[0].preprocess([text if second is None else (text, second)], prompt=prompt)["input_ids"][0].tolist()
        except ValueError as error:
            assert "cannot carry" in str(error), error
            ids = None
    return {"name": name, "files": files, "text": text, "second": second, "prompt": prompt or "", "ids": ids}


if __name__ == "__main__":
    cases = [run(*case) for case in CASES]
    write_json(GOLDEN_DIR / "messages.json", cases, separators=(",", ":"))
    for case in cases:
        print(case["name"], case["ids"])
