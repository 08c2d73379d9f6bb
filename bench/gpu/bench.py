#!/usr/bin/env python3
"""Times the gather-GEMM head on a GPU beside what PyTorch offers, in one run.

usage: bench.py --library libshortlist_cuda.so --output DIR [--seconds 300]
Writes DIR/head.json and DIR/head.md. Columns, each a median over replays of one captured graph:
  ours        the rows gathered in place, top 8 and log-sum-exp, token ids out
  dense       a copy of the rows made beforehand, cuBLAS, topk
  gather      index_select, cuBLAS, topk
Every replay reads another set of rows, so that no set stays in the L2 cache; `again` is ours over
one set that stays, as the steps of a draft re-read it.
"""

import argparse
import ctypes
import json
import statistics
import time
from pathlib import Path

import torch

HIDDEN = 4096
VOCAB = 128_256
TOP_K = 8
TOKENS = (1, 4, 8, 16, 64)
ROWS = (3_072, 8_192, 16_384, 32_768, 65_536, 128_256)


class Head(ctypes.Structure):
    """ShortlistHead of c_api.cc."""

    _fields_ = [
        ("weight", ctypes.c_void_p), ("vocab_size", ctypes.c_int64), ("hidden", ctypes.c_int64),
        ("states", ctypes.c_void_p), ("num_tokens", ctypes.c_int64), ("row_ids", ctypes.c_void_p),
        ("num_rows", ctypes.c_void_p), ("row_capacity", ctypes.c_int64), ("error", ctypes.c_void_p),
    ]


class Ours:
    """One call of the head over fixed arrays."""

    def __init__(self, library, weight, states, rows):
        device = weight.device
        self.library = library
        self.keep = (weight, states, rows)
        self.count = torch.tensor([len(rows)], dtype=torch.int32, device=device)
        self.error = torch.zeros(1, dtype=torch.int32, device=device)
        self.head = Head(weight.data_ptr(), weight.shape[0], weight.shape[1], states.data_ptr(),
                         states.shape[0], rows.data_ptr(), self.count.data_ptr(), len(rows),
                         self.error.data_ptr())
        num_tokens = states.shape[0]
        self.ids = torch.empty(num_tokens, TOP_K, dtype=torch.int32, device=device)
        self.logits = torch.empty(num_tokens, TOP_K, device=device)
        self.log_sum_exp = torch.empty(num_tokens, device=device)
        size = ctypes.c_int64()
        self.check(library.shortlist_head_workspace(ctypes.byref(self.head), ctypes.c_int64(TOP_K),
                                                    ctypes.byref(size)))
        self.workspace = torch.empty(size.value, dtype=torch.uint8, device=device)

    @staticmethod
    def check(code):
        if code != 0:
            raise RuntimeError(f"cudaError {code}")

    def __call__(self):
        self.check(self.library.shortlist_head_topk(
            ctypes.byref(self.head), ctypes.c_int64(TOP_K), ctypes.c_void_p(self.ids.data_ptr()),
            ctypes.c_void_p(self.logits.data_ptr()), ctypes.c_void_p(self.log_sum_exp.data_ptr()),
            ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_int64(self.workspace.numel()),
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))


def capture(calls):
    """A graph that runs each of `calls` once, after a warm-up outside it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    return graph


def time_graphs(graphs, num_calls, repetitions):
    """Median microseconds per call of each graph, taken in turns."""
    samples = {name: [] for name in graphs}
    for _ in range(repetitions):
        for name, graph in graphs.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            samples[name].append(begin.elapsed_time(end) * 1e3 / num_calls[name])
    return {name: statistics.median(values) for name, values in samples.items()}


def copy_bandwidth(device):
    """Bytes per second read and written by a copy far larger than the L2 cache."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device=device).zero_()
    target = torch.empty_like(source)
    graph = capture([lambda: target.copy_(source)] * 4)
    micros = time_graphs({"copy": graph}, {"copy": 4}, repetitions=10)["copy"]
    return 2 * source.numel() / (micros * 1e-6)


