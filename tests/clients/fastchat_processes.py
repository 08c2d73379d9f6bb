"""FastChat 0.2.36's controller and OpenAI API server as processes."""

import json

import requests
from processes import BUILD, Process

PYTHON = BUILD / "fastchat/bin/python"


def controller_process(name):
    command = [PYTHON, "-m", "fastchat.serve.controller", "--host", "127.0.0.1", "--port", "{port}"]
    return Process(name, command, "/test_connection")


def api_process(name, controller):
    command = [PYTHON, "-m", "fastchat.serve.openai_api_server", "--host", "127.0.0.1", "--port", "{port}",
               "--controller-address", controller.url]
    return Process(name, command, "/v1/models")


def models_at(controller):
    return sorted(requests.post(controller.url + "/list_models", timeout=5).json()["models"])


def events(response):
    for line in response.iter_lines():
        if line.startswith(b"data: ") and line != b"data: [DONE]":
            yield json.loads(line[6:])
