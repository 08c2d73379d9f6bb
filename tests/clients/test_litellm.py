"""litellm, through which many programs use OpenAI's routes. It runs in its own environment: it needs an older openai
than the other tests."""

import json

import openai
import pytest
from processes import TOOLS, run_tool

pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="litellm could not be installed")

MESSAGES = [{"role": "user", "content": "What is a list?"}]
CALLS = """
import json, sys
import litellm
url, messages = sys.argv[1], json.loads(sys.argv[2])
common = {"api_base": url, "api_key": "none", "max_tokens": 24, "temperature": 0, "num_retries": 0}

def refusal(call, **fields):
    try:
        call(**common | fields)
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__], error.status_code

whole = litellm.completion(model="openai/demo", messages=messages, **common)
streamed = list(litellm.completion(model="openai/demo", messages=messages, stream=True,
                                   stream_options={"include_usage": True}, **common))
completion = litellm.text_completion(model="text-completion-openai/demo", prompt="# `vector` class", **common)
print(json.dumps({
    "whole": whole.choices[0].message.content,
    "usage": whole.usage.completion_tokens,
    "streamed": "".join(c.delta.content or "" for chunk in streamed for c in chunk.choices),
    "streamed_usage": litellm.stream_chunk_builder(streamed, messages=messages).usage.completion_tokens,
    "completion": completion.choices[0].text,
    "overflow": refusal(litellm.completion, model="openai/demo", messages=[{"role": "user", "content": "word " * 5000}]),
    "bad_field": refusal(litellm.completion, model="openai/demo", messages=messages, temperature=-1),
    "other_model": refusal(litellm.completion, model="openai/other", messages=messages),
}))
"""


@pytest.fixture(scope="module")
def results(server):
    return json.loads(run_tool("-c", CALLS, server.url + "/v1", json.dumps(MESSAGES)).splitlines()[-1])


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none")


def test_chat(results, client):
    reply = client.chat.completions.create(model="demo", messages=MESSAGES, max_tokens=24, temperature=0)
    assert results["whole"] == results["streamed"] == reply.choices[0].message.content
    assert results["usage"] == results["streamed_usage"] == reply.usage.completion_tokens


def test_completion(results, client):
    reply = client.completions.create(model="demo", prompt="# `vector` class", max_tokens=24, temperature=0)
    assert results["completion"] == reply.choices[0].text


def test_errors_have_their_kind(results):
    kinds, status = results["overflow"]
    assert kinds[0] == "ContextWindowExceededError" and status == 400
    assert results["bad_field"] == [results["bad_field"][0], 400] and "BadRequestError" in results["bad_field"][0]
    assert results["other_model"][0][0] == "NotFoundError" and results["other_model"][1] == 404
