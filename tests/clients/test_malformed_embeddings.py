"""A thousand requests to the routes of encoders with one error each. Each is rejected in the format of its dialect,
with the name of the error, and changes nothing. SEED=N draws the same requests again."""

import http.client
import json
import os
import random

import pytest
from malformed import MUTATIONS, OVERFLOW, ROUTES
from processes import BUILD, is_idle, shortlist_server
from tiny_encoder import write_tiny_encoder

NUM_REQUESTS = 1000
VOLATILE = {"id", "created", "e2e_latency"}


@pytest.fixture(scope="module")
def server(judge):
    embed = write_tiny_encoder(BUILD / "embed", "bert", heads=True)
    with shortlist_server("malformed", "--embed-model", embed, "--rerank-model", judge) as process:
        yield process
        assert process.stop() == 0


class Client:
    def __init__(self, server):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)

    def ask(self, method, path, body=None, content_type="application/json"):
        """Returns status and JSON of the reply."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._connection.request(method, path, data, {"Content-Type": content_type})
        reply = self._connection.getresponse()
        return reply.status, json.loads(reply.read() or "null")


def results(reply):
    """Returns the parts of a reply about texts, to the last bit, without times."""
    if isinstance(reply, dict):
        return {key: results(value) for key, value in reply.items() if key not in VOLATILE}
    return [results(value) for value in reply] if isinstance(reply, list) else reply


def check_refusal(route, wrong, status, reply):
    if route.dialect == "tei":
        assert (status, reply["error_type"]) == (wrong.status, "Validation")
        message = reply["error"]
        assert wrong.param in (None, "model") or message.startswith(wrong.param + ": ")
    else:
        error = reply["error"]
        assert (error["param"], error["code"]) == (wrong.param, wrong.code)
        assert error["type"] == "invalid_request_error"
        message = error["message"]
        if route.dialect == "fastchat":
            assert reply["text"] == message
            assert reply["error_code"] == (40001 if wrong.param is None else 40303 if wrong.code == OVERFLOW else 40302)
        assert status == (200 if route.dialect == "fastchat" else wrong.status)
    assert wrong.words in message and len(message) < 1000


def test_a_wrong_request_is_refused_by_name_and_changes_nothing(server):
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
    print("seed", seed)
    draw, client = random.Random(seed), Client(server)
    expected = {}
    for i, route in enumerate(ROUTES):
        status, reply = client.ask("POST", route.path, route.valid)
        assert status == 200, (route, reply)
        expected[i] = results(reply)
    for number in range(NUM_REQUESTS):
        i = draw.randrange(len(ROUTES))
        route = ROUTES[i]
        mutation = draw.choice(MUTATIONS)
        wrong = mutation(draw, route)
        status, reply = client.ask("POST", route.path, wrong.body)
        try:
            if wrong.status == 200:
                assert status == 200 and results(reply) == expected[i]
            else:
                check_refusal(route, wrong, status, reply)
            assert client.ask("GET", "/health")[0] == 200
            status, again = client.ask("POST", route.path, route.valid)
            assert status == 200 and results(again) == expected[i]
        except (AssertionError, KeyError, TypeError) as error:
            pytest.fail(f"seed {seed}, request {number}, {mutation.__name__}: {route.path} {str(wrong)[:600]}\n"
                        f"got {status} {str(reply)[:600]}\n{error!r}")
    assert is_idle(server.url)


def test_methods_and_content_types(server):
    client = Client(server)
    for route in ROUTES:
        assert client.ask("POST", route.path, b"", "application/json")[0] in (200, 400)
        assert client.ask("DELETE", route.path, route.valid)[0] == 405
        assert client.ask("POST", route.path, route.valid, "text/plain")[0] == 415
        assert client.ask("POST", route.path, route.valid, "application/json; charset=utf-8")[0] == 200
