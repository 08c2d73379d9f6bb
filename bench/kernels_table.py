#!/usr/bin/env python3
"""Turns kernels_bench's JSON into tables, one for each model shape.

usage: build/release/bench/kernels_bench --benchmark_format=json | bench/kernels_table.py > bench/results/kernels.md

A cell contains the time and its share of the limit: a plain parallel read of as many bytes, or (prefill) the
dot-product peak, both measured alternately with the kernel. For a draft step it contains the speed-up over the full
head.
"""

import json
import sys

DTYPES = ("bf16", "int8", "int4")
LIMITS = {"of_read": "{:.2f} of read", "of_head": "{:.3f} of the head's time", "of_peak": "{:.2f} of peak",
          "faster_than_full_head": "{:.1f} × the full head's"}


def parse(name):
    """Returns ("Layer", shape, dtype, "tokens:1") for Layer/SHAPE[/DTYPE]/tokens:1/manual_time."""
    operation, shape, *rest = name.removesuffix("/manual_time").split("/")
    if not rest:  # a draw is the same for every shape
        return operation, "Any shape", "bf16", shape.replace(":", " ")
    dtype = rest.pop(0) if rest[0] in DTYPES else "bf16"
    return operation, shape, dtype, ", ".join(part.replace(":", " ") for part in rest)


def cell(entry):
    microseconds = f"{entry['real_time']:,.0f} µs" if entry["real_time"] >= 10 else f"{entry['real_time']:.1f} µs"
    return ", ".join([microseconds] + [text.format(entry[key]) for key, text in LIMITS.items() if key in entry])


def main():
    report = json.load(sys.stdin)
    shapes = {}
    for entry in report["benchmarks"]:
        operation, shape, dtype, arguments = parse(entry["name"])
        shapes.setdefault(shape, {}).setdefault((operation, arguments), {})[dtype] = cell(entry)
    context = report["context"]
    print(f"`kernels_bench` on {context['num_cpus']} cores, {context.get('isa', 'the best ISA of the machine')}.")
    for shape, rows in shapes.items():
        print(f"\n## {shape}\n\n| operation | at | " + " | ".join(DTYPES) + " |\n|---|---|---|---|---|")
        for (operation, arguments), cells in rows.items():
            print(f"| {operation} | {arguments} | " + " | ".join(cells.get(dtype, "") for dtype in DTYPES) + " |")


if __name__ == "__main__":
    main()
