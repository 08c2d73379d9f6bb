"""SGLang's benchmark of servers, bench_serving.py, which reports the accept length of speculative decoding."""

import json
import re

import pytest
import requests
from processes import ROOT, TOOLS, run_tool, shortlist_server

pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="sglang could not be installed")

NUM_PROMPTS = 8


@pytest.fixture(scope="module")
def server():
    """It always drafts; with measured costs the benchmark's load might not be worth it."""
    with shortlist_server("sglang_bench", "--draft-p-min", "0.35") as process:
        yield process
        assert process.stop() == 0


@pytest.fixture(scope="module")
def benchmark(server, tmp_path_factory):
    """Runs the benchmark against a backend. Returns its output and the row that it writes."""
    folder = tmp_path_factory.mktemp("bench")
    [script] = TOOLS.parents[1].glob("lib/python*/site-packages/sglang/bench_serving.py")

    def benchmark(backend):
        rows = folder / f"{backend}.jsonl"
        printed = run_tool(script, "--backend", backend, "--base-url", server.url, "--dataset-name", "random-ids",
                           "--random-input-len", "48", "--random-output-len", "32", "--random-range-ratio", "0.5",
                           "--num-prompts", NUM_PROMPTS, "--tokenizer", ROOT / "models/demo/target", "--output-file", rows)
        return printed, json.loads(rows.read_text())

    return benchmark


def test_generate_with_the_accept_length(server, benchmark):
    printed, row = benchmark("sglang")
    assert row["completed"] == NUM_PROMPTS
    assert row["total_output_tokens"] > 0
    want = requests.get(server.url + "/server_info", timeout=10).json()["internal_states"][0]["avg_spec_accept_length"]
    assert row["accept_length"] == want > 1
    assert re.search(rf"^Accept length: +{want:.2f} *$", printed, re.MULTILINE)


@pytest.mark.parametrize("backend", ["sglang-oai", "sglang-oai-chat"])
def test_openais_routes(benchmark, backend):
    _, row = benchmark(backend)
    assert row["completed"] == NUM_PROMPTS
