"""litellm's embeddings and rerank, with each of its providers that uses a protocol of this server."""

import json

import pytest
from encoders import DOCUMENTS, ORDER, QUERY, TEXTS, check_ranking, check_vectors
from processes import TOOLS, run_tool

pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="litellm could not be installed")

EMBEDDINGS = ["openai", "hosted_vllm", "infinity", "jina_ai", "lm_studio", "xinference", "nvidia_nim"]
RERANKS = ["cohere", "hosted_vllm", "huggingface", "together_ai"]
CALLS = """
import json, sys
import litellm
url, embeddings, reranks, texts, query, documents = (json.loads(arg) for arg in sys.argv[1:])
common = {"api_key": "none", "num_retries": 0}

def refusal(call, **fields):
    try:
        call(**common | fields)
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__], error.status_code

def embed(provider, **fields):
    reply = litellm.embedding(model=provider + "/minilm", input=texts, api_base=url + "/v1", **common, **fields)
    return {"vectors": [entry["embedding"] for entry in reply.data], "tokens": reply.usage.prompt_tokens}

def rerank(provider, **fields):
    reply = litellm.rerank(model=provider + "/judge", query=query, documents=documents, api_base=url, **common, **fields)
    return [(result["index"], result["relevance_score"]) for result in reply.results]

print(json.dumps({
    "embeddings": {provider: embed(provider) for provider in embeddings},
    "query": embed("nvidia_nim", input_type="query"),
    "reranks": {provider: rerank(provider) for provider in reranks},
    "best": {provider: rerank(provider, top_n=2, return_documents=True) for provider in reranks},
    "overflow": refusal(litellm.embedding, model="openai/minilm", input=["word " * 1000], api_base=url + "/v1"),
    "no_input": refusal(litellm.embedding, model="openai/minilm", input=[], api_base=url + "/v1"),
    "other_model": refusal(litellm.embedding, model="openai/other", input=["a"], api_base=url + "/v1"),
    "no_documents": refusal(litellm.rerank, model="cohere/judge", query="q", documents=[], api_base=url),
}))
"""


@pytest.fixture(scope="module")
def results(encoders):
    arguments = [encoders.url, EMBEDDINGS, RERANKS, TEXTS, QUERY, DOCUMENTS]
    return json.loads(run_tool("-c", CALLS, *map(json.dumps, arguments)).splitlines()[-1])


def test_embeddings(results):
    for reply in [*results["embeddings"].values(), results["query"]]:
        check_vectors(reply["vectors"])
        assert reply == results["embeddings"]["openai"]


def test_rerank(results):
    for provider in RERANKS:
        check_ranking(results["reranks"][provider])
        assert [index for index, _ in results["best"][provider]] == ORDER[:2], provider


def test_errors_have_their_kind(results):
    kinds, status = results["overflow"]
    assert kinds[0] == "ContextWindowExceededError" and status == 400
    for name in ("no_input", "no_documents"):
        assert results[name][0][0] == "BadRequestError" and results[name][1] == 400
    assert results["other_model"][0][0] == "NotFoundError" and results["other_model"][1] == 404
