"""Detects whether other processes disturb a measurement, and on which processor it runs."""

import os
import time
from pathlib import Path

MAX_SHARE_OF_OTHERS = 0.03


class Quiet:
    """Reports the share of the machine's CPU time that other processes took since construction."""

    TICK = os.sysconf("SC_CLK_TCK")

    def __init__(self, own_pids):
        self._own_pids = own_pids
        self._begin = time.monotonic(), self._others()

    def _others(self):
        """Returns CPU seconds of all processes but our own, including stolen time."""
        user, nice, system, _, _, irq, soft_irq, steal = map(
            int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
        own = 0
        for pid in self._own_pids:
            behind_name = Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1]
            own += sum(map(int, behind_name.split()[11:13]))  # utime and stime
        return (user + nice + system + irq + soft_irq + steal - own) / self.TICK

    def share_of_others(self):
        begin, others = self._begin
        return (self._others() - others) / (time.monotonic() - begin) / os.cpu_count()


def wait_until_quiet(own_pids, deadline):
    while time.monotonic() < deadline:
        quiet = Quiet(own_pids)
        time.sleep(0.3)
        if quiet.share_of_others() < MAX_SHARE_OF_OTHERS:
            return


def processor():
    """Returns the processor's name as reported by Linux."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((l.split(":")[1].strip() for l in lines if l.startswith("model name")), "unknown")
