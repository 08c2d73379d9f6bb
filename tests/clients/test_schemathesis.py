"""Requests generated from the OpenAPI document: none causes a 5xx or a hang."""

import subprocess
import sys
from pathlib import Path

import requests
from processes import BUILD, is_idle, load, shortlist_server, wait_until


def test_no_request_breaks_the_server():
    # A short context, so that generated texts are short too.
    with shortlist_server("fuzzed", "--admin-key", "of-the-admin", "--context-length", "128") as server:
        capacity = load(server.url)["max_total_num_tokens"]
        command = [Path(sys.executable).with_name("schemathesis"), "run", server.url + "/openapi.json",
                   "--phases", "coverage,fuzzing", "--max-examples", "3", "--seed", "1", "--workers", "2",
                   "--checks", "not_a_server_error", "--request-timeout", "30", "--continue-on-failure",
                   "--header", "Authorization: Bearer of-the-admin", "--no-color"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=80, cwd=BUILD)
        (BUILD / "schemathesis.log").write_text(run.stdout + run.stderr)
        assert run.returncode == 0, run.stdout[-4000:]
        assert requests.get(server.url + "/health", timeout=5).ok
        wait_until(lambda: is_idle(server.url), "the engine is idle", timeout_s=20)
        assert load(server.url)["max_total_num_tokens"] == capacity
        assert server.stop() == 0
