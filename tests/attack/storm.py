"""Requests to every route whose clients disconnect at any moment, by FIN or by RST."""

import contextlib
import json
import socket
import sys
import time

from server import ROOT, connect, get, request, reset

sys.path.append(str(ROOT / "tests/support"))
from tiny_encoder import write_tiny_encoder  # noqa: E402

NUM_THREADS = 6
UNLISTED = ["/docs", "/no/such/route", "/v1/models/unknown"]  # GET routes that /openapi.json does not list

_WORDS = " ".join(f"the cat sat on mat {i}" for i in range(2000))
_CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Once upon"}], "max_tokens": 48}
_COMPLETION = {"model": "demo", "prompt": ["Once", "There was"], "max_tokens": 48, "n": 3, "logprobs": 5}
_GENERATE = {
    "text": ["Once", "There was"],
    "return_logprob": True,
    "top_logprobs_num": 5,
    "sampling_params": {"max_new_tokens": 48, "ignore_eos": True, "n": 2},
}
_WORKER = {"model": "demo", "prompt": "Once", "max_new_tokens": 48, "temperature": 0.8, "stream_interval": 1}
_RESPONSE = {"input": "Once", "max_output_tokens": 48}
_TOKENIZE = [{"prompt": "a cat"}, {"prompt": [_WORDS] * 4}]
_DETOKENIZE = [{"tokens": [5, 6, 7]}, {"tokens": [[5, 6, 7]] * 64}]

_TEXTS = [f"text {i}" for i in range(500)]
_RERANK = {"query": "q", "documents": _TEXTS}
_SCORE = {"text_1": "q", "text_2": _TEXTS}

# For every route without GET; None: it has no body.
BODIES = {
    "/v1/chat/completions": [_CHAT, _CHAT | {"stream": True}],
    "/v1/completions": [_COMPLETION, _COMPLETION | {"stream": True}, _COMPLETION | {"prompt": _WORDS[:1500]}],
    "/v1/responses": [_RESPONSE, _RESPONSE | {"stream": True}],
    "/ping": [None],
    "/generate": [_GENERATE, _GENERATE | {"stream": True}],
    "/worker_generate": [_WORKER],
    "/worker_generate_stream": [_WORKER],
    "/count_token": [{"prompt": _WORDS}],
    "/worker_get_status": [None],
    "/worker_get_conv_template": [None],
    "/model_details": [None],
    "/tokenize": _TOKENIZE,
    "/v1/tokenize": _TOKENIZE,
    "/detokenize": _DETOKENIZE,
    "/v1/detokenize": _DETOKENIZE,
    "/v1/embeddings": [{"input": _TEXTS}, {"input": "a"}, {"input": _TEXTS, "embedding_types": ["sparse", "colbert"]}],
    "/v1/rerank": [_RERANK],
    "/v2/rerank": [_RERANK],
    "/infinity/rerank": [_RERANK],
    "/v2/embed": [{"input_type": "search_document", "texts": ["a", "b"]}],
    "/rerank": [{"query": "q", "texts": _TEXTS}],
    "/worker_get_embeddings": [{"input": _TEXTS}],
    "/embed": [{"inputs": _TEXTS}],
    "/embed_sparse": [{"inputs": _TEXTS}],
    "/predict": [{"inputs": ["q", "a"]}],
    "/encode": [{"text": _TEXTS}],
    "/score": [_SCORE],
    "/v1/score": [_SCORE],
    "/classify": [{"input": _TEXTS}],
    "/v1/classify": [{"input": _TEXTS}],
    "/abort_request": [{"rid": "nobody"}],
    "/abort_all_requests": [None],
    "/flush_cache": [None],
    "/vocab/base": [{}, {"top": 256, "successors": 64}],
    "/vocab/ids": [{"ids": list(range(300, 364))}],
}


def server_flags():
    """Returns flags for the demo pair, which must be named if it is not alone, and for encoders."""
    directory, demo = ROOT / "build/attack/encoders", ROOT / "models/demo"
    return [
        *("--model", demo / "target", "--draft", demo / "draft", "--served-model-name", "demo"),
        *("--vocab", f"{ROOT}/vocab_lists/demo.vocab.json:top=512:successors=384", "--dynamic-rows", "128"),
        *("--conv-template", "zero_shot"),
        *("--embed-model", write_tiny_encoder(directory / "embed", "bert", heads=True)),
        *("--rerank-model", write_tiny_encoder(directory / "rerank", "bert_classification")),
    ]


def all_requests(port):
    """Returns requests to every route that the server lists, and to some that it does not."""
    document = json.loads(get(port, "/openapi.json")[1])
    requests = [request("GET", path) for path in UNLISTED]
    for path, operations in document["paths"].items():
        target = path.replace("{id}", "demo")
        for method in operations:
            if method == "get":
                requests += [request("GET", target), request("HEAD", target)]
                continue
            assert path in BODIES, f"no body is known here for {method} {path}"
            requests += [request(method.upper(), target, body) for body in BODIES[path]]
    return requests


def check_served(port, requests):
    """Checks that each request is valid before it is cut short: a storm of rejections would show little."""
    for data in requests:
        with connect(port, timeout_s=30.0) as sock:
            sock.sendall(data)
            reply = sock.recv(4096)
            status = reply[9:12]
        line = data.split(b"\r\n", 1)[0]
        nothing_yet = status == b"404" and b" /vocab/" in line  # no token has escaped or been counted
        assert status == b"200" or nothing_yet, f"{line}: {reply[-300:]}"


def visit(port, requests, random):
    """Sends some or all of a request, waits for a moment, and disconnects."""
    data = random.choice(requests)
    if random.random() < 0.15:
        data = data[: random.randrange(len(data))]
    sock = connect(port)
    try:
        with contextlib.suppress(OSError):
            sock.sendall(data)
            stay = random.choice(["not", "wait", "read", "half-closed"])
            if stay == "half-closed":
                sock.shutdown(socket.SHUT_WR)
            if stay in ("read", "half-closed"):
                sock.settimeout(random.uniform(0.001, 0.2))
                sock.recv(random.choice([1, 100, 1 << 16]))
            elif stay == "wait":
                time.sleep(random.expovariate(1 / 0.005))
    finally:
        if random.random() < 0.6:
            reset(sock)
        else:
            sock.close()


def workers(port):
    """Returns one function(random) per thread; each call is short."""
    requests = all_requests(port)
    check_served(port, requests[len(UNLISTED) :])
    return [lambda random: visit(port, requests, random)] * NUM_THREADS
