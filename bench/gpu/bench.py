#!/usr/bin/env python3
"""Times the gather-GEMM head on a GPU and the alternatives that PyTorch offers, in one run.

usage: bench.py --library libshortlist_cuda.so --output DIR [--seconds 300]
Writes DIR/head.json and DIR/head.md: bf16 rows, then the narrower formats of the same matrix next to PyTorch's bf16.
Columns, each a median over replays of one captured graph:
  ours        the rows gathered in place, top 8 and log-sum-exp, token ids out
  dense       a copy of the rows made beforehand, cuBLAS, topk
  gather      index_select, cuBLAS, topk
Every replay reads another set of rows, so that no set stays in the L2 cache. `again` is ours over one set that stays
cached, as when the steps of a draft read it repeatedly.
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
FORMATS = ("bf16", "f16", "fp8", "int8", "int4")  # in the order of RowFormat
FORMAT_TOKENS = (1, 8, 64)
FORMAT_ROWS = (8_192, 32_768, 128_256)
WARM_UP_SECONDS = 1.0  # an idle GPU's clocks are low


class Head(ctypes.Structure):
    """ShortlistHead of c_api.cc."""

    _fields_ = [
        ("format", ctypes.c_int64), ("weight", ctypes.c_void_p), ("row_factors", ctypes.c_void_p),
        ("vocab_size", ctypes.c_int64), ("hidden", ctypes.c_int64), ("states", ctypes.c_void_p),
        ("state_scales", ctypes.c_void_p), ("state_factors", ctypes.c_void_p),
        ("num_tokens", ctypes.c_int64), ("row_ids", ctypes.c_void_p), ("num_rows", ctypes.c_void_p),
        ("row_capacity", ctypes.c_int64), ("error", ctypes.c_void_p),
    ]


class Weight:
    """A head's rows. Narrow formats hold random bytes: the time of a product does not depend on the values."""

    def __init__(self, library, name, device):
        self.format = FORMATS.index(name)
        layout = (ctypes.c_int64 * 3)()
        library.shortlist_head_layout(ctypes.c_int64(self.format), ctypes.c_int64(HIDDEN), layout)
        self.row_bytes, self.state_bytes, self.scale_bytes = layout
        if name == "bf16":
            self.rows = torch.randn(VOCAB, HIDDEN, device=device, dtype=torch.bfloat16)
        else:
            self.rows = torch.randint(0, 64, (VOCAB, self.row_bytes), dtype=torch.uint8,
                                      device=device)
        self.factors = torch.ones(VOCAB, device=device)

    def states(self, num_tokens):
        """Returns states for a call, prepared for the format."""
        device = self.rows.device
        if self.format == 0:
            return torch.randn(num_tokens, HIDDEN, device=device).to(torch.bfloat16)
        return torch.randint(0, 64, (num_tokens, self.state_bytes), dtype=torch.uint8,
                             device=device)


