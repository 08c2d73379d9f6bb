"""The real sglang-router in front of two servers."""

import sys
import threading

import pytest
import requests
from processes import Process, free_port, is_idle, shortlist_server, wait_until

pytest.importorskip("sglang_router")

NUM_CLIENTS = 6
PREFIXES = [f"# Chapter {i}: " + " ".join(f"word{i}x{j}" for j in range(40)) for i in range(4)]


@pytest.fixture(scope="module")
def workers():
    with shortlist_server("router_worker_0") as first, shortlist_server("router_worker_1") as second:
        yield [first, second]


@pytest.fixture(scope="module")
def router(workers):
    command = [sys.executable, "-m", "sglang_router.launch_router", "--host", "127.0.0.1", "--port", "{port}",
               "--worker-urls", *[worker.url for worker in workers], "--policy", "cache_aware",
               "--balance-abs-threshold", "2", "--balance-rel-threshold", "1.1",
               "--health-check-interval-secs", "1", "--health-failure-threshold", "1",
               "--health-success-threshold", "1", "--worker-startup-check-interval", "1",
               "--cb-timeout-duration-secs", "1", "--prometheus-port", free_port()]
    with Process("sglang_router", command, "/health") as process:
        # A worker that is not registered yet would not take part.
        wait_until(lambda: len(requests.get(process.url + "/workers", timeout=5).json()["workers"]) == 2,
                   "both workers are registered")
        yield process


def generate(router, prompt, **fields):
    body = {"text": prompt, "sampling_params": {"temperature": 0, "max_new_tokens": 16}} | fields
    return requests.post(router.url + "/generate", json=body, timeout=60, stream=fields.get("stream", False))


def generations_of(worker):
    """Returns how many requests a worker has answered."""
    text = requests.get(worker.url + "/metrics", timeout=5).text
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("sglang:num_requests_total"))


def test_every_route_that_it_forwards(router):
    assert [model["id"] for model in requests.get(router.url + "/v1/models", timeout=5).json()["data"]] == ["demo"]
    text = generate(router, PREFIXES[0]).json()["text"]
    body = {"model": "demo", "prompt": PREFIXES[0], "max_tokens": 16, "temperature": 0}
    reply = requests.post(router.url + "/v1/completions", json=body, timeout=60).json()
    assert reply["choices"][0]["text"] == text
    streamed = requests.post(router.url + "/v1/completions", json=body | {"stream": True}, timeout=60).text
    assert streamed.rstrip().endswith("data: [DONE]")
    chat = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8}
    assert requests.post(router.url + "/v1/chat/completions", json=chat, timeout=60).ok


def test_prefixes_stay_where_they_are_cached(router):
    for prefix in PREFIXES:
        generate(router, prefix)
    replies = [generate(router, prefix + f" {i}").json() for i in range(3) for prefix in PREFIXES]
    assert all(reply["meta_info"]["cached_tokens"] > 0 for reply in replies)


def test_nothing_is_lost_when_a_worker_is_killed_and_restarted(router, workers):
    expected = {prefix: generate(router, prefix).json()["text"] for prefix in PREFIXES}
    lost, cut, done = [], [], []
    over = threading.Event()

    def ask(index, i):
        """Sends one request. Every other client streams; every third sends a new request."""
        streams = index % 2 == 1
        prompt = f"{index}.{i} of them" if index % 3 == 0 else PREFIXES[(index + i) % len(PREFIXES)]
        got = b""
        try:
            with generate(router, prompt, stream=streams) as response:
                for chunk in response.iter_content(None):
                    got += chunk
            is_whole = got.endswith(b"data: [DONE]\n\n") if streams else response.json()["text"]
            is_right = streams or prompt not in expected or response.json()["text"] == expected[prompt]
            assert response.ok and is_whole and is_right, (response.status_code, got[-200:])
            done.append(index)
        except (AssertionError, requests.RequestException, ValueError) as error:
            # The router cannot restart a stream that has begun.
            (cut if streams and got.startswith(b"data:") else lost).append(repr(error))

    def client(index):
        for i in range(10**6):
            if over.is_set():
                return
            ask(index, i)

    threads = [threading.Thread(target=client, args=(index,)) for index in range(NUM_CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: all(generations_of(worker) > 10 for worker in workers), "there is load on both")
        workers[0].kill()
        count = len(done)
        wait_until(lambda: len(done) > count + 60, "the other worker serves on")
        workers[0].start()
        wait_until(lambda: generations_of(workers[0]) > 5, "the restarted worker takes part again")
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert lost == []
    assert len(cut) <= NUM_CLIENTS  # those served by the killed worker
    for worker in workers:
        wait_until(lambda: is_idle(worker.url), "the engine is idle", timeout_s=5)
