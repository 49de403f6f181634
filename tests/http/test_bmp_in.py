# SPDX-License-Identifier: Apache-2.0
"""BMP in: the pixels that Pillow reads, of every kind that Pillow writes or reads; runs against a plain reader of them; damage;
what comes back.

covers: pipeline/codecs/bmp.c"""
import io
import random
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image

from conftest import BURIN, check_problem, noise, smooth

PLAIN = "/brightness?shift=0&type=png"
SIZES = [(1, 1), (1, 300), (300, 1), (2, 2), (3, 7), (7, 5), (13, 42), (33, 20), (123, 66)]
PALETTE = noise(256, 1, 3, seed=4).reshape(256, 3)


def bmp(image):
    out = io.BytesIO()
    image.save(out, "BMP")
    return out.getvalue()


def rgb(data):
    return np.array(Image.open(io.BytesIO(data)).convert("RGB"))


def rows(array):
    """Rows from the bottom up, each padded to four bytes."""
    return b"".join(row.tobytes() + bytes(-row.nbytes % 4) for row in array[::-1])


def file(width, height, bits, pixels, head=40, compression=0, palette=b"", used=0, masks=(), extra=b""):
    """EXTRA: masks behind a header of 40 bytes."""
    info = (struct.pack("<IHHHH", 12, width, height, 1, bits) if head == 12 else
            struct.pack("<IiiHHIIiiII", head, width, height, 1, bits, compression, 0, 2835, 2835, used, 0)
            + struct.pack(f"<{len(masks)}I", *masks))
    info += bytes(head - len(info)) + extra
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, 14 + len(info) + len(palette)) + info + palette + pixels


def stored_palette(colours, core=False):
    return b"".join(bytes(PALETTE[i, ::-1]) + (b"" if core else b"\0") for i in range(colours))


def indices_of(width, height, bits):
    return (noise(width, height, 1) % (1 << bits)).astype(np.uint8)


def packed(indices, bits):
    """Rows of indices of 1, 4 or 8 bits, the first in the highest."""
    if bits == 8:
        return indices
    return np.array([np.packbits(np.unpackbits(row[:, None], axis=1)[:, 8 - bits:].ravel()) for row in indices])


def check(daemon, data, expected, notes=()):
    answer = daemon.post(PLAIN, data)
    assert answer.status == 200, answer.body
    assert answer.image.shape == expected.shape and np.array_equal(answer.image, expected)
    assert answer.timing["notes"] == list(notes) and answer.timing["input"]["type"] == "bmp"


# ---- what is decoded

@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_as_pillow_reads_it(daemon, size, mode):
    array = noise(*size, {"RGB": 3, "RGBA": 4}.get(mode, 1))
    image = Image.fromarray(array, "P") if mode == "P" else Image.fromarray(array).convert(mode)
    if mode == "P":
        image.putpalette(PALETTE.tobytes())
    check(daemon, bmp(image), rgb(bmp(image)))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("bits", [1, 4, 8])
@pytest.mark.parametrize("head", [12, 40, 64, 108, 124])
def test_palettes(daemon, size, bits, head):
    """All headers, rows in both directions; Pillow reads them too."""
    indices = indices_of(*size, bits)
    pixels, palette = packed(indices, bits), stored_palette(1 << bits, head == 12)
    data = file(*size, bits, rows(pixels), head, palette=palette)
    check(daemon, data, PALETTE[indices])
    assert np.array_equal(rgb(data), PALETTE[indices])
    if head != 12:
        data = file(size[0], -size[1], bits, rows(pixels[::-1]), head, palette=palette)
        check(daemon, data, PALETTE[indices])
        assert np.array_equal(rgb(data), PALETTE[indices])


MASKS = [(16, (0xf800, 0x7e0, 0x1f)), (16, (0x7c00, 0x3e0, 0x1f)), (32, (0xff0000, 0xff00, 0xff)), (32, (0xff000000, 0xff0000, 0xff00)),
         (32, (0xff, 0xff00, 0xff0000, 0xff000000)), (32, (0xff0000, 0xff00, 0xff, 0xff000000)), (32, (0xff000000, 0xff0000, 0xff00, 0xff)),
         (16, (0xf00, 0xf0, 0xf, 0xf000)), (16, (0x1f, 0x7e0, 0xf800)), (32, (0x3ff00000, 0xffc00, 0x3ff)), (32, (0x700, 0xf8, 0x3, 0x80000000))]


