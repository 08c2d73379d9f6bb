#!/usr/bin/env python3
"""Runs vLLM's CPU build as an embedding engine, with the protocol of bench/encoding_engine.

usage: vllm_engine.py MODEL_DIR THREADS

Reads rows {"ids": [[ID, ...], ...]} from standard input and answers each with {"seconds": S}. The first row that it
writes describes it. It runs in its own environment, since vLLM needs versions that other packages do not accept.
"""

import json
import os
import sys
import time


def main():
    path, threads = sys.argv[1], int(sys.argv[2])
    os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": f"0-{threads - 1}", "HF_HUB_OFFLINE": "1"}
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM and its processes write to both

    import vllm

    model = vllm.LLM(model=path, runner="pooling", dtype="bfloat16", max_model_len=1024, enforce_eager=True,
                     enable_prefix_caching=False)

    def embed(inputs):
        begin = time.perf_counter()
        model.embed([{"prompt_token_ids": ids} for ids in inputs], use_tqdm=False)
        return time.perf_counter() - begin

    embed([[1000] * 1000] * 2)
    print(json.dumps({"vllm": vllm.__version__}), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps({"seconds": embed(json.loads(line)["ids"])}), file=replies, flush=True)


if __name__ == "__main__":
    main()
