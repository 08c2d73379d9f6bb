"""Streams that share the engine with clients that disconnect, in a KV pool too small for all: every complete text
must equal that of the same request run alone. usage: exactly_once.py [PRESET] [--requests N] [--seed N]
Exits with 1 if a text differs or a stream fails."""

import argparse
import json
import random
import socket
import sys
import threading
import time

from server import Server, connect, request, reset

NUM_CLIENTS = 48
NUM_DISTINCT = 60  # requests that are also run alone
GONE_SHARE = 0.1
FLAGS = ["--max-total-tokens", "2048"]

_OPENINGS = ["Once upon a time", "There was a little", "Tom and his dog", "One day, a girl named", "The big red ball"]


def bodies(generator):
    """Yields requests that differ in prompt, length and sampling; half greedy, half at T = 0.8 with a seed."""
    for i in range(NUM_DISTINCT):
        words = generator.sample(["sun", "cat", "tree", "boat", "sad", "happy", "ran", "saw", "home", "toy"], 4)
        sampled = {"temperature": 0.8, "seed": generator.randrange(1 << 30)} if i % 2 else {"temperature": 0}
        yield {
            "model": "demo",
            "prompt": f"{generator.choice(_OPENINGS)} {' '.join(words)}",
            "max_tokens": generator.randrange(16, 128),
            "stream": True,
            **sampled,
        }


def _events(sock):
    """Yields the data of each event of a reply, as it arrives."""
    reply = sock.makefile("rb")
    status = reply.readline()
    if b" 200 " not in status:
        raise ValueError(f"{status!r}: {reply.read(2000)!r}")
    for line in reply:
        if line.startswith(b"data: "):
            data = line[len(b"data: ") :].strip()
            if data == b"[DONE]":
                return
            yield json.loads(data)
    raise ValueError("the stream has no end")


def stream(port, body, gone_after=None):
    """Returns the text of a stream; None if the client left it after `gone_after` events."""
    text = ""
    with connect(port, timeout_s=120) as sock:
        sock.sendall(request("POST", "/v1/completions", body, headers=("Connection: close",)))
        for count, event in enumerate(_events(sock)):
            if "error" in event:
                raise ValueError(event["error"])
            if count == gone_after:
                reset(sock)
                return None
            text += event["choices"][0]["text"] if event["choices"] else ""
    return text


class Run:
    """Clients that take their next request from a shared list."""

    def __init__(self, port, alone, jobs):
        self.port, self.alone, self.jobs = port, alone, jobs
        self.num_same, self.num_gone, self.problems = 0, 0, []
        self._lock = threading.Lock()

    def client(self):
        while True:
            with self._lock:
                if not self.jobs:
                    return
                body, gone_after = self.jobs.pop()
            try:
                text, problem = stream(self.port, body, gone_after), ""
            except (OSError, ValueError, socket.timeout) as error:
                text, problem = None, f"failed: {error!r}"
            if text is not None and text != self.alone[json.dumps(body)]:
                problem = f"{text!r} instead of {self.alone[json.dumps(body)]!r}"
            with self._lock:
                if problem:
                    self.problems.append(f"{json.dumps(body)}: {problem}")
                elif text is None:
                    self.num_gone += 1
                else:
                    self.num_same += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset", nargs="?", default="release")
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--seed", default=random.SystemRandom().randrange(1 << 32))
    flags = parser.parse_args()
    generator = random.Random(str(flags.seed))
    print(f"seed {flags.seed}", flush=True)
    begin = time.monotonic()
    with Server(flags.preset, "exactly_once", FLAGS) as server:
        distinct = list(bodies(generator))
        alone = {json.dumps(body): stream(server.port, body) for body in distinct}
        jobs = []
        for _ in range(flags.requests):
            gone = generator.random() < GONE_SHARE
            jobs.append((generator.choice(distinct), generator.randrange(12) if gone else None))
        run = Run(server.port, alone, jobs)
        threads = [threading.Thread(target=run.client, daemon=True) for _ in range(NUM_CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        load = server.await_idle(30)
        if load is None or load["num_total_reqs"] or load["num_used_tokens"]:
            run.problems.append(f"not idle afterwards: {load}")
        if (code := server.stop(20)) != 0:
            run.problems.append(f"SIGTERM: exit code {code}")
    print(f"{run.num_same} texts as alone, {run.num_gone} left by their clients, {len(run.problems)} problems, "
          f"{time.monotonic() - begin:.1f} s")
    print(*run.problems[:10], sep="\n")
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
