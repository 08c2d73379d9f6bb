"""lm-evaluation-harness with its defaults: local-completions, with this server as its tokenizer, and
local-chat-completions, over tasks in this folder."""

import json

import pytest
import requests
from processes import TOOLS, run_tool

pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="lm_eval could not be installed")

DOCS = [
    {"question": "A vector is", "choices": ["a sequence container", "green on Tuesdays"], "answer": 0},
    {"question": "Lists are usually implemented as", "choices": ["fish", "doubly-linked lists"], "answer": 1},
]

COMMON = {
    "dataset_path": "json",
    "test_split": "test",
    "doc_to_text": "{{question}}",
    "doc_to_target": "answer",
}
UNTIL = ["."]
TASKS = {
    "choose": {
        "output_type": "multiple_choice",
        "doc_to_choice": "choices",
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
    },
    "write": {
        "output_type": "generate_until",
        "generation_kwargs": {"until": UNTIL, "max_gen_toks": 24},
        "metric_list": [{"metric": "bypass"}],
    },
    "perplexity": {
        "output_type": "loglikelihood_rolling",
        "doc_to_text": "",
        "doc_to_target": "{{question}} {{choices[0]}}",
        "metric_list": [{"metric": "bits_per_byte"}],
    },
}


RUN = """
import json, sys
from lm_eval import simple_evaluate
from lm_eval.api.registry import get_model
from lm_eval.tasks import TaskManager

url, folder = sys.argv[1:]
manager = TaskManager(include_path=folder, include_defaults=False)

def run(name, path, tasks, **fields):
    model = get_model(name)(model="demo", base_url=url + path)
    done = simple_evaluate(model=model, tasks=tasks, task_manager=manager, log_samples=True, **fields)
    return {"tokenizer": model.tokenizer_backend} | {
        task: [row["resps"] for row in sorted(rows, key=lambda row: row["doc_id"])]
        for task, rows in done["samples"].items()}

completions = run("local-completions", "/v1/completions", ["choose", "write", "perplexity"])
chats = run("local-chat-completions", "/v1/chat/completions", ["write"], apply_chat_template=True)
print(json.dumps({"completions": completions, "chats": chats}))
"""


@pytest.fixture(scope="module")
def evaluated(server, tmp_path_factory):
    """Returns lm_eval's `resps` for each document of each task, by the model that it used."""
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    for name, fields in TASKS.items():
        task = COMMON | fields | {"task": name, "dataset_kwargs": {"data_files": {"test": str(folder / "docs.jsonl")}}}
        (folder / f"{name}.yaml").write_text(json.dumps(task))
    return json.loads(run_tool("-c", RUN, server.url, folder).splitlines()[-1])


@pytest.fixture(scope="module")
def completions(evaluated):
    return evaluated["completions"]


def post(server, path, **body):
    return requests.post(server.url + path, json=body, timeout=60).json()


def tokens(server, text):
    return post(server, "/tokenize", prompt=text, add_special_tokens=False)["tokens"]


def logprob(server, context, continuation):
    """Returns the log-probability of the tokens `continuation` after the tokens `context`."""
    reply = post(server, "/generate", input_ids=context + continuation, return_logprob=True,
                 logprob_start_len=len(context) - 1, sampling_params={"max_new_tokens": 0})
    return sum(entry[0] for entry in reply["meta_info"]["input_token_logprobs"][1:])


def test_the_tokenizer_is_the_servers(completions):
    assert completions["tokenizer"] == "remote"


def test_choices_are_scored_as_generate_scores_them(server, completions):
    for doc, resps in zip(DOCS, completions["choose"], strict=True):
        for choice, [[value, _]] in zip(doc["choices"], resps, strict=True):
            context = tokens(server, doc["question"])
            continuation = tokens(server, doc["question"] + " " + choice)[len(context):]
            assert float(value) == pytest.approx(logprob(server, context, continuation), abs=1e-4)


def test_whole_texts_are_scored(server, completions):
    [bos] = tokens(server, "<s>")
    for doc, [[value]] in zip(DOCS, completions["perplexity"], strict=True):
        text = tokens(server, doc["question"] + " " + doc["choices"][0])
        assert float(value) == pytest.approx(logprob(server, [bos], text), abs=1e-4)


def test_texts_are_those_of_v1_completions(server, completions):
    for doc, [[text]] in zip(DOCS, completions["write"], strict=True):
        reply = post(server, "/v1/completions", model="demo", prompt=tokens(server, doc["question"]), max_tokens=24,
                     temperature=0, stop=UNTIL)
        assert text == reply["choices"][0]["text"]


def test_chats_are_those_of_v1_chat_completions(server, evaluated):
    for doc, [[text]] in zip(DOCS, evaluated["chats"]["write"], strict=True):
        reply = post(server, "/v1/chat/completions", model="demo", messages=[{"role": "user", "content": doc["question"]}],
                     max_tokens=24, temperature=0, stop=UNTIL)
        assert text == reply["choices"][0]["message"]["content"]
