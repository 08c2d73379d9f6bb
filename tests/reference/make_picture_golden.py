#!/usr/bin/env python3
"""Makes golden/pictures: small pictures of every kind, and Pillow's results for them.

Pillow 13.0, transformers 5.24, numpy 2. usage: make_picture_golden.py
For each file, `expected.json` has its size, its pixels as transformers' `convert_to_rgb` returns them, and the output
of two processors: the shorter edge to 24 and a 24 x 24 crop, bicubic; and to 18 x 11 (height x width), bilinear.
"""

import base64
import io
import json
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image
from transformers.image_transforms import convert_to_rgb

OUT = Path(__file__).parent / "golden" / "pictures"


def scene(width, height, channels, seed):
    """Returns smooth shapes with some noise: content that a codec may and may not keep."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        a, b, phase = random.uniform(0.05, 0.6, 3)
        planes.append(127 + 100 * np.sin(a * x + phase * 9) * np.cos(b * y + c) + random.normal(0, 12, x.shape))
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, rows, interlace=0, before=b""):
    """Returns a PNG of filtered rows, for formats that Pillow does not write."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def adam7(pixels):
    rows = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        part = pixels[y0::dy, x0::dx]
        if part.size:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    return rows


def saved(image, format, **options):
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def make_pictures():
    rgb = Image.fromarray(scene(47, 35, 3, seed=1))
    rgba = Image.fromarray(scene(31, 26, 4, seed=2))
    deep = (scene(19, 23, 3, seed=3).astype(np.uint16) * 257 + np.arange(19)[None, :, None]).astype(">u2")
    # Grey values that fit 8 bits too, since Pillow clips the others at 255.
    deep_grey = (np.arange(19 * 23).reshape(23, 19) * 3 % 700).astype(">u2")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be rotated by 90 degrees
    two_bits = b"".join(b"\0" + bytes([0x1b, 0xe4, 0x93]) for _ in range(5))
    palette = bytes(range(30))  # ten colours; pixels name twelve
    twelve = b"".join(b"\0" + bytes((x + y) % 12 for x in range(13)) for y in range(9))
    # A color that occurs, or one whose lower 8 bits occur, which are what Pillow compares.
    key = np.asarray(rgb)[3, 5].tolist()
    key_16 = [(channel >> 8) + 256 for channel in deep[3, 5].tolist()]
    frames = [Image.fromarray(scene(24, 24, 3, seed=s)) for s in (7, 8)]
    return {
        "grey.jpg": saved(Image.fromarray(scene(33, 21, 1, seed=4)[:, :, 0]), "JPEG", quality=80),
        "rgb.jpg": saved(rgb, "JPEG", quality=85),
        "rgb_422.jpg": saved(rgb, "JPEG", quality=85, subsampling=1),
        "progressive.jpg": saved(rgb, "JPEG", quality=90, subsampling=0, progressive=True),
        "cmyk.jpg": saved(Image.fromarray(scene(29, 30, 4, seed=5), "CMYK"), "JPEG", quality=90),
        "exif_rotated.jpg": saved(rgb, "JPEG", quality=75, exif=exif),
        "wide.jpg": saved(Image.fromarray(scene(400, 2, 3, seed=6)), "JPEG", quality=90),
        "rgb.png": saved(rgb, "PNG"),
        "rgba.png": saved(rgba, "PNG"),
        "grey_alpha.png": saved(rgba.convert("LA"), "PNG"),
        "palette.png": saved(rgb.quantize(37), "PNG"),
        "palette_alpha.png": saved(rgb.quantize(20), "PNG", transparency=bytes([0, 128, 255])),
        "palette_short.png": png(13, 9, 8, 3, twelve, before=chunk(b"PLTE", palette)),
        "rgb_key.png": saved(rgb, "PNG", transparency=tuple(key)),
        "grey_key.png": saved(rgb.convert("L"), "PNG", transparency=int(np.asarray(rgb.convert("L"))[3, 5])),
        "grey_2_bits_key.png": png(12, 5, 2, 0, two_bits, before=chunk(b"tRNS", b"\0\3")),
        "grey_2_bits_no_key.png": png(12, 5, 2, 0, two_bits, before=chunk(b"tRNS", b"\0\0")),
        "bilevel_key.png": saved(rgb.convert("1"), "PNG", transparency=1),
        "grey_16_bits_key.png": png(19, 23, 16, 0, b"".join(b"\0" + row.tobytes() for row in deep_grey),
                                    before=chunk(b"tRNS", b"\1\x0c")),
        "rgb_16_bits_key.png": png(19, 23, 16, 2, b"".join(b"\0" + row.tobytes() for row in deep),
                                   before=chunk(b"tRNS", struct.pack(">HHH", *key_16))),
        "palette_one_clear.png": saved(rgb.quantize(20), "PNG", transparency=2),
        "interlaced_alpha.png": png(31, 26, 8, 6, adam7(scene(31, 26, 4, seed=11)), interlace=1),
        "tall_noise.png": saved(Image.fromarray(np.random.default_rng(12).integers(0, 2, (64, 28, 3), np.uint8) * 255), "PNG"),
        "bilevel.png": saved(rgb.convert("1"), "PNG"),
        "grey_2_bits.png": png(12, 5, 2, 0, two_bits),
        "grey_16_bits.png": png(19, 23, 16, 0, b"".join(b"\0" + row.tobytes() for row in deep_grey)),
        "rgb_16_bits.png": png(19, 23, 16, 2, b"".join(b"\0" + row.tobytes() for row in deep)),
        "interlaced.png": png(31, 26, 8, 2, adam7(scene(31, 26, 3, seed=9)), interlace=1),
        "one_pixel.png": saved(Image.new("RGB", (1, 1), (10, 200, 90)), "PNG"),
        "tall.png": saved(Image.fromarray(scene(1, 300, 3, seed=10)), "PNG"),
        "animated.png": saved(frames[0], "PNG", save_all=True, append_images=frames[1:]),
        "lossy.webp": saved(rgb, "WEBP", quality=70),
        "lossy_alpha.webp": saved(rgba, "WEBP", quality=70),
        "lossless.webp": saved(rgba, "WEBP", lossless=True, exact=True),
        "animated.webp": saved(frames[0], "WEBP", save_all=True, append_images=frames[1:]),
    }


def text(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def crop(image, edge):
    width, height = image.size
    short = min(width, height)
    image = image.resize((edge * width // short, edge * height // short), Image.Resampling.BICUBIC)
    left, top = (image.size[0] - edge) // 2, (image.size[1] - edge) // 2
    return np.asarray(image)[top:top + edge, left:left + edge]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, data in make_pictures().items():
        (OUT / name).write_bytes(data)
        if name == "animated.webp":
            continue
        image = Image.fromarray(convert_to_rgb(Image.open(io.BytesIO(data)), return_numpy=True))
        small = image.resize((11, 18), Image.Resampling.BILINEAR)
        expected[name] = {"width": image.size[0], "height": image.size[1], "rgb": text(np.asarray(image)),
                          "bicubic": text(crop(image, 24)), "bilinear": text(np.asarray(small))}
    (OUT / "expected.json").write_text(json.dumps(expected, indent=0) + "\n")


if __name__ == "__main__":
    main()
