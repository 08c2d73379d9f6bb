"""examples/nginx.conf in front of a server: TLS, a Unix socket, streams, limits."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
import requests
from processes import ROOT, free_port, is_idle, wait_until

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
if NGINX is None or shutil.which("openssl") is None:
    pytest.skip("nginx or openssl is not installed: scripts/install_deps --clients", allow_module_level=True)

TRACE = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Tell me of vectors"}], "stream": True,
        "temperature": 0}


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Nginx:
    """The example, with all its paths in `directory`."""

    def __init__(self, directory, server_port):
        self.port, self.socket = free_port(), f"{directory}/shortlist.sock"
        self.certificate, key = f"{directory}/shortlist.pem", f"{directory}/shortlist.key"
        self.url = f"https://127.0.0.1:{self.port}"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "1", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", key, "-out", self.certificate], check=True, stderr=subprocess.DEVNULL)
        text = (ROOT / "examples/nginx.conf").read_text(encoding="utf-8")
        temporary = "".join(f"  {name}_temp_path {directory}/{name};\n"
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        for old, new in (("127.0.0.1:30000", f"127.0.0.1:{server_port}"), ("listen 443", f"listen 127.0.0.1:{self.port}"),
                         ("/run/shortlist.sock", self.socket), ("/run/nginx.pid", f"{directory}/nginx.pid"),
                         ("/etc/ssl/certs/shortlist.pem", self.certificate), ("/etc/ssl/private/shortlist.key", key),
                         ("http {\n", "http {\n" + temporary)):
            assert old in text, old
            text = text.replace(old, new)
        config = Path(directory) / "nginx.conf"
        config.write_text(text, encoding="utf-8")
        self.log = open(f"{directory}/log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([NGINX, "-p", directory, "-c", str(config), "-e", "stderr", "-g", "daemon off;"],
                                        stderr=self.log)

    def get(self, path, **options):
        return requests.get(self.url + path, verify=self.certificate, timeout=20, **options)

    def post(self, path, **options):
        return requests.post(self.url + path, verify=self.certificate, timeout=60, **options)

    def ready(self):
        assert self.process.poll() is None, Path(self.log.name).read_text(encoding="utf-8")
        return self.get("/health").ok

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=20)
        self.log.close()


@pytest.fixture(scope="module")
def nginx(server):
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)  # nginx's workers run as another user
        proxy = Nginx(directory, server.port)
        try:
            wait_until(proxy.ready, "nginx is ready")
            yield proxy
        finally:
            proxy.stop()


def text_of(stream):
    events = [line[6:] for line in stream.decode().splitlines() if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    return "".join(json.loads(event)["choices"][0]["delta"].get("content") or "" for event in events[:-1])


def test_a_chat_streams_through_tls_as_it_comes(nginx, server):
    body = CHAT | {"max_tokens": 900, "ignore_eos": True}
    with nginx.post("/v1/chat/completions", json=body, stream=True) as reply:
        assert reply.status_code == 200
        chunks = reply.iter_content(None)
        first = next(chunks)
        assert first.startswith(b"data: ")
        while b'"content":' not in first:
            first += next(chunks)
        assert not is_idle(server.url), "the first event came with the last"
        text = text_of(first + b"".join(chunks))
    direct = requests.post(server.url + "/v1/chat/completions", json=body, timeout=60)
    assert text == text_of(direct.content) and len(text) > 100


def test_a_chat_streams_through_the_unix_socket(nginx, server):
    connection = UnixConnection(nginx.socket)
    connection.request("POST", "/v1/chat/completions", json.dumps(CHAT | {"max_tokens": 50}),
                       {"Content-Type": "application/json"})
    reply = connection.getresponse()
    assert reply.status == 200
    direct = requests.post(server.url + "/v1/chat/completions", json=CHAT | {"max_tokens": 50}, timeout=60)
    assert text_of(reply.read()) == text_of(direct.content)
    connection.close()


def test_ids_go_through_both_ways(nginx):
    reply = nginx.get("/health", headers={"X-Request-Id": "mine-1", "traceparent": TRACE})
    assert reply.headers["X-Request-Id"] == "mine-1"
    assert reply.headers["traceparent"] == TRACE


def test_a_client_that_goes_is_aborted(nginx, server):
    body = CHAT | {"max_tokens": 900, "ignore_eos": True, "n": 16}
    with nginx.post("/v1/chat/completions", json=body, stream=True) as reply:
        assert reply.status_code == 200, reply.text
        chunks = reply.iter_content(None)
        while b'"content":' not in next(chunks):
            pass
        assert not is_idle(server.url)
    wait_until(lambda: is_idle(server.url), "the engine is idle", timeout_s=5)


def test_what_is_for_operators_is_not_served(nginx):
    for path in ("/metrics", "/vocab", "/vocab/stats", "/flush_cache", "/abort_all_requests"):
        assert nginx.get(path).status_code == 404, path


def test_bodies_are_bounded(nginx):
    reply = nginx.post("/v1/completions", data=b"x" * (9 << 20), headers={"Content-Type": "application/json"})
    assert reply.status_code == 413


def test_too_many_requests_of_one_address_are_429(nginx):
    with requests.Session() as session:
        codes = [session.get(nginx.url + "/health", verify=nginx.certificate, timeout=20).status_code for _ in range(120)]
    assert set(codes) == {200, 429}
    wait_until(lambda: nginx.get("/health").ok, "requests are taken again", timeout_s=10)
