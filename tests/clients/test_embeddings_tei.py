"""huggingface_hub's client, and requests as text-embeddings-inference documents them, against its routes."""

import asyncio

import pytest
import requests
from encoders import DOCUMENTS, LOGITS, MAX_TOKENS, ORDER, QUERY, TEXTS, VECTORS, check_ranking, check_vectors
from huggingface_hub import AsyncInferenceClient, InferenceClient
from huggingface_hub.errors import HfHubHTTPError


@pytest.fixture(scope="module")
def client(encoders):
    return InferenceClient(model=encoders.url + "/embed")


def ask(encoders, path, **body):
    return requests.post(encoders.url + path, json=body, timeout=30)


def ranking(reply):
    return [(result["index"], result["score"]) for result in reply.json()]


def test_feature_extraction(client):
    vectors = client.feature_extraction(TEXTS)
    assert vectors.shape == (len(TEXTS), 384) and vectors.dtype == "float32"
    check_vectors(vectors.tolist())
    assert client.feature_extraction(TEXTS[1]).tolist() == [vectors[1].tolist()]
    check_vectors(client.feature_extraction(TEXTS, normalize=True, dimensions=64).tolist(), [v[:64] for v in VECTORS])
    assert client.feature_extraction(TEXTS, prompt_name="query").tolist() == vectors.tolist()  # empty prompt


def test_feature_extraction_of_the_asynchronous_client(encoders, client):
    async def all_of_them():
        async with AsyncInferenceClient(model=encoders.url + "/embed") as client:
            return await asyncio.gather(*[client.feature_extraction(text) for text in TEXTS])

    vectors = client.feature_extraction(TEXTS)
    assert [vector[0].tolist() for vector in asyncio.run(all_of_them())] == vectors.tolist()


def test_truncation(client):
    long = "first " + "word " * MAX_TOKENS + "last"
    right, left = (client.feature_extraction(long, truncate=True, truncation_direction=side) for side in ("right", "left"))
    assert right.tolist() == client.feature_extraction("first" + " word" * (MAX_TOKENS - 3)).tolist()
    assert left.tolist() == client.feature_extraction("word " * (MAX_TOKENS - 3) + "last").tolist()
    with pytest.raises(HfHubHTTPError) as raised:
        client.feature_extraction(["a", long], truncate=False)
    assert raised.value.response.status_code == 400 and f"inputs[1]: more than {MAX_TOKENS} tokens" in str(raised.value)


def test_text_classification(encoders):
    client = InferenceClient(model=encoders.url + "/predict")
    label = client.text_classification("one token")
    assert label.label == "LABEL_0" and 0 < label.score < 1


def test_predict(encoders):
    pairs = [[QUERY, document] for document in DOCUMENTS]
    scores = [labels[0]["score"] for labels in ask(encoders, "/predict", inputs=pairs, raw_scores=True).json()]
    assert max(abs(score - logit) for score, logit in zip(scores, LOGITS)) < 1e-4
    alone = ask(encoders, "/predict", inputs=pairs[0], raw_scores=True).json()
    assert alone == [{"score": scores[0], "label": "LABEL_0"}]


def test_rerank(encoders):
    reply = ask(encoders, "/rerank", query=QUERY, texts=DOCUMENTS, return_text=True)
    check_ranking(ranking(reply))
    assert [result["text"] for result in reply.json()] == [DOCUMENTS[i] for i in ORDER]
    check_ranking(ranking(ask(encoders, "/rerank", query=QUERY, texts=DOCUMENTS, raw_scores=True)), LOGITS)


def test_errors(encoders):
    for path, body, words in [
        ("/embed", {"inputs": []}, "inputs: a list that is empty"),
        ("/embed", {"inputs": "a", "dimensions": 385}, "dimensions: 385 is not an integer in [1, 384]"),
        ("/embed", {"inputs": "a", "prompt_name": "unknown"}, "prompt_name: "),
        ("/rerank", {"query": "a"}, "texts: missing"),
        ("/rerank", {"query": "a", "texts": []}, "texts: "),
        ("/predict", {"inputs": [["a", "b", "c"]]}, "inputs[0]: "),
    ]:
        reply = ask(encoders, path, **body)
        assert reply.status_code == 400 and reply.json()["error_type"] == "Validation"
        assert reply.json()["error"].startswith(words)
