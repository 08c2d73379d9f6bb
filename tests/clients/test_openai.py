"""The openai package against /v1."""

import json
import math
import re
from typing import Literal

import openai
import pydantic
import pytest
import requests
from processes import is_idle, shortlist_server, wait_until

PROMPT = "# `vector` class"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is a list?"}]


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=60)


def complete(client, **fields):
    return client.completions.create(**{"model": "demo", "prompt": PROMPT, "max_tokens": 24, "temperature": 0} | fields)


def chat(client, **fields):
    return client.chat.completions.create(
        **{"model": "demo", "messages": MESSAGES, "max_tokens": 24, "temperature": 0} | fields)


def test_models(client):
    assert [model.id for model in client.models.list()] == ["demo"]
    assert client.models.retrieve("demo").id == "demo"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")


def test_completion(client):
    reply = complete(client)
    assert reply.object == "text_completion" and reply.model == "demo"
    assert reply.choices[0].text and reply.choices[0].finish_reason in ("length", "stop")
    assert reply.usage.completion_tokens <= 24
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


def test_streamed_completion_is_the_whole_one(client):
    chunks = list(complete(client, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.text for chunk in chunks for c in chunk.choices) == complete(client).choices[0].text
    assert [c.finish_reason for chunk in chunks for c in chunk.choices if c.finish_reason] == ["length"]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 24


def test_streamed_chat_is_the_whole_one(client):
    whole = chat(client)
    assert whole.object == "chat.completion" and whole.choices[0].message.role == "assistant"
    chunks = list(chat(client, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason


def test_responses_are_chats(client):
    fields = {"model": "default", "instructions": MESSAGES[0]["content"], "input": MESSAGES[1]["content"],
              "max_output_tokens": 24, "temperature": 0}
    whole = client.responses.create(**fields)
    assert whole.output_text == chat(client).choices[0].message.content
    with client.responses.stream(**fields) as stream:
        events = list(stream)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == whole.output_text == events[-1].response.output_text
    assert events[-1].type == "response." + whole.status and len(events) > 8
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        client.responses.create(**fields, previous_response_id="resp_1")


def test_several_choices(client):
    fields = {"n": 3, "temperature": 1.0, "seed": 5}
    reply = complete(client, **fields)
    texts = [choice.text for choice in reply.choices]
    assert [choice.index for choice in reply.choices] == [0, 1, 2] and len(set(texts)) > 1
    assert [choice.text for choice in complete(client, **fields).choices] == texts

    streamed = ["", "", ""]
    for chunk in complete(client, stream=True, **fields):
        for choice in chunk.choices:
            streamed[choice.index] += choice.text
    assert streamed == texts
    assert len(chat(client, n=2).choices) == 2


def test_stop(client):
    text = complete(client, max_tokens=64).choices[0].text
    stop = text[len(text) // 2:][:4]
    reply = complete(client, max_tokens=64, stop=[stop])
    assert reply.choices[0].text == text[:text.index(stop)]
    assert reply.choices[0].finish_reason == "stop"
    streamed = complete(client, max_tokens=64, stop=stop, stream=True)
    assert "".join(chunk.choices[0].text for chunk in streamed) == reply.choices[0].text


def test_logprobs_of_completions(client):
    logprobs = complete(client, logprobs=2).choices[0].logprobs
    assert "".join(logprobs.tokens) == complete(client).choices[0].text
    assert len(logprobs.token_logprobs) == len(logprobs.top_logprobs) == len(logprobs.text_offset)
    for token, logprob, top in zip(logprobs.tokens, logprobs.token_logprobs, logprobs.top_logprobs):
        assert logprob <= 0 and math.isclose(max(top.values()), logprob, abs_tol=1e-5)  # greedy


def test_a_prompt_has_the_logprobs_that_it_was_generated_with(client, server):
    def generate(**fields):
        body = {"return_logprob": True, "sampling_params": {"temperature": 0, "max_new_tokens": 24}} | fields
        return requests.post(server.url + "/generate", json=body, timeout=60).json()

    prompt = requests.post(server.url + "/tokenize", json={"prompt": PROMPT}, timeout=60).json()["tokens"]
    generated = generate(input_ids=prompt)
    expected = [entry[0] for entry in generated["meta_info"]["output_token_logprobs"]]
    ids = prompt + generated["output_ids"]
    scored = generate(input_ids=ids, logprob_start_len=len(prompt) - 1, sampling_params={"max_new_tokens": 0})
    assert [entry[0] for entry in scored["meta_info"]["input_token_logprobs"]] == [None] + expected
    # As lm-evaluation-harness requests log-likelihoods, and whether they are those of greedy decoding.
    logprobs = client.completions.create(
        model="demo", prompt=ids, echo=True, logprobs=1, max_tokens=1, temperature=0).choices[0].logprobs
    assert logprobs.token_logprobs[0] is None
    assert logprobs.token_logprobs[len(prompt):-1] == expected
    tops = [max(top.values()) for top in logprobs.top_logprobs[len(prompt):-1]]
    assert tops == expected


def test_logprobs_of_chat(client):
    content = chat(client, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    for entry in content:
        assert len(entry.top_logprobs) == 3
        assert [top.logprob for top in entry.top_logprobs] == sorted((t.logprob for t in entry.top_logprobs), reverse=True)
        assert math.isclose(entry.top_logprobs[0].logprob, entry.logprob, abs_tol=1e-5)


def test_errors(client):
    for fields, words in [
        ({"temperature": -1}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"max_tokens": -3}, "max_tokens"),
        ({"n": 100_000}, "n"),
        ({"logprobs": 99}, "logprobs"),
        ({"prompt": "word " * 5000}, "context"),
        ({"extra_body": {"response_format": {"type": "xml"}}}, "response_format"),
        ({"extra_body": {"guided_regex": "(a"}}, "guided_regex"),
        ({"extra_body": {"guided_json": {"type": "array", "uniqueItems": True}}}, "uniqueItems"),
    ]:
        with pytest.raises(openai.BadRequestError, match=words):
            complete(client, **fields)
    with pytest.raises(openai.NotFoundError):
        complete(client, model="other")
    with pytest.raises(openai.BadRequestError):
        chat(client, messages=[])
    with pytest.raises(openai.BadRequestError):
        complete(client, prompt="word " * 5000, stream=True)  # as a status, not inside the stream


def test_fields_are_done_or_refused_by_name(client):
    text = complete(client).choices[0].text
    word = max(text.split(), key=len)
    without = complete(client, extra_body={"bad_words": [word]}).choices[0].text
    assert without != text
    for name, value in {"stop_regex": "a", "max_token": 3, "chat_template": "x"}.items():
        with pytest.raises(openai.BadRequestError, match=name):
            complete(client, extra_body={name: value})
        with pytest.raises(openai.BadRequestError, match=name):
            chat(client, extra_body={name: value})
    chat(client, user="u", store=True, metadata={"a": "b"}, service_tier="auto", modalities=["text"],
         parallel_tool_calls=False, tool_choice="none", response_format={"type": "text"})
    sampled = complete(client, temperature=1.5, logprobs=1).choices[0].logprobs
    assert all(token in top for token, top in zip(sampled.tokens, sampled.top_logprobs))


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=20)
    age: int = pydantic.Field(ge=0, le=120)
    tags: list[Literal["a", "b"]] = pydantic.Field(max_length=3)


@pytest.mark.parametrize("temperature", [0, 0.8])
def test_outputs_follow_what_is_asked(client, temperature):
    many = {"max_tokens": 900, "temperature": temperature, "seed": 7}  # this model likes white space
    reply = client.chat.completions.parse(model="demo", messages=MESSAGES, response_format=Person, **many)
    assert isinstance(reply.choices[0].message.parsed, Person) and reply.choices[0].finish_reason == "stop"
    with client.chat.completions.stream(model="demo", messages=MESSAGES, response_format=Person, **many) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == reply.choices[0].message.parsed
    plain = chat(client, response_format={"type": "json_object"}, **many).choices[0]
    assert plain.finish_reason == "length" or isinstance(json.loads(plain.message.content), dict)
    assert client.responses.parse(model="demo", input="What is a list?", text_format=Person, temperature=temperature,
                                  max_output_tokens=900).output_parsed
    choice = complete(client, extra_body={"guided_choice": ["red", "blue"]}, **many).choices[0]
    assert choice.text in ("red", "blue") and choice.finish_reason == "stop"
    text = complete(client, extra_body={"structured_outputs": {"regex": "[A-Z]{3}-[0-9]{4}"}}, **many).choices[0].text
    assert re.fullmatch("[A-Z]{3}-[0-9]{4}", text)
    assert complete(client, extra_body={"grammar": 'root ::= "x"{4} ("y" | "z")'}, **many).choices[0].text[:4] == "xxxx"


def test_client_that_goes_is_forgotten(client, server):
    stream = complete(client, max_tokens=400, stream=True)
    next(iter(stream))
    stream.close()
    wait_until(lambda: is_idle(server.url), "the engine is idle", timeout_s=5)


def test_api_key():
    with shortlist_server("with_key", "--api-key", "right") as process:
        clients = {key: openai.OpenAI(base_url=process.url + "/v1", api_key=key, max_retries=0) for key in ("right", "wrong")}
        assert complete(clients["right"]).choices[0].text
        with pytest.raises(openai.AuthenticationError):
            complete(clients["wrong"])