def by_masks(pixels, masks):
    """255 v / most, rounded half up."""
    values = []
    for mask in masks:
        low = (mask & -mask).bit_length() - 1
        values.append((510 * ((pixels.astype(np.uint64) & mask) >> low) + (mask >> low)) // (2 * (mask >> low)))
    return np.stack(values, axis=2).astype(np.uint8)


@pytest.mark.parametrize("size", [(1, 1), (13, 42), (64, 3)], ids=str)
@pytest.mark.parametrize("bits,masks", MASKS)
@pytest.mark.parametrize("head", [40, 52, 56, 108, 124])
def test_masks(daemon, size, bits, masks, head):
    """Of Pillow, which knows the first seven, five and six bits are one less at most, since rounded down."""
    if len(masks) == 4 and head == 52:
        return
    raw = noise(size[0] * bits // 8, size[1], 1).reshape(size[1], -1)
    pixels = raw.view(f"<u{bits // 8}")
    compression = 6 if head == 40 and len(masks) == 4 else 3
    data = file(*size, bits, rows(raw), head, compression, masks=masks if head > 40 else (),
                extra=struct.pack(f"<{len(masks)}I", *masks) if head == 40 else b"")
    expected = by_masks(pixels, masks)
    check(daemon, data, expected)
    if head in (108, 124) and (bits, masks) in MASKS[:7]:
        pillow = np.array(Image.open(io.BytesIO(data)).convert("RGBA" if len(masks) == 4 else "RGB")).astype(int)
        assert (expected - pillow).min() >= 0 and (expected - pillow).max() <= (1 if bits == 16 else 0)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("bits", [16, 24, 32])
def test_without_masks(daemon, size, bits):
    """The fourth byte means nothing, also where a header has an alpha mask."""
    raw = noise(size[0] * bits // 8, size[1], 1).reshape(size[1], -1)
    expected = (by_masks(raw.view("<u2"), (0x7c00, 0x3e0, 0x1f)) if bits == 16
                else raw.reshape(size[1], size[0], bits // 8)[..., 2::-1])
    for head in (40, 108, 124):
        data = file(*size, bits, rows(raw), head, masks=(0xff, 0xff, 0xff, 0xff000000) if head > 40 else ())
        check(daemon, data, expected)
        assert np.abs(rgb(data) - expected.astype(int)).max() <= (1 if bits == 16 else 0)


# ---- runs

def read_runs(data, width, height, halves):
    """A plain reader: indices from the top down; None if the data ends early."""
    out, x, y, at = np.zeros((height, width), np.uint8), 0, 0, 0

    def lay(values):
        nonlocal x
        for value in values:
            if x < width:
                out[height - 1 - y, x] = value
                x += 1

    while y < height - 1 or (y < height and x < width):
        if at + 2 > len(data):
            return None
        count, what = data[at], data[at + 1]
        at += 2
        if count:
            lay([[what >> 4, what & 15][i % 2] if halves else what for i in range(count)])
        elif what == 0:
            x, y = 0, y + 1
        elif what == 1:
            break
        elif what == 2:
            if at + 2 > len(data):
                return None
            x, y = min(x + data[at], width), y + data[at + 1]
            at += 2
        else:
            size = (what + 1) // 2 if halves else what
            if at + size > len(data):
                return None
            values = data[at:at + size]
            lay(([v for byte in values for v in (byte >> 4, byte & 15)] if halves else values)[:what])
            at += size + size % 2
    return out


def runs(rng, width, height, halves):
    """Random codes, of a sound file: all kinds, some beyond the row."""
    out = bytearray()
    for y in range(height):
        x = 0
        while x < width and rng.random() < 0.95:
            kind = rng.randrange(4)
            if kind == 0 and width - x >= 3:
                count = rng.randint(3, min(width - x, 200))
                size = (count + 1) // 2 if halves else count
                out += bytes([0, count]) + bytes(rng.randrange(256) for _ in range(size)) + bytes(size % 2)
                x += count
            elif kind == 1 and rng.random() < 0.2:
                step = rng.randint(0, min(5, width - x))
                out += bytes([0, 2, step, 0])
                x += step
            else:
                count = rng.randint(1, min(255, width - x + (rng.random() < 0.1) * 3))
                out += bytes([count, rng.randrange(256)])
                x += count
        out += b"\0\0"
    return bytes(out) + b"\0\1"


@pytest.mark.parametrize("halves", [False, True])
def test_runs(daemon, halves):
    rng = random.Random(3)
    palette = stored_palette(16 if halves else 256)
    for width, height in SIZES * 4:
        codes = runs(rng, width, height, halves)
        data = file(width, height, 4 if halves else 8, codes, 40, 2 if halves else 1, palette)
        check(daemon, data, PALETTE[read_runs(codes, width, height, halves)])


@pytest.mark.parametrize("halves", [False, True])
def test_runs_as_pillow_reads_them(daemon, halves):
    """Rows that runs fill, without skips, of which Pillow reads all."""
    rng = random.Random(5)
    for width, height in SIZES:
        codes = b""
        for _ in range(height):
            left = width
            while left:
                count = min(left, rng.randint(1, 255))
                codes += bytes([count, rng.randrange(256)])
                left -= count
            codes += b"\0\0"
        data = file(width, height, 4 if halves else 8, codes + b"\0\1", 40, 2 if halves else 1, stored_palette(16 if halves else 256))
        check(daemon, data, rgb(data))


def test_damaged_runs(daemon):
    """2,000 damaged files of runs: as the plain reader has them, or refused where that comes to the end."""
    rng, shown = random.Random(8), 0
    connection = daemon.connect()
    for i in range(2000):
        halves = bool(i % 2)
        codes = bytearray(runs(rng, 21, 13, halves))
        for _ in range(rng.randint(1, 3)):
            codes[rng.randrange(len(codes))] = rng.choice([0, 1, 2, 3, 255, rng.randrange(256)])
        codes = bytes(codes[:rng.choice([len(codes), len(codes), rng.randrange(8, len(codes))])])
        expected = read_runs(codes, 21, 13, halves)
        connection.request("POST", PLAIN, file(21, 13, 4 if halves else 8, codes, 40, 2 if halves else 1, stored_palette(16 if halves else 256)))
        response = connection.getresponse()
        body = response.read()
        assert response.status == (422 if expected is None else 200), body
        if expected is not None:
            assert np.array_equal(np.array(Image.open(io.BytesIO(body))), PALETTE[expected])
            shown += 1
    assert 1000 < shown < 2000


# ---- what comes back, what is refused

def test_results_are_png_unless_the_request_says_otherwise(daemon, tmp_path):
    data = bmp(Image.fromarray(smooth(60, 40)))
    assert daemon.post("/brightness?shift=0", data).headers["Content-Type"] == "image/png"
    assert daemon.post("/brightness?shift=0", data, headers={"Accept": "image/bmp"}).headers["Content-Type"] == "image/png"
    assert daemon.post("/brightness?shift=0&type=jpeg", data).headers["Content-Type"] == "image/jpeg"
    check_problem(daemon.post("/brightness?shift=0&type=bmp", data), 400, "type", "png, jpeg")
    info = daemon.post("/info", data).json
    assert (info["type"], info["mime_type"], info["width"], info["height"], info["space"]) == ("bmp", "image/bmp", 60, 40, "rgb")
    source = tmp_path / "in.bmp"
    source.write_bytes(data)
    written = subprocess.run([BURIN, "run", "--device", "cpu", str(source), "-"], check=True, timeout=60, capture_output=True).stdout
    assert written[1:4] == b"PNG" and np.array_equal(rgb(written), smooth(60, 40))


@pytest.mark.parametrize("data,word", [
    (file(65535, 65535, 24, b"abc"), "pixels_max"), (file(8000, 8000, 24, b"abc"), "cut off"),
    (file(8000, 8000, 8, b"\0\1", compression=1, palette=stored_palette(256)), "cut off"), (b"BM" + bytes(100), "unknown length"),
    (file(2 ** 31 - 1, -2 ** 31, 24, b"abc"), "side_max"), (file(2, 2, 24, b"abcd", compression=4), "unknown kind")])
def test_broken(daemon, data, word):
    check_problem(daemon.post(PLAIN, data), 422, word)
    assert daemon.works()
