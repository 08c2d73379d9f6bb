"""FastChat 0.2.36: its controller and its OpenAI API server, with this server as their worker."""

import threading

import pytest
import requests
from fastchat_processes import PYTHON, api_process, controller_process, events, models_at
from processes import shortlist_server, wait_until

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="FastChat could not be installed")

MESSAGES = [{"role": "user", "content": "What is a list?"}]


@pytest.fixture(scope="module")
def controller():
    with controller_process("controller") as process:
        yield process


@pytest.fixture(scope="module")
def worker(controller):
    process = shortlist_server("worker", "--controller", controller.url, "--model-names", "demo,also",
                               "--conv-template", "vicuna_v1.1", "--worker-address", "{url}")
    with process:
        wait_until(lambda: models_at(controller) == ["also", "demo"], "the worker is registered")
        yield process


@pytest.fixture(scope="module")
def api(controller, worker):
    with api_process("openai_api_server", controller) as process:
        yield process


def chat(api, **fields):
    body = {"model": "demo", "messages": MESSAGES, "max_tokens": 24, "temperature": 0} | fields
    return requests.post(api.url + "/v1/chat/completions", json=body, stream=body.get("stream", False), timeout=60)


def test_models(api):
    models = requests.get(api.url + "/v1/models", timeout=30).json()["data"]
    assert [model["id"] for model in models] == ["also", "demo"]


def test_streamed_chat_is_the_whole_one(api, worker):
    whole = chat(api).json()
    text = whole["choices"][0]["message"]["content"]
    assert text and whole["choices"][0]["finish_reason"] in ("length", "stop")
    assert whole["usage"]["completion_tokens"] <= 24
    chunks = list(events(chat(api, stream=True)))
    assert all("error_code" not in chunk for chunk in chunks)
    assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks) == text
    assert chunks[-1]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]

    # The prompt that FastChat makes of the messages gets the same answer on every other route.
    prompt = ("A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
              "detailed, and polite answers to the user's questions. USER: What is a list? ASSISTANT:")
    direct = requests.post(worker.url + "/generate", timeout=60, json={
        "text": prompt, "sampling_params": {"temperature": 0, "max_new_tokens": 24}}).json()
    assert direct["text"] == text


def test_completions(api):
    body = {"model": "demo", "prompt": "# `vector` class", "max_tokens": 16, "temperature": 0}
    whole = requests.post(api.url + "/v1/completions", json=body, timeout=60).json()
    text = whole["choices"][0]["text"]
    assert text and whole["usage"]["total_tokens"] > 16
    streamed = requests.post(api.url + "/v1/completions", json=body | {"stream": True}, stream=True, timeout=60)
    assert "".join(chunk["choices"][0]["text"] for chunk in events(streamed)) == text
    logprobs = completion_logprobs(api, body | {"logprobs": 1})
    assert "".join(logprobs["tokens"]) == text
    for token, logprob, top in zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"]):
        assert top[token] == logprob
    echoed = completion_logprobs(api, body | {"logprobs": 1, "echo": True})
    num_prompt_tokens = len(echoed["tokens"]) - len(logprobs["tokens"])
    assert num_prompt_tokens > 3 and echoed["token_logprobs"][0] is None
    assert all(logprob < 0 for logprob in echoed["token_logprobs"][1:num_prompt_tokens])
    assert echoed["token_logprobs"][num_prompt_tokens:] == logprobs["token_logprobs"]
    assert echoed["text_offset"][num_prompt_tokens] == len(body["prompt"])


def completion_logprobs(api, body):
    return requests.post(api.url + "/v1/completions", json=body, timeout=60).json()["choices"][0]["logprobs"]


def test_errors_arrive_as_fastchats(api):
    reply = chat(api, messages=[{"role": "user", "content": "word " * 5000}])
    assert reply.status_code == 400 and reply.json()["code"] == 40303
    assert chat(api, model="other").json()["code"] == 40301
    body = {"prompt": "word " * 5000}
    assert requests.post(worker_of(api) + "/worker_generate", json=body, timeout=60).json()["error_code"] == 40303


def worker_of(api):
    controller = api.command[-1]
    return requests.post(controller + "/get_worker_address", json={"model": "demo"}, timeout=5).json()["address"]


def test_token_check(api):
    prompts = [{"model": "demo", "prompt": "Once upon a time", "max_tokens": 100}]
    reply = requests.post(api.url + "/api/v1/token_check", json={"prompts": prompts}, timeout=30).json()["prompts"][0]
    assert reply["fits"] and 3 < reply["tokenCount"] < 20 and reply["contextLength"] >= 256


def test_client_that_goes_gives_its_place_back(api, worker):
    def queue_length():
        return requests.post(worker.url + "/worker_get_status", timeout=5).json()["queue_length"]

    responses = [chat(api, stream=True, max_tokens=300) for _ in range(8)]
    for response in responses:
        next(response.iter_content(1))
        response.close()
    wait_until(lambda: queue_length() == 0, "no request runs or waits", timeout_s=10)


def test_worker_registers_again_with_a_controller_that_was_killed(api, controller, worker):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(chat(api, max_tokens=100)))
    thread.start()
    controller.kill()
    thread.join()  # whatever it got, the worker continues to serve
    assert requests.get(worker.url + "/health", timeout=5).ok
    controller.start()
    wait_until(lambda: models_at(controller) == ["also", "demo"], "the worker is registered again", timeout_s=20)
    assert chat(api).json()["choices"][0]["message"]["content"]


def test_worker_that_was_killed_comes_back(api, controller, worker):
    before = chat(api).json()["choices"][0]["message"]["content"]
    worker.kill()
    worker.start()
    wait_until(lambda: models_at(controller) == ["also", "demo"], "the worker is registered again", timeout_s=20)
    assert chat(api).json()["choices"][0]["message"]["content"] == before
