"""Malformed and mutated HTTP, oversized bodies, clients that do not read. Each attack is a function of (port, random)
that opens a bounded number of connections and ends within a few seconds."""

import contextlib
import socket
import time

import storm
from server import ADMIN_KEY, connect, request, reset

BODY_BYTES = 8 << 20  # the server's default limit
HOLD_S = 1.0

_HEAD = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN_KEY}\r\n".encode()
_JSON = b"Content-Type: application/json\r\n"
_CHUNKED = _HEAD + _JSON + b"Transfer-Encoding: chunked\r\n"
_SMALL = b'{"model": "demo", "prompt": "Once", "max_tokens": 1}'

# Each is sent unchanged.
MALFORMED = [
    _HEAD + _JSON + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    _HEAD + _JSON + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    _HEAD + _JSON + b"Content-Length: -1\r\n\r\n",
    _HEAD + _JSON + b"Content-Length: 99999999999999999999\r\n\r\n",
    _HEAD + _JSON + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    _HEAD + _JSON + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    _HEAD + b"X-Folded: a\r\n b\r\n\tc\r\n\r\n",
    _HEAD + b"X-Null: a\0b\r\n\r\n",
    _HEAD + b": no name\r\n\r\n",
    _HEAD + b"Space : before colon\r\n\r\n",
    _CHUNKED + b"\r\nffffffffffffffffff\r\n",
    _CHUNKED + b"\r\n-1\r\n",
    _CHUNKED + b"\r\n5;" + b"e=" * 20000 + b"\r\nabcde\r\n0\r\n\r\n",
    _CHUNKED + b'\r\n5;a="\r\n"\r\nabcde\r\n0\r\n\r\n',
    _CHUNKED + b"\r\n5\r\nabcdeXX0\r\n\r\n",
    b"GET /health HTTP/9.9\r\n\r\n",
    b"GET /health HTTP/1.1\r\n\r\n",
    b"GET  /health  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%00%ff%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET " + b"/" * 60000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://a:b@[::1]:99999/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    b"\r\n" * 5000,
    b"\0" * 5000,
]

