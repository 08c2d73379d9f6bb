"""Watches a server from a separate process, so that the attacker's load on the interpreter is not measured."""

import multiprocessing
import time
from dataclasses import dataclass, field

from server import get, rss_mb

INTERVAL_S = 0.1
LIMIT_S = 5.0


@dataclass
class Watch:
    seconds: list = field(default_factory=list)  # of each reply to GET /health
    failures: list = field(default_factory=list)  # failed requests to /health
    start_rss_mb: float = 0.0
    most_rss_mb: float = 0.0

    def p99(self):
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] if ordered else 0.0

    def worst(self):
        return max(self.seconds, default=0.0)


def _ask(watch, port):
    begin = time.monotonic()
    try:
        status, _ = get(port, "/health", LIMIT_S)
        problem = "" if status == 200 else f"status {status}"
    except OSError as error:
        problem = str(error) or type(error).__name__
    seconds = time.monotonic() - begin
    watch.seconds.append(seconds)
    if problem:
        watch.failures.append(f"/health after {seconds:.2f} s: {problem}")


def _watch(port, pid, channel):
    watch = Watch(start_rss_mb=rss_mb(pid))
    while not channel.poll():
        begin = time.monotonic()
        _ask(watch, port)
        while True:
            watch.most_rss_mb = max(watch.most_rss_mb, rss_mb(pid))
            if time.monotonic() >= begin + INTERVAL_S or channel.poll():
                break
            time.sleep(INTERVAL_S / 5)
    channel.send(watch)


class Probe:
    """Requests /health every 100 ms and samples the memory between `with` and finish()."""

    def __init__(self, port, pid):
        self._channel, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_watch, args=(port, pid, theirs), daemon=True)

    def __enter__(self):
        self._process.start()
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.join()

    def finish(self):
        self._channel.send("end")
        assert self._channel.poll(LIMIT_S + 10), "the probe does not answer"
        return self._channel.recv()
