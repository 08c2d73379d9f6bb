"""A client that ends in the middle of a stream, as by `kill -9`."""

import subprocess
import sys

import requests
from processes import is_idle, wait_until

CLIENT = """
import sys
import requests
body = {"text": "Once", "stream": True, "sampling_params": {"n": 32, "max_new_tokens": 400, "ignore_eos": True}}
response = requests.post(sys.argv[1] + "/generate", json=body, stream=True, timeout=60)
next(response.iter_content(1))
print("streams", flush=True)
for _ in response.iter_content(None):
    pass
"""


def num_aborted(server):
    text = requests.get(server.url + "/metrics", timeout=5).text
    lines = [line for line in text.splitlines() if line.startswith("sglang:num_aborted_requests_total")]
    return float(lines[0].split()[-1])


def test_what_it_asked_for_is_aborted_each_time(server):
    for _ in range(2):
        before = num_aborted(server)
        client = subprocess.Popen([sys.executable, "-c", CLIENT, server.url], stdout=subprocess.PIPE)
        assert client.stdout.readline() == b"streams\n"
        client.kill()
        client.wait()
        wait_until(lambda: is_idle(server.url), "the engine is idle", timeout_s=5)
        wait_until(lambda: num_aborted(server) > before, "its requests were aborted", timeout_s=5)
