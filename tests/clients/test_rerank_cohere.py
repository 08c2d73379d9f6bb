"""The cohere package's rerank: version 2 of its protocol."""

import asyncio

import cohere
import pytest
from encoders import DOCUMENTS, LOGITS, ORDER, QUERY, check_ranking


@pytest.fixture(scope="module")
def client(encoders):
    return cohere.ClientV2(api_key="none", base_url=encoders.url)


def ranking(reply):
    return [(result.index, result.relevance_score) for result in reply.results]


def test_scores_are_those_of_transformers(client):
    reply = client.rerank(model="judge", query=QUERY, documents=DOCUMENTS)
    check_ranking(ranking(reply))
    assert reply.id.startswith("rerank-") and reply.meta.api_version.version == "2"
    assert reply.meta.billed_units.search_units == 1 and reply.meta.tokens.input_tokens > len(DOCUMENTS)


def test_the_best_of_them(client):
    reply = client.rerank(model="judge", query=QUERY, documents=DOCUMENTS, top_n=2, max_tokens_per_doc=4096)
    assert [index for index, _ in ranking(reply)] == ORDER[:2]
    objects = [{"text": text} for text in DOCUMENTS]
    assert ranking(client.rerank(model="judge", query=QUERY, documents=objects, top_n=2)) == ranking(reply)
    assert len(client.rerank(model="judge", query=QUERY, documents=DOCUMENTS, top_n=100).results) == len(LOGITS)


def test_a_document_has_the_same_score_alone(client):
    whole = dict(ranking(client.rerank(model="judge", query=QUERY, documents=DOCUMENTS)))
    for i, document in enumerate(DOCUMENTS):
        assert ranking(client.rerank(model="judge", query=QUERY, documents=[document])) == [(0, whole[i])]


def test_concurrent_requests_of_the_asynchronous_client(encoders, client):
    async def all_of_them():
        async with cohere.AsyncClientV2(api_key="none", base_url=encoders.url) as client:
            asked = [client.rerank(model="judge", query=QUERY, documents=DOCUMENTS) for _ in range(20)]
            return [ranking(reply) for reply in await asyncio.gather(*asked)]

    assert asyncio.run(all_of_them()) == [ranking(client.rerank(model="judge", query=QUERY, documents=DOCUMENTS))] * 20


def test_errors(client):
    for fields, param, words in [
        ({"documents": []}, "documents", "empty"),
        ({"documents": ["a", 5]}, "documents[1]", "not a text"),
        ({"top_n": 0}, "top_n", "[1, "),
        ({"max_tokens_per_doc": 0}, "max_tokens_per_doc", "0"),
        ({"model": "minilm"}, "model", "makes embeddings"),
    ]:
        with pytest.raises(cohere.BadRequestError) as raised:
            client.rerank(**{"model": "judge", "query": QUERY, "documents": DOCUMENTS} | fields)
        error = raised.value.body["error"]
        assert error["param"] == param and words in error["message"]
    with pytest.raises(cohere.NotFoundError):
        client.rerank(model="rerank-v4.0-pro", query=QUERY, documents=DOCUMENTS)
