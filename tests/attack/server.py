"""Runs `shortlist serve` with the demo pair as a process that never outlives its runner, and plain sockets to it."""

import contextlib
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADMIN_KEY = "of-the-admin"
PROBE_SOURCE = "127.0.0.2"  # the attacker is 127.0.0.1

_PR_SET_PDEATHSIG = 1
_REPORT = re.compile(r"(ERROR|WARNING): \w+Sanitizer|runtime error:|terminate called|check failed", re.IGNORECASE)


def _end_with_parent():
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """Started by `with`, on the main thread; killed at the end if it is still running."""

    def __init__(self, preset, name, flags=()):
        self.binary = ROOT / "build" / preset / "shortlist"
        self.log = ROOT / "build" / "attack" / f"{name}.{preset}.log"
        self.flags = ["--admin-key", ADMIN_KEY, *flags]
        self.process = None
        self.port = None

    def __enter__(self):
        self.log.parent.mkdir(parents=True, exist_ok=True)
        environment = dict(os.environ)
        environment["ASAN_OPTIONS"] = "quarantine_size_mb=16:allocator_may_return_null=1"
        environment["UBSAN_OPTIONS"] = "print_stacktrace=1"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--port", "0", *self.flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                preexec_fn=_end_with_parent,
            )
        try:
            self._await_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_):
        self.kill()

    def _await_ready(self, timeout_s=60.0):
        deadline = time.monotonic() + timeout_s
        while self.port is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {self.log.read_text(errors='replace')[-2000:]}")
            if ready := re.search(r"ready.* port=(\d+)", self.log.read_text(errors="replace")):
                self.port = int(ready[1])
            time.sleep(0.05)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def stop(self, timeout_s):
        """Requests a stop. Returns the exit code, or None if the server did not stop within the time."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def reports(self):
        """Returns the lines of the log in which a sanitizer or a broken invariant is reported."""
        with self.log.open(errors="replace") as log:
            return [line.strip()[:200] for line in log if _REPORT.search(line)]

    def load(self, timeout_s=10):
        return json.loads(get(self.port, "/v1/loads", timeout_s)[1])["loads"][0]

    def await_idle(self, timeout_s):
        """Waits until the server is idle. Returns the last load that it reported; None if none."""
        deadline = time.monotonic() + timeout_s
        load = None
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError):
                load = self.load(timeout_s)
                if is_idle(load):
                    break
            time.sleep(0.1)
        return load


def is_idle(load):
    return load["num_total_reqs"] == 0 and load["num_used_tokens"] == 0


def rss_mb(pid):
    """Returns the resident memory of a process; 0 if it has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def connect(port, timeout_s=5.0, source="", receive_bytes=0):
    sock = socket.socket()
    try:
        sock.settimeout(timeout_s)
        if receive_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if source:
            sock.bind((source, 0))
        sock.connect(("127.0.0.1", port))
    except BaseException:
        sock.close()
        raise
    return sock


def reset(sock):
    """Ends a connection as the kernel does for a killed process with unread data."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()


def get(port, target, timeout_s=10.0, source=PROBE_SOURCE):
    """Returns status and body of a GET on its own connection, all within the time, else raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    with connect(port, timeout_s, source) as sock:
        sock.sendall(request("GET", target, headers=("Connection: close",)))
        reply = b""
        while True:
            sock.settimeout(max(deadline - time.monotonic(), 0.001))
            piece = sock.recv(1 << 16)
            if not piece:
                break
            reply += piece
    head, _, body = reply.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body


def request(method, target, body=None, headers=()):
    """Returns the bytes of a request; `body` is JSON, bytes, or None for none."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {ADMIN_KEY}", *headers]
    if body is None:
        return ("\r\n".join(lines) + "\r\n\r\n").encode()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data