class Ours:
    """One call of the head over fixed arrays."""

    def __init__(self, library, weight, states, rows):
        device = states.device
        num_tokens = states.shape[0]
        self.library = library
        self.count = torch.tensor([len(rows)], dtype=torch.int32, device=device)
        self.error = torch.zeros(1, dtype=torch.int32, device=device)
        scales = torch.ones(num_tokens, max(weight.scale_bytes // 4, 1), device=device)
        self.keep = (weight, states, rows, scales)
        self.head = Head(weight.format, weight.rows.data_ptr(), weight.factors.data_ptr(), VOCAB,
                         HIDDEN, states.data_ptr(), scales.data_ptr(), scales.data_ptr(),
                         num_tokens, rows.data_ptr(), self.count.data_ptr(), len(rows),
                         self.error.data_ptr())
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
    """Returns the median microseconds per call of each graph, measured alternately."""
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


def warm_up(weight):
    end = time.monotonic() + WARM_UP_SECONDS
    while time.monotonic() < end:
        torch.mm(weight.rows[:8192], weight.rows[:8192].T)
        torch.cuda.synchronize()


def read_bandwidth(weight):
    """Returns bytes per second of a sum over the whole matrix, which is far larger than the L2 cache."""
    words = weight.rows.view(torch.int32)
    graph = capture([lambda: torch.amax(words)] * 4)
    micros = time_graphs({"read": graph}, {"read": 4}, repetitions=20)["read"]
    return words.numel() * 4 / (micros * 1e-6)


def check_answers(ours, weight, states, rows):
    """Checks ours against PyTorch in f32: ids, their logits and the log-sum-exp. Also checks the error word."""
    exact = states.float() @ weight.rows[rows.long()].float().T
    best = exact.topk(TOP_K, dim=1).values
    tolerance = 1e-2 * exact.abs().max()
    if not torch.all((ours.logits - best).abs() < tolerance):
        raise RuntimeError("our logits are not those of PyTorch")
    places = torch.searchsorted(rows, ours.ids.contiguous()).clamp(max=len(rows) - 1)
    if not torch.all(rows[places] == ours.ids):
        raise RuntimeError("one of our ids is not among the rows")
    if not torch.all((exact.gather(1, places) - ours.logits).abs() < tolerance):
        raise RuntimeError("a logit of ours is not that of its id")
    if not torch.allclose(ours.log_sum_exp, exact.logsumexp(1), rtol=1e-3):
        raise RuntimeError("our log-sum-exp is not that of PyTorch")
    if ours.error.item() != 0:
        raise RuntimeError(f"error word {ours.error.item()}")


def row_sets(num_rows, row_bytes, l2_bytes, device):
    """Returns enough sets of rows that none is in the L2 cache when its turn comes."""
    num_sets = max(2, min(8, -(-4 * l2_bytes // (num_rows * row_bytes))))
    return [torch.randperm(VOCAB, device=device)[:num_rows].sort().values.to(torch.int32)
            for _ in range(num_sets)]


def run_cell(library, weight, num_tokens, num_rows, l2_bytes, repetitions):
    sets = row_sets(num_rows, weight.row_bytes, l2_bytes, weight.rows.device)
    states = weight.states(num_tokens)
    ours = [Ours(library, weight, states, rows) for rows in sets]
    dense_sets = [weight.rows.index_select(0, rows) for rows in sets]

    def dense(rows):
        return torch.topk(states @ rows.T, TOP_K, dim=1)

    def gather(rows):
        return torch.topk(states @ weight.rows.index_select(0, rows).T, TOP_K, dim=1)

    graphs = {
        "ours": capture(ours),
        "dense": capture([lambda rows=rows: dense(rows) for rows in dense_sets]),
        "gather": capture([lambda rows=rows: gather(rows) for rows in sets]),
        "again": capture([ours[0]] * len(sets)),
    }
    micros = time_graphs(graphs, {name: len(sets) for name in graphs}, repetitions)
    ours[0]()
    torch.cuda.synchronize()
    check_answers(ours[0], weight, states, sets[0])
    set_bytes = num_rows * weight.row_bytes
    return {"num_tokens": num_tokens, "num_rows": num_rows, "set_bytes": set_bytes,
            **{f"{name}_us": value for name, value in micros.items()},
            "bytes_per_s": set_bytes / (micros["ours"] * 1e-6),
            "against_dense": micros["dense"] / micros["ours"],
            "against_gather": micros["gather"] / micros["ours"]}


def run_format_cells(library, name, l2_bytes, repetitions, device):
    """Measures one format at all sizes."""
    weight = Weight(library, name, device)
    for num_rows in FORMAT_ROWS:
        for num_tokens in FORMAT_TOKENS:
            sets = row_sets(num_rows, weight.row_bytes, l2_bytes, device)
            states = weight.states(num_tokens)
            graph = capture([Ours(library, weight, states, rows) for rows in sets])
            micros = time_graphs({"ours": graph}, {"ours": len(sets)}, repetitions)["ours"]
            set_bytes = num_rows * weight.row_bytes
            yield {"format": name, "num_tokens": num_tokens, "num_rows": num_rows,
                   "set_bytes": set_bytes, "ours_us": micros,
                   "bytes_per_s": set_bytes / (micros * 1e-6)}


def table(result):
    peak = result["read_bytes_per_s"]
    lines = [
        f"{result['device']}, CUDA {result['cuda']}, PyTorch {result['torch']}; hidden {HIDDEN}, "
        f"top {TOP_K}; a sum over a large matrix reads {peak / 1e12:.2f} TB/s; times in us",
        "",
        "| tokens | rows | ours | dense | gather | dense / ours | gather / ours | of the sum's | again |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for cell in result["cells"]:
        lines.append(
            f"| {cell['num_tokens']} | {cell['num_rows']} | {cell['ours_us']:.1f} | "
            f"{cell['dense_us']:.1f} | {cell['gather_us']:.1f} | {cell['against_dense']:.2f} | "
            f"{cell['against_gather']:.2f} | {cell['bytes_per_s'] / peak:.0%} | "
            f"{cell['again_us']:.1f} |")
    lines += ["", "| format | tokens | rows | ours | of the sum's |", "|:--|--:|--:|--:|--:|"]
    for cell in result["formats"]:
        lines.append(f"| {cell['format']} | {cell['num_tokens']} | {cell['num_rows']} | "
                     f"{cell['ours_us']:.1f} | {cell['bytes_per_s'] / peak:.0%} |")
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
    weight = Weight(library, "bf16", device)
    warm_up(weight)
    result = {"device": properties.name, "cuda": torch.version.cuda, "torch": torch.__version__,
              "hidden": HIDDEN, "top_k": TOP_K, "l2_bytes": properties.L2_cache_size,
              "read_bytes_per_s": read_bandwidth(weight), "cells": [], "formats": []}
    args.output.mkdir(parents=True, exist_ok=True)

    def cells():
        for num_rows in ROWS:
            for num_tokens in TOKENS:
                yield "cells", run_cell(library, weight, num_tokens, num_rows,
                                        properties.L2_cache_size, repetitions=30)
        for name in FORMATS[1:]:
            for cell in run_format_cells(library, name, properties.L2_cache_size, 30, device):
                yield "formats", cell

    for kind, cell in cells():
        result[kind].append(cell)
        # Written after every cell: an interrupted run keeps its results so far.
        (args.output / "head.json").write_text(json.dumps(result, indent=1) + "\n")
        (args.output / "head.md").write_text(table(result))
        if time.monotonic() - begin > args.seconds:
            print("out of time: some cells are left out")
            break
    print(table(result))


if __name__ == "__main__":
    main()
