"""FastChat's API server with models unknown to it: their context, and how their prompts are made."""

import shutil

import openai
import pytest
import requests
from fastchat_processes import PYTHON, api_process, controller_process, events, models_at
from processes import BUILD, ROOT, shortlist_server, wait_until

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="FastChat could not be installed")

QUESTION = {"role": "user", "content": "What is a list?"}
POOL = 300  # KV slots; the model's context has 1,024


@pytest.fixture(scope="module")
def controller():
    with controller_process("models_controller") as process:
        yield process


@pytest.fixture(scope="module")
def api(controller):
    with api_process("models_api_server", controller) as process:
        yield process


@pytest.fixture(scope="module")
def checkpoint():
    """Returns the demo model with the prompts of a model that FastChat does not know."""
    path = BUILD / "phi_like"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(ROOT / "models/demo/target", path)
    phi = (ROOT / "tests/reference/golden/chat/phi.jinja").read_text()
    (path / "chat_template.jinja").write_text("<s>" + phi)  # the tokenizer's begin-of-text token, once
    return path


@pytest.fixture(scope="module")
def worker(controller, checkpoint):
    process = shortlist_server("phi_like", "--model", checkpoint, "--controller", controller.url,
                               "--worker-address", "{url}", "--max-total-tokens", POOL)
    with process:
        wait_until(lambda: models_at(controller) == ["phi_like"], "the worker is registered")
        yield process


def chat(api, *messages, **fields):
    body = {"model": "phi_like", "messages": messages or [QUESTION], "temperature": 0} | fields
    return requests.post(api.url + "/v1/chat/completions", json=body, stream=body.get("stream", False), timeout=120)


def test_chats_without_max_tokens_fit_the_pool(api, worker):
    reply = chat(api).json()
    assert reply["choices"][0]["message"]["content"]
    assert reply["usage"]["total_tokens"] <= POOL
    chunks = list(events(chat(api, stream=True)))
    assert all("error_code" not in chunk for chunk in chunks)
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    assert text == reply["choices"][0]["message"]["content"]


def test_prompts_are_those_of_the_checkpoints_template(api, worker):
    system = {"role": "system", "content": "Be brief."}
    answer = {"role": "assistant", "content": "A container."}
    for messages in ([QUESTION], [system, QUESTION], [QUESTION, answer, QUESTION], [system, QUESTION, answer, QUESTION]):
        through = chat(api, *messages, max_tokens=16).json()
        direct = chat(worker, *messages, max_tokens=16).json()
        assert through["choices"][0]["message"]["content"] == direct["choices"][0]["message"]["content"]
        assert through["usage"]["prompt_tokens"] == direct["usage"]["prompt_tokens"]


def test_too_long_a_chat_is_told_so(api, worker):
    long = {"role": "user", "content": "word " * 500}
    reply = chat(api, long)
    assert reply.status_code == 400 and reply.json()["code"] == 40303


def test_streams_that_fail_raise_in_openais_client(api, worker):
    client = openai.OpenAI(base_url=api.url + "/v1", api_key="none", max_retries=0)
    with pytest.raises(openai.APIError, match="logprobs"):
        for _ in client.completions.create(model="phi_like", prompt="A list", stream=True, logprobs=21):
            pass
