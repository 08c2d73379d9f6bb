"""The openai package against /v1/embeddings: its base64, ids, dimensions and errors."""

import asyncio
import math

import numpy
import openai
import pytest
from encoders import DIMENSIONS, MAX_TOKENS, MINILM, TEXTS, VECTORS, VOCAB_SIZE, check_vectors
from tokenizers import Tokenizer


@pytest.fixture(scope="module")
def client(encoders):
    return openai.OpenAI(base_url=encoders.url + "/v1", api_key="none", max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def ids():
    tokenizer = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return [encoding.ids for encoding in tokenizer.encode_batch(TEXTS)]


def embed(client, texts, **fields):
    """Returns the vectors. Without encoding_format the package requests base64."""
    reply = client.embeddings.create(**{"model": "minilm", "input": texts} | fields)
    assert [entry.index for entry in reply.data] == list(range(len(reply.data)))
    return [entry.embedding for entry in reply.data]


def test_models(client):
    assert [model.id for model in client.models.list()] == ["minilm", "judge"]


def test_vectors_are_those_of_sentence_transformers(client, ids):
    reply = client.embeddings.create(model="minilm", input=TEXTS)
    assert reply.object == "list" and reply.model == "minilm" and reply.data[0].object == "embedding"
    assert reply.usage.prompt_tokens == reply.usage.total_tokens == sum(map(len, ids))
    check_vectors([entry.embedding for entry in reply.data])


def test_base64_and_floats_are_the_same_bits(client):
    whole = embed(client, TEXTS)
    floats = embed(client, TEXTS, encoding_format="float")
    assert numpy.array_equal(numpy.float32(whole), numpy.float32(floats))
    encoded = embed(client, TEXTS[0], encoding_format="base64")[0]
    assert isinstance(encoded, str) and len(encoded) == 4 * DIMENSIONS * 4 // 3


def test_a_text_alone_has_the_bits_of_a_batch(client):
    whole = embed(client, TEXTS)
    assert [embed(client, text)[0] for text in TEXTS] == whole
    assert embed(client, TEXTS[::-1]) == whole[::-1]
    many = [f"{text} {i}" for i in range(10) for text in TEXTS[:8]]
    vectors = embed(client, many)
    assert len(vectors) == 80 and all(embed(client, many[i])[0] == vectors[i] for i in (0, 37, 79))


def test_concurrent_requests_of_the_asynchronous_client(encoders, client):
    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=encoders.url + "/v1", api_key="none", max_retries=0) as client:
            asked = [client.embeddings.create(model="minilm", input=text) for text in TEXTS * 3]
            return [reply.data[0].embedding for reply in await asyncio.gather(*asked)]

    assert asyncio.run(all_of_them()) == embed(client, TEXTS) * 3


def test_ids_are_taken_as_they_are(client, ids):
    whole = embed(client, TEXTS)
    assert embed(client, ids) == whole
    assert embed(client, ids[1]) == [whole[1]]


def test_dimensions_are_a_normalised_beginning(client):
    for size in (1, 64, DIMENSIONS):
        vectors = embed(client, TEXTS, dimensions=size)
        check_vectors(vectors, [vector[:size] for vector in VECTORS])
        assert all(math.isclose(math.hypot(*vector), 1, abs_tol=1e-6) for vector in vectors)


def test_what_servers_beside_openais_take(client):
    long = "word " * 1000
    cut = embed(client, long, extra_body={"truncate_prompt_tokens": -1})
    assert cut == embed(client, "word " * (MAX_TOKENS - 2))
    plain = embed(client, "query: cats")
    assert embed(client, "cats", extra_body={"instruction": "query: "}) == plain


def test_errors(client):
    for fields, param, words in [
        ({"input": []}, "input", "empty"),
        ({"input": [[1], []]}, "input[1]", "empty"),
        ({"input": ["a", 5]}, "input[1]", "neither a text"),
        ({"input": [101, VOCAB_SIZE]}, "input[1]", str(VOCAB_SIZE)),
        ({"input": [101, -1]}, "input[1]", str(VOCAB_SIZE)),
        ({"dimensions": 0}, "dimensions", "[1, 384]"),
        ({"dimensions": DIMENSIONS + 1}, "dimensions", "[1, 384]"),
        ({"encoding_format": "md5"}, "encoding_format", "md5"),
        ({"model": "judge"}, "model", "`judge` makes scores"),
        ({"extra_body": {"inputs": ["a"]}}, "inputs", 'did you mean "input"?'),
    ]:
        with pytest.raises(openai.BadRequestError) as raised:
            embed(client, **{"texts": fields.pop("input", "a")} | fields)
        error = raised.value
        assert error.param == param and error.type == "invalid_request_error" and words in error.message
    with pytest.raises(openai.NotFoundError) as raised:
        embed(client, "a", model="text-embedding-3-small")
    assert raised.value.code == "model_not_found" and "`minilm`" in raised.value.message


@pytest.mark.parametrize("text", ["word " * MAX_TOKENS, [101] * (MAX_TOKENS + 1)], ids=["text", "ids"])
def test_overflow_of_the_context_is_told_as_such(client, text):
    with pytest.raises(openai.BadRequestError) as raised:
        embed(client, ["a", text])
    assert raised.value.code == "context_length_exceeded" and raised.value.param == "input[1]"
    assert str(MAX_TOKENS) in raised.value.message
