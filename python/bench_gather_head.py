"""gather_head next to torch alone, in one process: bf16, 896 wide, 32,768 of 151,936 rows, one token.

usage: python bench_gather_head.py [--seconds S]     (S per way; the ways alternate; best and median of calls)
"""

import argparse
import statistics
import time

import torch

import shortlist

HIDDEN, VOCAB_SIZE, NUM_ROWS, K = 896, 151_936, 32_768, 8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    seconds = parser.parse_args().seconds
    torch.manual_seed(0)
    weight = torch.randn(VOCAB_SIZE, HIDDEN).to(torch.bfloat16)
    hidden = torch.randn(1, HIDDEN).to(torch.bfloat16)
    ids = torch.randperm(VOCAB_SIZE)[:NUM_ROWS].sort().values
    row_ids = ids.to(torch.int32)
    copy = weight.index_select(0, ids)

    def indexed():
        logits = hidden @ weight.index_select(0, ids).T
        values, rows = logits.topk(K)
        return ids[rows], values, logits.float().logsumexp(1)

    def dense():
        return hidden @ copy.T

    def dense_topk():
        logits = hidden @ copy.T
        values, rows = logits.topk(K)
        return ids[rows], values, logits.float().logsumexp(1)

    ways = {
        "index_select + matmul + topk": indexed,
        "matmul over a row copy": dense,
        "matmul over a row copy + topk": dense_topk,
        "shortlist.gather_head": lambda: shortlist.gather_head(hidden, weight, row_ids),
        "shortlist.gather_head_topk": lambda: shortlist.gather_head_topk(hidden, weight, row_ids, K),
    }
    times = {name: [] for name in ways}
    with torch.no_grad():
        for function in ways.values():
            function()
        # Turns of a fraction of a second: each way keeps its threads awake, all see the same neighbours.
        begin = time.perf_counter()
        while time.perf_counter() < begin + seconds * len(ways):
            for name, function in ways.items():
                function()
                turn = time.perf_counter()
                while (now := time.perf_counter()) < turn + 0.1:
                    function()
                    times[name].append(time.perf_counter() - now)

    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads; {VOCAB_SIZE} x {HIDDEN} bf16, {NUM_ROWS} rows")
    print(f"{'way':32s} {'best ms':>8s} {'median':>8s} {'GB/s':>6s}")
    median = {name: statistics.median(values) for name, values in times.items()}
    for name, values in times.items():
        rate = NUM_ROWS * HIDDEN * 2 / median[name] / 1e9
        print(f"{name:32s} {1e3 * min(values):8.3f} {1e3 * median[name]:8.3f} {rate:6.1f}")
    topk, logits = median["shortlist.gather_head_topk"], median["shortlist.gather_head"]
    print(f"gather_head_topk, times as fast as index_select + matmul + topk: {median['index_select + matmul + topk'] / topk:.2f}")
    print(f"gather_head, times as fast as a matmul over a row copy: {median['matmul over a row copy'] / logits:.2f}")


if __name__ == "__main__":
    main()
