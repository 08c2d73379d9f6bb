#!/usr/bin/env python3
"""Makes golden/pictures/chunks.json: PNG and WebP files with misplaced or invalid chunks, and Pillow's results for
them.

Pillow 13.0, transformers 5.24, numpy 2. usage: make_picture_chunks_golden.py
Each case has the file, and its pixels as transformers' `convert_to_rgb` returns them for a loaded picture, or null if
Pillow rejects it.
"""

import io
import json
import random
import struct
import warnings
import zlib

import numpy as np
from make_picture_golden import OUT, chunk, saved, scene, text
from PIL import Image
from transformers.image_transforms import convert_to_rgb

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def header(depth, color, width=6, height=4):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))


def broken_sum(data):
    return data[:-1] + bytes([data[-1] ^ 1])


def kinds():
    """Returns IHDR, PLTE or nothing, the pixels' bytes, and a tRNS of the matching kind."""
    grey = np.arange(24, dtype=np.uint8).reshape(4, 6) * 9
    rgb = scene(6, 4, 3, seed=21)
    rows = lambda array: b"".join(b"\0" + row.tobytes() for row in array)
    palette = bytes(range(60, 90))
    return {
        "grey": (header(8, 0), b"", rows(grey), [b"\0\x12", b"\1\x1b"]),
        "grey_16": (header(16, 0), b"", rows(grey.astype(">u2")), [b"\0\x12", b"\1\x1b"]),
        "bilevel": (header(1, 0), b"", b"".join(b"\0" + bytes([0b10110100]) for _ in range(4)), [b"\0\1", b"\0\0", b"\1\0"]),
        "grey_alpha": (header(8, 4), b"", rows(np.dstack([grey, grey[::-1]])), [b"\0\x12"]),
        "rgb": (header(8, 2), b"", rows(rgb), [struct.pack(">HHH", *rgb[1, 2].tolist()), struct.pack(">HHH", *(256 + c for c in rgb[3, 3].tolist()))]),
        "palette": (header(8, 3), chunk(b"PLTE", palette), rows(grey // 9 % 12), [b"\x40\x80", b"\xff\0\xff", b"\xff\xff\0\n", bytes(12)]),
        "palette_4": (header(4, 3), chunk(b"PLTE", palette), b"".join(b"\0" + bytes([0x01, 0x9a, 0xbf]) for _ in range(4)), [b"\x40\x80", b"\xff\0"]),
    }


def pngs():
    end = chunk(b"IEND", b"")
    for name, (head, palette, rows, keys) in kinds().items():
        packed = zlib.compress(rows)
        pixels = chunk(b"IDAT", packed)
        two = chunk(b"IDAT", packed[:9]) + chunk(b"IDAT", packed[9:])
        key, other = chunk(b"tRNS", keys[0]), chunk(b"tRNS", keys[-1])
        text_chunk = chunk(b"tEXt", b"key\0abc")
        cases = {
            "key": head + palette + key + pixels + end,
            "key_behind_pixels": head + palette + pixels + key + end,
            "key_before_palette": head + key + palette + pixels + end,
            "two_keys": head + palette + key + other + pixels + end,
            "two_keys_turned": head + palette + other + key + pixels + end,
            "key_before_and_behind": head + palette + key + pixels + other + end,
            "key_behind_end": head + palette + pixels + end + key,
            "key_cut": head + palette + chunk(b"tRNS", keys[0][:1]) + pixels + end,
            "key_empty": head + palette + chunk(b"tRNS", b"") + pixels + end,
            "key_cut_behind_pixels": head + palette + pixels + chunk(b"tRNS", keys[0][:1]) + end,
            "key_long": head + palette + chunk(b"tRNS", keys[0] + b"\x22" * 7) + pixels + end,
            "key_too_long": head + palette + chunk(b"tRNS", keys[0] + b"\x22" * 256) + pixels + end,
            "key_opaque_and_too_long": head + palette + chunk(b"tRNS", b"\xff" * 300 + b"\0") + pixels + end,
            "key_with_a_wrong_sum": head + palette + broken_sum(key) + pixels + end,
            "key_with_a_wrong_sum_behind_pixels": head + palette + pixels + broken_sum(key) + end,
            "key_without_sum": head + palette + pixels + key[:-4],
            "key_not_whole": head + palette + pixels + key[:-5],
            "pixels_with_a_wrong_sum": head + palette + broken_sum(pixels) + end,
            "pixels_without_sum": head + palette + pixels[:-4],
            "pixels_without_their_own_sum": head + palette + pixels[:-8],
            "pixels_cut": head + palette + pixels[:-13],
            "pixels_in_two": head + palette + two + end,
            "pixels_apart": head + palette + chunk(b"IDAT", packed[:9]) + text_chunk + chunk(b"IDAT", packed[9:]) + end,
            "pixels_then_more": head + palette + two + chunk(b"IDAT", b"xyz") + end,
            "pixels_twice": head + palette + pixels + text_chunk + pixels + end,
            "pixels_too_few": head + palette + chunk(b"IDAT", zlib.compress(rows[:-3])) + end,
            "pixels_too_many": head + palette + chunk(b"IDAT", zlib.compress(rows + rows)) + end,
            "no_pixels": head + palette + end,
            "header_with_a_wrong_sum": broken_sum(head) + palette + pixels + end,
            "unknown_chunk": head + palette + chunk(b"ABCD", b"x") + pixels + end,
            "no_name_of_a_chunk": head + palette + chunk(b"a-cd", b"x") + pixels + end,
            "no_name_behind_pixels": head + palette + pixels + chunk(b"a-cd", b"x") + key + end,
            "nothing_behind_header": head,
        }
        if palette:
            cases["palette_twice"] = head + chunk(b"PLTE", bytes(range(100, 130))) + palette + key + pixels + end
            cases["palette_not_threes"] = head + chunk(b"PLTE", bytes(range(100, 131))) + pixels + end
            cases["palette_behind_pixels"] = head + palette + pixels + chunk(b"PLTE", bytes(range(100, 130))) + end
        for case, data in cases.items():
            yield f"{name}_{case}.png", SIGNATURE + data


def random_pngs(rng, count):
    """Yields PNGs with chunks of one kind in any order and number."""
    for i in range(count):
        name, (head, palette, rows, keys) = rng.choice(sorted(kinds().items()))
        parts = [palette] if palette else []
        parts += [chunk(b"IDAT", zlib.compress(rows))]
        for _ in range(rng.randrange(1, 4)):
            part = rng.choice([chunk(b"tRNS", rng.choice(keys)), chunk(b"tRNS", rng.randbytes(rng.choice([1, 2, 6, 16]))),
                               chunk(b"tEXt", b"a\0b"), chunk(b"PLTE", rng.randbytes(9)), chunk(b"abCd", b"xx")])
            parts.insert(rng.randrange(len(parts) + 1), broken_sum(part) if rng.random() < 0.1 else part)
        yield f"random_{i}_{name}.png", SIGNATURE + head + b"".join(parts) + chunk(b"IEND", b"")


def webp_chunks(data):
    at, chunks = 12, []
    while at + 8 <= len(data):
        size = struct.unpack("<I", data[at + 4:at + 8])[0]
        chunks.append((data[at:at + 4], data[at + 8:at + 8 + size]))
        at += 8 + size + size % 2
    return chunks


def webp(chunks):
    body = b"".join(kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def webps():
    rgba = Image.fromarray(scene(9, 7, 4, seed=22))
    alpha = dict(webp_chunks(saved(rgba, "WEBP", quality=70)))
    plain = dict(webp_chunks(saved(rgba.convert("RGB"), "WEBP", quality=70)))
    lossless = dict(webp_chunks(saved(rgba, "WEBP", lossless=True, exact=True)))
    extended = alpha[b"VP8X"]
    for flags in (0, 1, 2, 4, 8, 16, 32, 64, 128, 0x11, 0x50, 0x90, 0x3c):
        x = bytes([flags]) + extended[1:]
        yield f"alpha_flags_{flags:02x}.webp", webp([(b"VP8X", x), (b"ALPH", alpha[b"ALPH"]), (b"VP8 ", alpha[b"VP8 "])])
        yield f"plain_flags_{flags:02x}.webp", webp([(b"VP8X", x), (b"VP8 ", plain[b"VP8 "])])
        yield f"lossless_flags_{flags:02x}.webp", webp([(b"VP8X", x), (b"VP8L", lossless[b"VP8L"])])
    x, a, v = (b"VP8X", extended), (b"ALPH", alpha[b"ALPH"]), (b"VP8 ", alpha[b"VP8 "])
    yield "alpha_without_header.webp", webp([a, v])
    yield "alpha_behind_pixels.webp", webp([x, v, a])
    yield "alpha_twice.webp", webp([x, a, a, v])
    yield "alpha_broken.webp", webp([x, (b"ALPH", a[1][:9]), v])
    yield "alpha_and_lossless.webp", webp([x, a, (b"VP8L", lossless[b"VP8L"])])
    yield "unknown_before.webp", webp([x, (b"ABCD", b"abcd"), a, v])
    yield "unknown_between.webp", webp([x, a, (b"ABCD", b"abcd"), v])
    yield "unknown_behind.webp", webp([x, a, v, (b"ABCD", b"abcd")])
    yield "pixels_twice.webp", webp([x, a, v, v])
    yield "other_size.webp", webp([(b"VP8X", x[1][:4] + b"\x09" + x[1][5:]), a, v])
    yield "header_long.webp", webp([(b"VP8X", x[1] + b"ab"), a, v])
    whole = webp([x, a, v])
    yield "more_behind.webp", whole + b"abc"
    yield "longer_than_it_is.webp", whole[:4] + struct.pack("<I", len(whole)) + whole[8:]
    yield "shorter_than_it_is.webp", whole[:4] + struct.pack("<I", len(whole) - 20) + whole[8:]
    yield "odd_length.webp", whole[:4] + struct.pack("<I", len(whole) - 7) + whole[8:]


def main():
    warnings.simplefilter("ignore")
    lines = []
    for name, data in [*pngs(), *random_pngs(random.Random(5), 60), *webps()]:
        try:
            image = Image.open(io.BytesIO(data))
            image.load()  # without it, chunks after the pixels come too late for convert_to_rgb
            pixels = text(convert_to_rgb(image, return_numpy=True))
        except Exception:
            pixels = None
        case = {"file": text(np.frombuffer(data, np.uint8)), "rgb": pixels}
        lines.append(f"{json.dumps(name)}: {json.dumps(case, separators=(',', ':'))}")
    (OUT / "chunks.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
