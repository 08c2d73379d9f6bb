"""The voyageai package: embeddings, rerank, and the message of an error, which it reads only from "detail"."""

import pytest
import voyageai
from encoders import DOCUMENTS, ORDER, QUERY, TEXTS, check_ranking, check_vectors


@pytest.fixture(scope="module")
def client(encoders):
    return voyageai.Client(api_key="none", base_url=encoders.url + "/v1")


def test_vectors_are_those_of_sentence_transformers(client):
    check_vectors(client.embed(TEXTS, model="minilm").embeddings)


def test_fewer_dimensions(client):
    assert len(client.embed(["a"], model="minilm", output_dimension=128).embeddings[0]) == 128


def test_scores_are_those_of_transformers(client):
    results = client.rerank(QUERY, DOCUMENTS, model="judge").results
    check_ranking([(result.index, result.relevance_score) for result in results])
    assert [result.document for result in results] == [DOCUMENTS[i] for i in ORDER]
    assert [result.index for result in client.rerank(QUERY, DOCUMENTS, model="judge", top_k=2).results] == ORDER[:2]


def test_errors(client):
    for call, words in [
        (lambda: client.rerank(QUERY, [], model="judge"), "documents: "),
        (lambda: client.embed(["a"], model="minilm", output_dimension=0), "output_dimension: "),
        (lambda: client.embed(["word " * 1000], model="minilm", truncation=False), "input[0]: more than"),
    ]:
        with pytest.raises(voyageai.error.InvalidRequestError, match=words.replace("[", r"\[")):
            call()