def check_answers(ours, weight, states, rows):
    """Ours against PyTorch in f32: the logits of our ids, and that no row beats them."""
    exact = states.float() @ weight[rows.long()].float().T
    best = exact.topk(TOP_K, dim=1).values
    tolerance = 1e-2 * exact.abs().max()
    if not torch.all((ours.logits - best).abs() < tolerance):
        raise RuntimeError("our logits are not those of PyTorch")
    if not torch.allclose(ours.log_sum_exp, exact.logsumexp(1), rtol=1e-3):
        raise RuntimeError("our log-sum-exp is not that of PyTorch")
    if ours.error.item() != 0:
        raise RuntimeError(f"error word {ours.error.item()}")


def run_cell(library, weight, num_tokens, num_rows, l2_bytes, repetitions):
    device = weight.device
    states = torch.randn(num_tokens, HIDDEN, device=device).to(torch.bfloat16)
    set_bytes = num_rows * HIDDEN * 2
    num_sets = max(2, min(8, -(-4 * l2_bytes // set_bytes)))
    sets = []
    for _ in range(num_sets):
        ids = torch.randperm(VOCAB, device=device)[:num_rows].sort().values
        sets.append(ids.to(torch.int32))
    ours = [Ours(library, weight, states, rows) for rows in sets]
    dense_sets = [weight.index_select(0, rows) for rows in sets]

    def dense(rows):
        return torch.topk(states @ rows.T, TOP_K, dim=1)

    def gather(rows):
        return torch.topk(states @ weight.index_select(0, rows).T, TOP_K, dim=1)

    graphs = {
        "ours": capture(ours),
        "dense": capture([lambda rows=rows: dense(rows) for rows in dense_sets]),
        "gather": capture([lambda rows=rows: gather(rows) for rows in sets]),
        "again": capture([ours[0]] * num_sets),
    }
    micros = time_graphs(graphs, {name: num_sets for name in graphs}, repetitions)
    ours[0]()
    torch.cuda.synchronize()
    check_answers(ours[0], weight, states, sets[0])
    return {"num_tokens": num_tokens, "num_rows": num_rows, "set_bytes": set_bytes,
            **{f"{name}_us": value for name, value in micros.items()},
            "bytes_per_s": set_bytes / (micros["ours"] * 1e-6),
            "against_dense": micros["dense"] / micros["ours"],
            "against_gather": micros["gather"] / micros["ours"]}


def table(result):
    copy = result["copy_bytes_per_s"]
    lines = [
        f"{result['device']}, CUDA {result['cuda']}, PyTorch {result['torch']}; hidden {HIDDEN}, bf16, "
        f"top {TOP_K}; copy {copy / 1e12:.2f} TB/s read and written; times in us",
        "",
        "| tokens | rows | ours | dense | gather | dense / ours | gather / ours | of copy | again |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for cell in result["cells"]:
        lines.append(
            f"| {cell['num_tokens']} | {cell['num_rows']} | {cell['ours_us']:.1f} | "
            f"{cell['dense_us']:.1f} | {cell['gather_us']:.1f} | {cell['against_dense']:.2f} | "
            f"{cell['against_gather']:.2f} | {cell['bytes_per_s'] / copy:.0%} | "
            f"{cell['again_us']:.1f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--seconds", type=float, default=300, help="no new cell starts after these")
    args = parser.parse_args()
    begin = time.monotonic()
    torch.manual_seed(1)
    device = torch.device("cuda")
    properties = torch.cuda.get_device_properties(device)
    library = ctypes.CDLL(args.library)
    weight = torch.randn(VOCAB, HIDDEN, device=device, dtype=torch.bfloat16)
    result = {"device": properties.name, "cuda": torch.version.cuda, "torch": torch.__version__,
              "hidden": HIDDEN, "top_k": TOP_K, "l2_bytes": properties.L2_cache_size,
              "copy_bytes_per_s": copy_bandwidth(device), "cells": []}
    args.output.mkdir(parents=True, exist_ok=True)
    for num_rows in ROWS:
        for num_tokens in TOKENS:
            if time.monotonic() - begin > args.seconds:
                result["stopped"] = "out of time"
                break
            result["cells"].append(run_cell(library, weight, num_tokens, num_rows,
                                            properties.L2_cache_size, repetitions=30))
            # Written after every cell: a run that is cut short leaves what it has.
            (args.output / "head.json").write_text(json.dumps(result, indent=1) + "\n")
            (args.output / "head.md").write_text(table(result))
    print(table(result))


if __name__ == "__main__":
    main()
