"""Attacks `shortlist serve` for a while and reports how it fared. usage: run.py [SECONDS] [PRESET] [--seed N]
The attacks share the seconds; each has its own server. Exits with 1 if one of them found a fault."""

import argparse
import random
import sys
import threading
import time
from collections import Counter

import framing
import storm
from probe import LIMIT_S, Probe
from server import ROOT, Server, is_idle

ATTACKS = {"storm": storm.workers, "framing": framing.workers}
# Allowed growth since the start: bodies of 8 MiB on some ten connections, their processing by two threads at a time,
# and what the heaps of all threads keep of it.
MORE_RSS_MB = 512
IDLE_S = 30  # from the attack's end to the end of the last live request
EXIT_S = 20


class Attack:
    """The threads of one attack. Errors explained by the server's end are counted; all others are kept."""

    def __init__(self, workers, seed, end):
        self.count, self.refused, self.errors = 0, Counter(), []
        self._end, self._lock = end, threading.Lock()
        self._threads = [
            threading.Thread(target=self._loop, args=(worker, random.Random(f"{seed}.{i}")), daemon=True)
            for i, worker in enumerate(workers)
        ]

    def _loop(self, worker, generator):
        while time.monotonic() < self._end:
            try:
                worker(generator)
            except OSError as error:
                with self._lock:
                    self.refused[type(error).__name__] += 1
                time.sleep(0.01)
            except Exception as error:
                self.errors.append(repr(error))
                return
            with self._lock:
                self.count += 1

    def run(self, is_over):
        for thread in self._threads:
            thread.start()
        while time.monotonic() < self._end and not is_over():
            time.sleep(0.1)
        self._end = 0
        for thread in self._threads:
            thread.join(timeout=30)
            if thread.is_alive():
                self.errors.append("a client hangs")


def attack(name, preset, seconds, seed):
    """Runs an attack. Returns a row of the table, and the faults found."""
    with Server(preset, name, storm.server_flags()) as server:
        workers = ATTACKS[name](server.port)
        with Probe(server.port, server.process.pid) as probe:
            run = Attack(workers, seed, time.monotonic() + seconds)
            run.run(is_over=lambda: server.process.poll() is not None)
            code = server.process.poll()
            watch = probe.finish()
        problems = list(run.errors)
        if code is not None:
            problems.append(f"the server ended during the attack, with {code}")
        else:
            load = server.await_idle(IDLE_S)
            if load is None or not is_idle(load):
                problems.append(f"not idle {IDLE_S} s after the attack: {load}")
            code = server.stop(EXIT_S)
            if code != 0:
                problems.append(f"SIGTERM: not ended within {EXIT_S} s" if code is None else f"SIGTERM: exit code {code}")
        problems += server.reports()[:5]
    problems += watch.failures[:5]
    if watch.worst() > LIMIT_S:
        problems.append(f"/health took up to {watch.worst():.2f} s, more than {LIMIT_S} s")
    more, most_more = watch.most_rss_mb - watch.start_rss_mb, MORE_RSS_MB
    if more > most_more:
        problems.append(f"{more:.0f} MB more memory than at the start, more than {most_more} MB")
    row = (
        f"{name:<8} {preset:<8} {run.count:>8} {sum(run.refused.values()):>8} {len(watch.seconds):>7} "
        f"{1000 * watch.p99():>7.0f} {1000 * watch.worst():>8.0f} {watch.start_rss_mb:>9.0f} {watch.most_rss_mb:>8.0f}  "
        f"{'FAILED' if problems else 'ok'}"
    )
    return row, [f"{name}: {problem}" for problem in problems]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=60)
    parser.add_argument("preset", nargs="?", default="release")
    parser.add_argument("--seed", default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--only", choices=ATTACKS, help="this attack alone")
    flags = parser.parse_args()
    names = [flags.only] if flags.only else list(ATTACKS)
    print(f"seed {flags.seed}; the servers' logs are in {ROOT / 'build/attack'}", flush=True)
    results = [attack(name, flags.preset, flags.seconds / len(names), flags.seed) for name in names]
    print("attack   preset    attacks  refused  probes  p99 ms worst ms start MB  most MB")
    for row, _ in results:
        print(row)
    problems = [problem for _, all_of_one in results for problem in all_of_one]
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
