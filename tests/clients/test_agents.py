"""Tools, structured output and reasoning through agent libraries. The demo model does not know the marks of calls, so
calls are required: the grammar then makes it write them."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

import openai
import pytest
from processes import BUILD, ROOT, shortlist_server
from pydantic import BaseModel, Field

MESSAGES = [{"role": "user", "content": "How high is the tide at Brest?"}]


class Tide(BaseModel):
    """The tide of a port."""

    port: Literal["Brest", "Nantes"]
    days: int = Field(ge=1, le=9)

    model_config = {"extra": "forbid"}  # the demo model would go on with properties of its own


TOOL = {"type": "function",
        "function": {"name": "tide", "description": "Tide of a port", "parameters": Tide.model_json_schema()}}
CLOCK = {"type": "function",
         "function": {"name": "clock", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}


@pytest.fixture(scope="module")
def checkpoint():
    """The demo model with the chat template of Qwen 3, without reasoning."""
    path = BUILD / "qwen_like"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(ROOT / "models/demo/target", path)
    qwen3 = (ROOT / "tests/reference/golden/chat/qwen3.jinja").read_text()
    assert " and enable_thinking is false" in qwen3
    qwen3 = qwen3.replace("enable_thinking is defined and enable_thinking is false", "true")
    (path / "chat_template.jinja").write_text(qwen3)
    return path


@pytest.fixture(scope="module")
def agents(checkpoint):
    with shortlist_server("agents", "--model", checkpoint, "--served-model-name", "demo") as process:
        yield process
        assert process.stop() == 0


@pytest.fixture(scope="module")
def client(agents):
    return openai.OpenAI(base_url=agents.url + "/v1", api_key="none", max_retries=0)


def ask(client, **fields):
    # In parallel the model would go on calling up to the limit.
    fields = {"model": "demo", "messages": MESSAGES, "tools": [TOOL, CLOCK], "temperature": 0, "max_tokens": 500,
              "parallel_tool_calls": False} | fields
    return client.chat.completions.create(**fields)


def check_call(function):
    assert function.name in ("tide", "clock")
    if function.name == "tide":
        Tide.model_validate_json(function.arguments)
    else:
        assert isinstance(json.loads(function.arguments), dict)


def test_required_calls(client):
    choice = ask(client, tool_choice="required").choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls
    for call in choice.message.tool_calls:
        check_call(call.function)


def test_named_call_is_the_streamed_one(client):
    named = {"type": "function", "function": {"name": "tide"}}
    whole = ask(client, tool_choice=named, parallel_tool_calls=True).choices[0]
    assert whole.finish_reason == "stop"
    (call,) = whole.message.tool_calls
    name, arguments, finish = [], "", None
    for chunk in ask(client, tool_choice=named, stream=True):
        choice = chunk.choices[0]
        for part in choice.delta.tool_calls or []:
            assert part.index == 0
            if part.function.name:
                name.append(part.function.name)
            arguments += part.function.arguments or ""
        finish = choice.finish_reason or finish
    assert (name, arguments, finish) == ([call.function.name], call.function.arguments, "stop")
    Tide.model_validate_json(arguments)


def test_streaming_helper_collects_calls(client):
    with client.chat.completions.stream(model="demo", messages=MESSAGES, tools=[TOOL], tool_choice="required",
                                        parallel_tool_calls=False, temperature=0, max_tokens=500) as stream:
        for _ in stream:
            pass
        message = stream.get_final_completion().choices[0].message
    assert all(Tide.model_validate_json(call.function.arguments) for call in message.tool_calls)


def test_conversation_goes_on_after_results(client):
    message = ask(client, tool_choice="required").choices[0].message
    history = [*MESSAGES, message.model_dump(exclude_none=True)]
    history += [{"role": "tool", "tool_call_id": call.id, "content": "4 m"} for call in message.tool_calls]
    reply = ask(client, messages=history, tool_choice="none", max_tokens=8)
    assert reply.choices[0].message.content


def test_auto_answers_or_calls(client):
    message = ask(client, max_tokens=16).choices[0].message
    assert message.content or message.tool_calls


def test_responses_call_functions(client):
    flat = {"type": "function", "name": "tide", "parameters": Tide.model_json_schema(), "strict": False}
    fields = {"model": "demo", "tools": [flat], "temperature": 0, "max_output_tokens": 500, "parallel_tool_calls": False}
    reply = client.responses.create(input="Tide?", tool_choice="required", **fields)
    (call,) = [item for item in reply.output if item.type == "function_call"]
    Tide.model_validate_json(call.arguments)
    types = [event.type for event in client.responses.create(input="Tide?", tool_choice="required", stream=True, **fields)]
    assert types[-1] == "response.completed"
    assert "response.function_call_arguments.delta" in types
    history = [{"role": "user", "content": "Tide?"}, call.model_dump(exclude_none=True),
               {"type": "function_call_output", "call_id": call.call_id, "output": "4 m"}]
    assert client.responses.create(input=history, tool_choice="none", **fields).output_text


def test_parse_gives_models(client):
    reply = client.chat.completions.parse(model="demo", messages=MESSAGES, response_format=Tide, temperature=0,
                                          max_tokens=500)
    assert reply.choices[0].message.parsed.days in range(1, 10)


def test_langchain(agents):
    langchain = pytest.importorskip("langchain_openai")
    chat = langchain.ChatOpenAI(base_url=agents.url + "/v1", api_key="none", model="demo", temperature=0, max_tokens=500)
    reply = chat.bind_tools([Tide], tool_choice="any", parallel_tool_calls=False).invoke("Tide?")
    assert all(Tide.model_validate(call["args"]) for call in reply.tool_calls)
    assert reply.tool_calls
    for method in ("function_calling", "json_schema"):
        assert isinstance(chat.with_structured_output(Tide, method=method).invoke("Tide?"), Tide)


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA"])
def test_instructor(client, mode):
    instructor = pytest.importorskip("instructor")
    patched = instructor.from_openai(client, mode=getattr(instructor.Mode, mode))
    tide = patched.chat.completions.create(model="demo", response_model=Tide, messages=MESSAGES, temperature=0,
                                           max_tokens=500)
    assert isinstance(tide, Tide)


def test_pydantic_ai(agents):
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=agents.url + "/v1", api_key="none")
    agent = Agent(OpenAIChatModel("demo", provider=provider), output_type=Tide,
                  model_settings={"temperature": 0, "max_tokens": 500, "parallel_tool_calls": False})
    assert isinstance(agent.run_sync("Tide?").output, Tide)


def test_agents_sdk(agents):
    sdk = pytest.importorskip("agents")
    sdk.set_tracing_disabled(True)
    calls = []

    @sdk.function_tool
    def tide(port: Literal["Brest", "Nantes"]) -> str:
        calls.append(port)
        return "4 m"

    for model_class in (sdk.OpenAIChatCompletionsModel, sdk.OpenAIResponsesModel):
        calls.clear()
        model = model_class("demo", openai.AsyncOpenAI(base_url=agents.url + "/v1", api_key="none"))
        agent = sdk.Agent(name="Pilot", model=model, tools=[tide],
                          model_settings=sdk.ModelSettings(tool_choice="required", temperature=0, max_tokens=60,
                                                           parallel_tool_calls=False))
        result = asyncio.run(sdk.Runner.run(agent, "Tide?"))
        assert calls and result.final_output is not None


def test_smolagents(agents):
    smolagents = pytest.importorskip("smolagents")
    calls = []

    @smolagents.tool
    def tide(port: Literal["Brest", "Nantes"]) -> str:
        """Tells the tide of a port.

        Args:
            port: The port.
        """
        calls.append(port)
        return "4 m"

    model = smolagents.OpenAIModel("demo", api_base=agents.url + "/v1", api_key="none", temperature=0, max_tokens=60,
                                   parallel_tool_calls=False)
    agent = smolagents.ToolCallingAgent(tools=[tide], model=model, max_steps=2, verbosity_level=0)
    agent.prompt_templates["system_prompt"] = "Call a tool."  # the demo's context has 1,024 tokens
    agent.run("How high is the tide at Brest?")
    steps = [step for step in agent.memory.steps if isinstance(step, smolagents.ActionStep)]
    assert steps and all(step.tool_calls for step in steps[:2])
    assert set(calls) <= {"Brest", "Nantes"}


def run_llm(agents, folder, *arguments):
    """Runs the command `llm` with the served model."""
    (folder / "extra-openai-models.yaml").write_text(
        f"- model_id: demo\n  model_name: demo\n  api_base: {agents.url}/v1\n"
        "  supports_schema: true\n  supports_tools: true\n")
    command = [Path(sys.executable).with_name("llm"), "-m", "demo", "--key", "none", "-o", "temperature", "0",
               "-o", "max_tokens", "300", *arguments]
    reply = subprocess.run(command, env=os.environ | {"LLM_USER_PATH": str(folder)}, capture_output=True, text=True,
                           timeout=120)
    assert reply.returncode == 0, reply.stderr
    return reply.stdout


def test_llm_command(agents, tmp_path):
    pytest.importorskip("llm")
    reply = run_llm(agents, tmp_path, "--schema", json.dumps(Tide.model_json_schema()), "Tide?")
    assert isinstance(Tide.model_validate_json(reply), Tide)
    assert run_llm(agents, tmp_path, "--no-stream", "Tide?").strip()
