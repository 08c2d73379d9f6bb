"""langchain-openai, as chat model and as completion model."""

import openai
import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI, OpenAI

MESSAGES = [("system", "Be brief."), ("human", "What is a list?")]


@pytest.fixture(scope="module")
def fields(server):
    return {"base_url": server.url + "/v1", "api_key": "none", "model": "demo", "temperature": 0, "max_tokens": 24,
            "max_retries": 0}


@pytest.fixture(scope="module")
def chat(fields):
    return ChatOpenAI(**fields)


@pytest.fixture(scope="module")
def expected(server):
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is a list?"}]
    return client.chat.completions.create(model="demo", messages=messages, max_tokens=24, temperature=0)


def test_chat(chat, expected):
    reply = chat.invoke(MESSAGES)
    assert reply.content == expected.choices[0].message.content
    assert reply.response_metadata["finish_reason"] == expected.choices[0].finish_reason
    assert reply.usage_metadata["output_tokens"] == expected.usage.completion_tokens


def test_streamed_chat_is_the_whole_one(chat, expected):
    chunks = list(chat.stream(MESSAGES, stream_usage=True))
    assert "".join(chunk.content for chunk in chunks) == expected.choices[0].message.content
    usage = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert sum(part["output_tokens"] for part in usage) == expected.usage.completion_tokens


def test_chain_and_batch(chat, expected):
    chain = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "What is a {what}?")])
    chain = chain | chat | StrOutputParser()
    texts = chain.batch([{"what": "list"}, {"what": "vector"}, {"what": "list"}])
    assert texts[0] == texts[2] == expected.choices[0].message.content


def test_completion(fields):
    model = OpenAI(**fields)
    text = model.invoke("# `vector` class")
    assert text and "".join(model.stream("# `vector` class")) == text


def test_logprobs(chat):
    content = chat.bind(logprobs=True, top_logprobs=2).invoke(MESSAGES).response_metadata["logprobs"]["content"]
    assert all(len(entry["top_logprobs"]) == 2 for entry in content)


def test_overflow_of_the_context_is_told_as_such(chat):
    with pytest.raises(ContextOverflowError):
        chat.invoke("word " * 5000)