# Bodies for generation.
BODIES = [
    b"[" * 500_000,
    b'{"a":' * 200_000,
    b'{"prompt": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"model": "demo", "prompt": [' + b"1," * 2_000_000 + b"1]}",
    b'{"model": "demo", "prompt": "' + b"\\ud800" * 10_000 + b'"}',
    b'{"model": "demo", "prompt": "\xff\xfe\x80"}',
    b"{" + b",".join(b'"k%d": 1' % i for i in range(100_000)) + b"}",
    b'{"model": "demo", "prompt": "a", "max_tokens": 1e400, "n": 18446744073709551616}',
    b'{"model": "demo", "prompt": "' + b"a" * (1 << 20) + b'"}',
    b'{"model": "demo", "prompt": "' + b"a" * (BODY_BYTES - 64) + b'"}',
    b'{"model": "demo", "prompt": "' + b"word " * (BODY_BYTES // 5 - 20) + b'"}',
]


def _send(sock, data):
    """Returns False if the server has closed the connection or stopped reading."""
    with contextlib.suppress(OSError):
        sock.sendall(data)
        return True
    return False


def _drop(sock, random):
    reset(sock) if random.random() < 0.5 else sock.close()


def _read_some(sock, timeout_s):
    sock.settimeout(timeout_s)
    with contextlib.suppress(OSError):
        sock.recv(1 << 16)


def malformed(port, random):
    with connect(port) as sock:
        _send(sock, random.choice(MALFORMED))
        if random.random() < 0.5:
            sock.shutdown(socket.SHUT_WR)
        _read_some(sock, 0.5)


def mutated(requests, port, random):
    """Sends a valid request with a few bytes changed, removed, duplicated or inserted."""
    data = bytearray(random.choice(requests))
    for _ in range(random.randint(1, 8)):
        at = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0:
                data[at : at + 1] = random.randbytes(1)
            case 1:
                del data[at : at + random.randint(1, 16)]
            case 2:
                data[at:at] = data[at : at + random.randint(1, 64)]
            case 3:
                data[at:at] = random.choice([b"\r\n", b"\0", b" ", b":", b'"', b"{", b"99999999999", b"\xff"])
            case 4:
                data[at:at] = random.randbytes(random.randint(1, 8))
    with connect(port) as sock:
        _send(sock, bytes(data))
        _read_some(sock, 0.05)


def body(port, random):
    with connect(port) as sock:
        _send(sock, request("POST", random.choice(["/v1/completions", "/generate", "/tokenize"]), random.choice(BODIES)))
        _read_some(sock, 5)


def _endless(port, random, start, piece):
    """Sends `piece` until the server stops reading, at most 64 MB."""
    with connect(port, timeout_s=1.0) as sock:
        _send(sock, start)
        end = time.monotonic() + 3
        for _ in range((64 << 20) // len(piece)):
            if not _send(sock, piece) or time.monotonic() > end:
                break
        _drop(sock, random)


def endless_headers(port, random):
    _endless(port, random, _HEAD, b"X-Header: " + b"a" * 1000 + b"\r\n")


def endless_trailers(port, random):
    _endless(port, random, _CHUNKED + b"\r\n34\r\n" + _SMALL + b"\r\n0\r\n", b"X-Trailer: " + b"a" * 1000 + b"\r\n")


def endless_extension(port, random):
    _endless(port, random, _CHUNKED + b"\r\n5;", b"name=value;" * 100)


def endless_chunks(port, random):
    _endless(port, random, _CHUNKED + b"\r\n", b"1\r\n \r\n" * 1000)


def unread_refusals(port, random):
    """Sends a pipeline of requests that are rejected, and never reads the replies."""
    with connect(port, timeout_s=1.0, receive_bytes=2048) as sock:
        piece = random.choice(
            [
                b"GET /no/such/route HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200,
                b"GET /vocab HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200,
                request("POST", "/v1/completions", b"{}") * 100,
                request("GET", "/openapi.json") * 200,
            ]
        )
        end = time.monotonic() + 2
        while time.monotonic() < end and _send(sock, piece):
            pass
        _drop(sock, random)


def half_sent(port, random):
    """Sends many bodies without their last byte."""
    data = request("POST", "/generate", b'{"text": "' + b"a" * (BODY_BYTES - 32) + b'"}')[:-1]
    held = []
    try:
        for _ in range(48):
            held.append(connect(port, timeout_s=1.0))
            if not _send(held[-1], data):
                break
        time.sleep(HOLD_S)
    finally:
        for sock in held:
            _drop(sock, random)


def idle(port, random):
    """Opens many connections that send nothing, or one byte."""
    held = []
    try:
        with contextlib.suppress(OSError):
            for _ in range(400):
                held.append(connect(port))
                if random.random() < 0.5:
                    _send(held[-1], b"G")
        time.sleep(HOLD_S)
    finally:
        for sock in held:
            _drop(sock, random)


def wide(port, random):
    """Requests the largest reply that a small request can cause, and reads it slowly or not at all."""
    chat = storm.BODIES["/v1/chat/completions"][0] | {
        "n": 128,
        "max_tokens": 400,
        "logprobs": True,
        "top_logprobs": 20,
        "temperature": 1,
        "stream": random.random() < 0.7,
    }
    with connect(port, timeout_s=0.2, receive_bytes=2048) as sock:
        _send(sock, request("POST", "/v1/chat/completions", chat))
        end = time.monotonic() + random.uniform(0.5, 4)
        reads = random.random() < 0.5
        while time.monotonic() < end:
            if reads:
                with contextlib.suppress(TimeoutError):
                    if not sock.recv(256):
                        break
            time.sleep(0.02)
        _drop(sock, random)


def health_generate(port, random):
    held = []
    try:
        with contextlib.suppress(OSError):
            for _ in range(100):
                held.append(connect(port))
                _send(held[-1], request("GET", "/health_generate"))
        for sock in held:
            _read_some(sock, random.choice([0.001, 0.05]))
    finally:
        for sock in held:
            _drop(sock, random)


def workers(port):
    """Returns one function(random) per thread: light attacks on some, heavy ones on the others."""
    requests = storm.all_requests(port)
    light = [malformed, lambda port, random: mutated(requests, port, random)]
    endless = [endless_headers, endless_trailers, endless_extension, endless_chunks, unread_refusals]
    many = [idle, health_generate, half_sent]

    def of(attacks):
        return lambda random: random.choice(attacks)(port, random)

    return [of(light), of(light), of(endless), of(many), of([body]), of([wide]), of([wide])]
