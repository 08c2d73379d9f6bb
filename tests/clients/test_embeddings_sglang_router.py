"""The real sglang-router in front of two servers with encoders."""

import sys

import openai
import pytest
import requests
from encoders import DOCUMENTS, ORDER, QUERY, TEXTS, check_ranking, check_vectors
from processes import Process, free_port, shortlist_server, wait_until

pytest.importorskip("sglang_router")


@pytest.fixture(scope="module")
def router(encoders, encoder_flags):
    with shortlist_server("encoders_behind_router", *encoder_flags) as second:
        command = [sys.executable, "-m", "sglang_router.launch_router", "--host", "127.0.0.1", "--port", "{port}",
                   "--worker-urls", encoders.url, second.url, "--policy", "round_robin",
                   "--worker-startup-check-interval", "1", "--prometheus-port", free_port()]
        with Process("sglang_router_of_encoders", command, "/health") as process:
            wait_until(lambda: len(requests.get(process.url + "/workers", timeout=5).json()["workers"]) == 2,
                       "both workers are registered")
            yield process


def rerank(router, path="/v1/rerank", **fields):
    reply = requests.post(router.url + path, json={"query": QUERY, "documents": DOCUMENTS} | fields, timeout=30)
    assert reply.status_code == 200, reply.text
    return reply.json()["results"]


def test_embeddings(router):
    client = openai.OpenAI(base_url=router.url + "/v1", api_key="none", max_retries=0)
    replies = [[entry.embedding for entry in client.embeddings.create(model="minilm", input=TEXTS).data] for _ in range(4)]
    check_vectors(replies[0])
    assert replies == [replies[0]] * 4  # the same bits from both workers
    assert len(client.embeddings.create(model="minilm", input=[[101, 102]], dimensions=8).data[0].embedding) == 8
    with pytest.raises(openai.BadRequestError, match="empty"):
        client.embeddings.create(model="minilm", input=[])


def test_rerank(router):
    # This route of the router has no model field; the router sends the worker "unknown".
    results = rerank(router)
    check_ranking([(result["index"], result["score"]) for result in results])
    assert [result["document"] for result in results] == [DOCUMENTS[i] for i in ORDER]
    # This route sends more fields, to the same route of the worker.
    best = rerank(router, "/rerank", model="judge", top_k=2, return_documents=False)
    assert [(result["index"], result["score"]) for result in best] == [(r["index"], r["score"]) for r in results[:2]]


def test_classify(router):
    body = {"model": "judge", "input": ["one token", "you"]}
    data = requests.post(router.url + "/v1/classify", json=body, timeout=30).json()["data"]
    assert [entry["label"] for entry in data] == ["LABEL_0"] * 2 and all(0 < entry["probs"][0] < 1 for entry in data)
