#!/usr/bin/env python3
"""Compares log-probabilities and perplexity with llama.cpp's, of one GGUF file that both read.

Text is the standard library of the Python that runs this, as far as it is needed: prose and code. Prints, for the
tokens of all windows but the first of each, the mean and the largest difference of log-probabilities, and both
perplexities.

usage: bench/real/agreement.py FILE.gguf [--tokens 20000] [--window 512] [--threads N] [--shortlist PROGRAM]
Needs: pip install llama-cpp-python numpy
"""

import argparse
import json
import math
import os
import pathlib
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/peers"))
from llama_cpp_engine import LlamaCppEngine  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path, metavar="FILE.gguf")
    parser.add_argument("--shortlist", type=pathlib.Path, default=ROOT / "build/release/shortlist")
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--window", type=int, default=512, help="tokens of a sequence")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if not 2 <= arguments.window <= arguments.tokens:
        parser.error(f"--window {arguments.window}: not between 2 and --tokens {arguments.tokens}")
    return arguments


def read_text(num_characters):
    """Returns at least so many characters, in an order that depends on names alone."""
    text = ""
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text += path.read_text("utf-8")
        if len(text) >= num_characters:
            return text
    sys.exit(f"agreement.py: the standard library has only {len(text)} characters")


class Server:
    """`shortlist serve` on a free port of this machine, for the time of a `with`."""

    def __init__(self, arguments):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [arguments.shortlist, "serve", "--model", arguments.model, "--port", str(port), "--threads",
             str(arguments.threads), "--log-file", os.devnull])  # fmt: skip

    def __enter__(self):
        while True:
            if self._process.poll() is not None:
                sys.exit(f"agreement.py: shortlist serve ended with exit code {self._process.returncode}")
            try:
                urllib.request.urlopen(self._url + "/health").close()
                return self
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.2)

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()

    def post(self, path, body):
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def log_probabilities(self, ids):
        """Returns those of ids[1:], each after the ids before it."""
        reply = self.post("/generate", {"input_ids": ids, "return_logprob": True, "logprob_start_len": 0,
                                        "sampling_params": {"max_new_tokens": 1, "temperature": 0}})  # fmt: skip
        return numpy.array([entry[0] for entry in reply["meta_info"]["input_token_logprobs"][1:]])


class Peer(LlamaCppEngine):
    def log_probabilities(self, ids):
        self.clear()
        self.forward([(token, position, 0, True) for position, token in enumerate(ids)])
        result = []
        for position, token in enumerate(ids[1:]):
            row = numpy.frombuffer(self.logits(position), numpy.float32).astype(numpy.float64)
            result.append(row[token] - row.max() - math.log(numpy.exp(row - row.max()).sum()))
        return numpy.array(result)


def main():
    arguments = parse_arguments()
    peer = Peer(arguments.model, arguments.threads, 1, arguments.window, arguments.window)
    ours, theirs = [], []
    with Server(arguments) as server:
        text = read_text(6 * arguments.tokens)
        ids = server.post("/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]
        if len(ids) < arguments.tokens:
            sys.exit(f"agreement.py: the text has only {len(ids)} tokens; expected --tokens {arguments.tokens}")
        num_windows = arguments.tokens // arguments.window
        for window in range(num_windows):
            part = ids[window * arguments.window : (window + 1) * arguments.window]
            ours.append(server.log_probabilities(part))
            theirs.append(peer.log_probabilities(part))
            print(f"\rwindow {window + 1} of {num_windows}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    ours, theirs = numpy.concatenate(ours), numpy.concatenate(theirs)
    differences = numpy.abs(ours - theirs)
    perplexities = [math.exp(-values.mean()) for values in (ours, theirs)]
    print(f"{arguments.model.name}: {len(ours)} tokens, log-probabilities differ by {differences.mean():.4f} on average, "
          f"{differences.max():.2f} at most; perplexity {perplexities[0]:.3f}, llama.cpp {perplexities[1]:.3f} "
          f"({100 * (perplexities[0] / perplexities[1] - 1):+.2f} %)")  # fmt: skip


if __name__ == "__main__":
    main()
