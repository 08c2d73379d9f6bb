"""The infinity_client package's rerank."""

import pytest
from encoders import DOCUMENTS, ORDER, QUERY, check_ranking
from infinity_client import Client
from infinity_client.api.default import rerank
from infinity_client.models import ReRankResult, RerankInput


@pytest.fixture(scope="module")
def client(encoders):
    return Client(base_url=encoders.url)


def test_scores_are_those_of_transformers(client):
    reply = rerank.sync(client=client, body=RerankInput(query=QUERY, documents=DOCUMENTS, model="judge"))
    assert isinstance(reply, ReRankResult) and reply.object_ == "rerank" and reply.usage.total_tokens > 0
    check_ranking([(result.index, result.relevance_score) for result in reply.results])


def test_the_best_of_them_with_their_texts(client):
    body = RerankInput(query=QUERY, documents=DOCUMENTS, return_documents=True, model="judge", top_n=2)
    reply = rerank.sync(client=client, body=body)
    assert [(result.index, result.document) for result in reply.results] == [(i, DOCUMENTS[i]) for i in ORDER[:2]]


def test_errors_are_told_by_their_status(client):
    reply = rerank.sync_detailed(client=client, body=RerankInput(query=QUERY, documents=[], model="judge"))
    assert reply.status_code == 400 and b"documents" in reply.content
