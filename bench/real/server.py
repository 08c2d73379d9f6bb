"""Runs `shortlist serve` for a measurement."""

import json
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

READY_WITHIN_S = 300


class Server:
    """Started by `with`; ended at its end. Requests are sent one at a time."""

    def __init__(self, binary, flags):
        self._command = [str(part) for part in (binary, "serve", "--port", "0", *flags)]
        self._process = None
        self._url = None

    def __enter__(self):
        self._log = tempfile.TemporaryFile("w+")  # closed in __exit__()
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        deadline = time.monotonic() + READY_WITHIN_S
        while self._url is None:
            self._log.seek(0)
            text = self._log.read()
            if ready := re.search(r"ready.* port=(\d+)", text):
                self._url = f"http://127.0.0.1:{ready[1]}"
            elif self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(f"the server did not start: {text[-2000:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._log.close()

    def _open(self, path, body):
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            return urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.code} {error.read().decode()}") from error

    def post(self, path, body):
        """Returns the reply."""
        with self._open(path, body) as reply:
            return json.load(reply)

    def stream(self, path, body):
        """Yields the events of a stream, each as it arrives."""
        with self._open(path, body | {"stream": True}) as reply:
            for line in reply:
                if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                    yield json.loads(line[6:])
