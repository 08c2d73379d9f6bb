"""Servers as separate processes, each on a free port."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import requests

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "clients"
TOOLS = BUILD / "tools/bin/python"  # with litellm, lm_eval and sglang's benchmark


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(holds, what, timeout_s=30.0):
    """Polls `holds` until it returns a true value, and returns this value. Connection errors count as false."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if result := holds():
                return result
        except requests.RequestException:
            pass
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        time.sleep(0.05)


class Process:
    """A server that can be started, killed and started again under the same address."""

    def __init__(self, name, command, ready_path, port=None):
        self.name, self.command, self.ready_path = name, command, ready_path
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = BUILD / f"{name}.log"
        self.process = None

    def start(self):
        command = [str(part).format(port=self.port, url=self.url) for part in self.command]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=BUILD)
        try:
            wait_until(self.ready, f"{self.name} is ready; see {self.log}")
        except BaseException:
            self.kill()
            raise
        return self

    def ready(self):
        assert self.process.poll() is None, f"{self.name} exited with {self.process.returncode}; see {self.log}"
        return requests.get(self.url + self.ready_path, timeout=1).ok

    def kill(self):
        """Kills it as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Requests a stop and returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


def shortlist_server(name, *flags):
    """`shortlist serve` with the shipped pair."""
    command = [ROOT / "build/release/shortlist", "serve", "--port", "{port}", *flags]
    return Process(name, command, "/health")


def run_tool(*command):
    """Runs TOOLS to its end, which must be successful. Returns its output."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(BUILD / "hub"), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run([TOOLS, *map(str, command)], env=environment, cwd=BUILD, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def load(url):
    """Returns the load that the server reports."""
    return requests.get(url + "/v1/loads", timeout=10).json()["loads"][0]


def is_idle(url):
    now = load(url)
    return now["num_running_reqs"] == 0 and now["num_waiting_reqs"] == 0
