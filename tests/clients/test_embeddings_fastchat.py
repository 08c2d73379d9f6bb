"""FastChat's controller and OpenAI API server in front of a server that has only encoders."""

import openai
import pytest
import requests
from encoders import MAX_TOKENS, TEXTS, check_vectors
from fastchat_processes import PYTHON, api_process, controller_process, models_at
from processes import shortlist_server, wait_until

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="FastChat could not be installed")


@pytest.fixture(scope="module")
def client(encoder_flags):
    with controller_process("embed_controller") as controller:
        flags = [*encoder_flags, "--controller", controller.url, "--worker-address", "{url}"]
        with shortlist_server("embed_worker", *flags), api_process("embed_api_server", controller) as api:
            wait_until(lambda: models_at(controller) == ["minilm"], "the worker is registered")
            yield openai.OpenAI(base_url=api.url + "/v1", api_key="none", max_retries=0)


def embed(client, texts, **fields):
    reply = client.embeddings.create(model="minilm", input=texts, **fields)
    assert [entry.index for entry in reply.data] == list(range(len(reply.data)))  # FastChat requests four at a time
    return [entry.embedding for entry in reply.data]


def test_vectors_are_those_of_sentence_transformers(client):
    vectors = embed(client, TEXTS)
    check_vectors(vectors)
    assert embed(client, TEXTS[2]) == [vectors[2]]
    usage = client.embeddings.create(model="minilm", input=TEXTS[1]).usage
    assert usage.prompt_tokens == usage.total_tokens == 7
    check_vectors(embed(client, TEXTS, encoding_format="float"))


def test_long_texts_are_cut(client):
    assert embed(client, "word " * 2000) == embed(client, "word " * (MAX_TOKENS - 2))


def test_errors(client):
    with pytest.raises(openai.BadRequestError, match="'encoding_format' = md5"):
        embed(client, "a", encoding_format="md5")
    reply = requests.post(f"{client.base_url}embeddings", json={"model": "other", "input": "a"}, timeout=10)
    assert reply.status_code == 400 and "minilm" in reply.json()["message"]
