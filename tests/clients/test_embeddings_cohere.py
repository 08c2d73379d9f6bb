"""The cohere package's embed: version 2 of its protocol."""

import base64
import struct

import cohere
import pytest
from encoders import DIMENSIONS, TEXTS, VECTORS, check_vectors


@pytest.fixture(scope="module")
def client(encoders):
    return cohere.ClientV2(api_key="none", base_url=encoders.url)


def test_vectors_are_those_of_sentence_transformers(client):
    reply = client.embed(model="minilm", input_type="search_document", texts=TEXTS, embedding_types=["float"])
    check_vectors(reply.embeddings.float_)
    assert reply.texts == TEXTS and reply.id
    assert reply.meta.billed_units.input_tokens > len(TEXTS)


def test_types_are_made_of_the_floats(client):
    types = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    reply = client.embed(model="minilm", input_type="search_query", texts=TEXTS[:2], embedding_types=types).embeddings
    for i in range(2):
        vector = reply.float_[i]
        assert reply.int8[i] == [round(127 * x) for x in vector]
        assert reply.uint8[i] == [x + 128 for x in reply.int8[i]]
        bits = "".join("1" if x > 0 else "0" for x in vector)
        assert "".join(f"{byte:08b}" for byte in reply.ubinary[i]) == bits
        assert reply.binary[i] == [byte - 128 for byte in reply.ubinary[i]]
        assert list(struct.unpack(f"<{DIMENSIONS}f", base64.b64decode(reply.base64[i]))) == pytest.approx(vector)


def test_inputs_and_dimensions(client):
    inputs = [{"content": [{"type": "text", "text": text}]} for text in TEXTS]
    reply = client.embed(model="minilm", input_type="classification", inputs=inputs, output_dimension=8)
    assert {len(vector) for vector in reply.embeddings.float_} == {8} and len(VECTORS) == len(reply.embeddings.float_)


def test_what_is_too_long(client):
    text = "word " * 2000
    client.embed(model="minilm", input_type="search_document", texts=[text], truncate="START")
    with pytest.raises(cohere.BadRequestError):
        client.embed(model="minilm", input_type="search_document", texts=[text], truncate="NONE")
