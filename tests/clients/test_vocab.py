"""Vocabulary administration while requests run: the draft's vocabulary changes, the output never does."""

import itertools
import threading

import pytest
import requests
from processes import shortlist_server

KEY = {"Authorization": "Bearer of-the-admin"}
PROMPTS = ["# `vector` class", "Once upon a time", "The capital of France", "def main():"]


def get(server, path):
    return requests.get(server.url + path, headers=KEY, timeout=10)


def post(server, path, body):
    return requests.post(server.url + path, headers=KEY, json=body, timeout=10)


def generate(server, prompt, temperature):
    body = {"text": prompt, "sampling_params": {"temperature": temperature, "max_new_tokens": 48, "sampling_seed": 7}}
    return requests.post(server.url + "/generate", json=body, timeout=60).json()["text"]


@pytest.fixture(scope="module")
def expected():
    with shortlist_server("plain", "--vocab", "full") as process:
        return {(prompt, temperature): generate(process, prompt, temperature)
                for prompt in PROMPTS for temperature in (0, 0.8)}


def test_output_is_the_same_whatever_the_vocabulary(server, expected):
    first = get(server, "/vocab/stats").json()
    done, wrong, over = [], [], threading.Event()

    def client():
        for prompt, temperature in itertools.cycle(expected):
            if over.is_set():
                return
            text = generate(server, prompt, temperature)
            done.append(prompt)
            if text != expected[prompt, temperature]:
                wrong.append((prompt, temperature, text))

    clients = [threading.Thread(target=client) for _ in range(3)]
    for thread in clients:
        thread.start()
    try:
        for top in itertools.cycle((512, 4096, 1024, 2048)):
            if len(done) >= 60:
                break
            assert post(server, "/vocab/base", {"top": top}).json()["base_size"] == top
        seen = get(server, "/vocab/counts").json()
        replaced = post(server, "/vocab/base", {"list": seen}).json()
        assert replaced["base_size"] == len(set(seen["ids"]) | set(seen["pinned"]))
        assert post(server, "/vocab/ids", {"ids": list(range(300, 400))}).ok
        assert get(server, "/vocab").json()["dynamic_ids"]
        assert post(server, "/vocab/base", {}).json()["base_size"] == first["base_size"]
    finally:
        over.set()
        for thread in clients:
            thread.join()
    assert wrong == []
    stats = get(server, "/vocab/stats").json()
    assert stats["version"] > first["version"] and 0 < stats["coverage"] <= 1 and stats["num_unmapped"] == 0


def test_export_holds_no_text_and_wants_the_key(server):
    generate(server, PROMPTS[0], 0)
    reply = get(server, "/vocab/counts")
    assert "counts.vocab.json" in reply.headers["Content-Disposition"]
    assert set(reply.json()) == {"format", "version", "vocab_size", "fingerprint", "source", "ids", "counts", "pinned",
                                 "ranked", "ids_fingerprint"}
    for path in ("/vocab", "/vocab/stats", "/vocab/escapes", "/vocab/counts"):
        assert requests.get(server.url + path, timeout=10).status_code == 401
