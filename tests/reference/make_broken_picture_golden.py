#!/usr/bin/env python3
"""Makes golden/pictures/broken.json: which broken copies of the pictures there Pillow refuses and which it reads.

Pillow 13.0. usage: make_broken_picture_golden.py (after make_picture_golden.py)
Three kinds of damage: `end` [at]: the file ends there; `flip` [at, bit]: one bit is inverted; `drop` [at, count]:
bytes are missing. Also writes very_wide.png, with a side beyond libpng's own bound of a million pixels.
"""

import io
import json
import random
import warnings
import zlib

from make_picture_golden import OUT, png
from PIL import Image


def reads(data):
    try:
        Image.open(io.BytesIO(data)).convert("RGB")
        return True
    except Exception:
        return False


def end(data, at):
    return data[:at]


def flip(data, at, bit):
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:]


def drop(data, at, count):
    return data[:at] + data[at + count:]


def damages(size, rng):
    for at in range(1, size, max(1, size // 12)):
        yield end, [at]
    for back in (1, 2, 3, 8, 12, 13, 20):
        yield end, [max(1, size - back)]
    for _ in range(24):
        yield flip, [rng.randrange(size), rng.randrange(8)]
    for _ in range(12):
        yield drop, [rng.randrange(size), 1 + rng.randrange(16)]


def main():
    warnings.simplefilter("ignore")
    rng = random.Random(1)
    lines = []
    for path in sorted(OUT.glob("*.*")):
        if path.suffix == ".json" or path.name.startswith(("animated", "very_wide")):
            continue
        data = path.read_bytes()
        found = {"refused": [], "read": []}
        for damage, arguments in damages(len(data), rng):
            found["read" if reads(damage(data, *arguments)) else "refused"].append([damage.__name__, *arguments])
        lines.append(f"{json.dumps(path.name)}: {json.dumps(found, separators=(',', ':'))}")
    (OUT / "broken.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    (OUT / "very_wide.png").write_bytes(png(1_500_000, 1, 1, 0, bytes(1 + 1_500_000 // 8)))


if __name__ == "__main__":
    main()
