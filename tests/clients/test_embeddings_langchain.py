"""langchain-openai's embeddings: texts, and the token ids that it sends by default."""

import asyncio

import openai
import pytest
import tiktoken
from encoders import MINILM, TEXTS, VECTORS, check_vectors
from langchain_openai import OpenAIEmbeddings
from tokenizers import Tokenizer


class MiniLmIds:
    """Replaces the encodings that tiktoken downloads: ids of the served model."""

    def __init__(self):
        self._tokenizer = Tokenizer.from_file(str(MINILM / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode_ordinary(self, text):
        return self._tokenizer.encode(text).ids

    def encode(self, text, **_):
        return self.encode_ordinary(text)


@pytest.fixture
def embeddings(encoders):
    def make(**fields):
        return OpenAIEmbeddings(base_url=encoders.url + "/v1", api_key="none", model="minilm", max_retries=0, **fields)

    return make


def test_texts(embeddings):
    model = embeddings(check_embedding_ctx_length=False)
    check_vectors(model.embed_documents(TEXTS))
    check_vectors(model.embed_documents(TEXTS, chunk_size=5))
    check_vectors([model.embed_query(text) for text in TEXTS[:3]], VECTORS[:3])
    check_vectors(asyncio.run(model.aembed_documents(TEXTS)))


def test_token_ids(embeddings, monkeypatch):
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda _: MiniLmIds())
    check_vectors(embeddings().embed_documents(TEXTS))
    # A text longer than the model's context is sent in pieces, whose vectors langchain-openai averages.
    long = " ".join(TEXTS) * 3
    whole, pieces = embeddings(embedding_ctx_length=256), embeddings(embedding_ctx_length=100)
    assert len(whole.embed_query(long)) == len(pieces.embed_query(long)) == 384
    with pytest.raises(openai.BadRequestError, match="tokens, more than 256: this model.s maximum context length") as raised:
        embeddings().embed_query(long)
    assert raised.value.code == "context_length_exceeded"


def test_ids_of_another_vocabulary_are_refused(embeddings, monkeypatch):
    class OpenAiIds(MiniLmIds):
        def encode_ordinary(self, text):
            return [100_000 + len(text)]

    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda _: OpenAiIds())
    with pytest.raises(openai.BadRequestError, match=r"not a token id in \[0, 30522\)"):
        embeddings().embed_query("How do plants eat?")


def test_dimensions(embeddings):
    check_vectors(embeddings(check_embedding_ctx_length=False, dimensions=32).embed_documents(TEXTS),
                  [vector[:32] for vector in VECTORS])
