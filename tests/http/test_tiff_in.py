# SPDX-License-Identifier: Apache-2.0
"""TIFF in: every depth, colour, compression, predictor, plane and block by a plain writer in numpy, which Pillow, tifffile and
libtiff's tools check in turn; pages, orientations, profiles; what is refused by its name; bombs and damage.

covers: pipeline/codecs/tiff.c pipeline/codecs/tiff/decoder.c pipeline/codecs/tiff/stream.c"""
import io
import itertools
import json
import random
import shutil
import struct
import subprocess
import zlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from conftest import BURIN, check_problem, from_pnm, noise, png, smooth

SAME = "/brightness?shift=0&type=png&compression=0"
RAW, LZW, DEFLATE, PACKBITS, OLD_DEFLATE = 1, 5, 8, 32773, 32946
WHITE, BLACK, RGB, PALETTE, CMYK = 0, 1, 2, 3, 5
COLOURS = {WHITE: 1, BLACK: 1, RGB: 3, PALETTE: 1, CMYK: 4}


@pytest.fixture
def daemon(shared):
    """One for this file: others count the processes of the daemon that all tests share."""
    return shared()


# ---- a plain writer

class Bits:
    def __init__(self, lowest_first):
        self.lowest_first, self.text = lowest_first, []

    def add(self, number, bits):
        digits = format(number, f"0{bits}b")
        self.text.append(digits[::-1] if self.lowest_first else digits)

    def bytes(self):
        text = "".join(self.text)
        text += "0" * (-len(text) % 8)
        parts = [text[i:i + 8] for i in range(0, len(text), 8)]
        return bytes(int(part[::-1] if self.lowest_first else part, 2) for part in parts)


def lzw(data, old=False, clear_at=4094):
    """By TIFF 6.0, section 13: codes grow one early. Old writers had the lowest bit first, and codes that grew in time."""
    early, bits, width = (0 if old else 1), Bits(old), 9
    bits.add(256, 9)
    table, word = {bytes([i]): i for i in range(256)}, b""
    count = 258
    for byte in data:
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        bits.add(table[word], width)
        table[longer] = count
        count += 1
        if count - 1 + early >= 1 << width and width < 12:
            width += 1
        if count >= clear_at:
            bits.add(256, width)
            table, count, width = {bytes([i]): i for i in range(256)}, 258, 9
        word = bytes([byte])
    if word:
        bits.add(table[word], width)
        if count + early >= 1 << width and width < 12:
            width += 1
    bits.add(257, width)
    return bits.bytes()


def packbits(data):
    out, at = bytearray(), 0
    while at < len(data):
        run = 1
        while run < 128 and data[at:at + 1] == data[at + run:at + run + 1]:
            run += 1
        if run > 2:
            out += bytes([257 - run, data[at]])
            at += run
        else:
            size = min(128, len(data) - at, 5)
            out += bytes([size - 1]) + data[at:at + size]
            at += size
    return bytes(out)


PACKERS = {RAW: bytes, LZW: lzw, DEFLATE: zlib.compress, PACKBITS: packbits, OLD_DEFLATE: zlib.compress}


def rows_of(block, bits, order, differences):
    """Bytes of an array of rows x pixels x samples."""
    height, width, samples = block.shape
    if differences:
        block = block.copy()
        block[:, 1:] -= block[:, :-1].copy()
    flat = block.reshape(height, width * samples)
    if bits == 16:
        return flat.astype(f"{order}u2").tobytes()
    flat = flat.astype(np.uint8)
    if bits == 8:
        return flat.tobytes()
    digits = np.unpackbits(flat[..., None], axis=2)[..., 8 - bits:].reshape(height, -1)
    return np.packbits(digits, axis=1).tobytes()


def blocks_of(array, rows, tile, planes):
    height, width, _ = array.shape
    down, across = tile or (rows or height, width)
    for plane in ([slice(None)] if planes == 1 else [slice(i, i + 1) for i in range(array.shape[2])]):
        for y, x in itertools.product(range(0, height, down), range(0, width, across)):
            block = array[y:y + down, x:x + across, plane]
            if tile:
                block = np.pad(block, ((0, down - block.shape[0]), (0, across - block.shape[1]), (0, 0)), "edge")
            yield block


SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 8: 2, 11: 4, 13: 4, 16: 8}


def directories(pages, order="<", big=False):
    """PAGES: (tags, blocks) each; tags: number -> (type, values); the blocks' offsets go where a tag's values are None."""
    letters = {1: "B", 2: "B", 3: "H", 4: "I", 5: "Q", 7: "B", 8: "h", 11: "f", 13: "I", 16: "Q"}
    mark = b"II" if order == "<" else b"MM"
    out = bytearray(mark + (struct.pack(order + "HHHQ", 43, 8, 0, 0) if big else struct.pack(order + "HI", 42, 0)))
    link, word = (8, "Q") if big else (4, "I")
    for tags, blocks in pages:
        offsets = []
        for block in blocks:
            out += bytes(len(out) % 2)
            offsets.append(len(out))
            out += block
        entries = []
        for tag, (kind, values) in sorted(tags.items()):
            values = offsets if values is None else values
            data = struct.pack(f"{order}{len(values)}{letters[kind]}", *values) if not isinstance(values, bytes) else values
            count = len(data) // SIZES[kind]
            if len(data) > struct.calcsize(word):
                out += bytes(len(out) % 2)
                place = struct.pack(order + word, len(out))
                out += data
            else:
                place = data.ljust(struct.calcsize(word), b"\0")
            entries.append(struct.pack(order + "HH" + word, tag, kind, count) + place)
        out += bytes(len(out) % 2)
        struct.pack_into(order + word, out, link, len(out))
        out += struct.pack(order + ("Q" if big else "H"), len(entries)) + b"".join(entries)
        link = len(out)
        out += struct.pack(order + word, 0)
    return bytes(out)


def page(array, bits=8, colours=None, compression=RAW, predictor=1, planes=1, rows=None, tile=None, order="<", extra=None, packer=None, **more):
    """ARRAY: rows x columns x stored samples. MORE: t<number>=(type, values), or None to leave a tag out."""
    height, width, samples = array.shape
    colours = colours if colours is not None else RGB if samples >= 3 else BLACK
    packed = [(packer or PACKERS[compression])(rows_of(block, bits, order, predictor == 2))
              for block in blocks_of(array, rows, tile, planes)]
    tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * samples), 259: (3, [compression]), 262: (3, [colours]), 277: (3, [samples]),
            284: (3, [planes]), **({317: (3, [predictor])} if predictor != 1 else {})}
    if tile:
        tags |= {322: (3, [tile[1]]), 323: (3, [tile[0]]), 324: (4, None), 325: (4, [len(block) for block in packed])}
    else:
        tags |= {273: (4, None), 278: (4, [rows or height]), 279: (4, [len(block) for block in packed])}
    if extra:
        tags[338] = (3, extra)
    tags |= {int(name[1:]): value for name, value in more.items()}
    return {tag: value for tag, value in tags.items() if value is not None}, packed


def tiff(array, order="<", big=False, **options):
    return directories([page(array, order=order, **options)], order, big)


def samples(width, height, count, bits):
    """Half noise, half flat, so that runs and long strings come, too."""
    values = noise(width, height * count * 2, 1).astype(np.uint16).reshape(2, height, width, count)
    values = values[0] << 8 | values[1]
    values[:, width // 2:] = values[:1, :1]
    return values >> (16 - bits)


# ---- what pixels are, in whole numbers

def picture(array, bits, colours, alpha=None, premultiplied=False, palette=None):
    """What server/README.md says of ARRAY."""
    most = 65535 if bits == 16 else 255
    values = array.astype(np.int64) * (most // ((1 << bits) - 1))
    shown = values[..., :COLOURS[colours]]
    if premultiplied:
        a = values[..., alpha:alpha + 1]
        shown = np.where((a == 0) | (a == most), shown, np.minimum(most, most * shown // np.maximum(a, 1)))
    if colours == WHITE:
        shown = most - shown
    if colours == PALETTE:
        shown = palette[array[..., 0]] >> 8
    if colours == CMYK:
        shown = ((most - shown[..., :3]) * (most - shown[..., 3:]) + most // 2) // most
    if alpha is not None:
        shown = np.concatenate([shown, values[..., alpha:alpha + 1]], axis=2)
    return shown.astype(np.uint16 if bits == 16 else np.uint8)


def pixels(body, channels):
    """OpenCV's, which keeps 16 bits; of gray with alpha it makes colours."""
    shown = cv2.imdecode(np.frombuffer(body, np.uint8), cv2.IMREAD_UNCHANGED)
    shown = shown.reshape(*shown.shape[:2], -1)
    order = {1: [0], 2: [0, 3], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]
    return shown[..., order] if shown.shape[2] > max(order) else shown


def check(daemon, data, expected, notes=(), connection=None):
    connection = connection or daemon.connect()
    connection.request("POST", SAME, data)
    response = connection.getresponse()
    body = response.read()
    assert response.status == 200, body
    shown = pixels(body, expected.shape[2])
    assert shown.shape == expected.shape and shown.dtype == expected.dtype
    assert np.array_equal(shown, expected)
    timing = json.loads(response.headers["X-Burin-Timing"])
    assert timing["notes"] == list(notes) and timing["input"]["type"] == "tiff"


KINDS = {"gray": (BLACK, 1, None), "white is zero": (WHITE, 1, None), "gray and alpha": (BLACK, 2, [2]), "rgb": (RGB, 3, None),
         "rgb and alpha": (RGB, 4, [2]), "premultiplied": (RGB, 4, [1]), "palette": (PALETTE, 1, None), "cmyk": (CMYK, 4, None)}
LAYOUTS = [{}, {"rows": 1}, {"rows": 5}, {"tile": (16, 16)}, {"tile": (16, 48)}]
COLOUR_MAP = noise(256, 2, 3, seed=9).astype(np.uint16).reshape(2, 256, 3)
COLOUR_MAP = COLOUR_MAP[0] << 8 | COLOUR_MAP[1]


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("kind", KINDS)
def test_every_layout(daemon, kind, bits):
    colours, count, extra = KINDS[kind]
    if colours == PALETTE and bits == 16:
        return
    rng, connection = random.Random(f"{kind} {bits}"), daemon.connect()
    palette = COLOUR_MAP[:1 << bits]
    more = {"t320": (3, list(palette.T.ravel()))} if colours == PALETTE else {}
    for compression, predictor, planes, layout, order in itertools.product(PACKERS, (1, 2), (1, 2), LAYOUTS, "<>"):
        if predictor == 2 and (bits < 8 or compression in (RAW, PACKBITS)):
            continue
        if rng.random() < 0.5:
            continue
        width, height = rng.choice([(1, 1), (1, 37), (41, 1), (17, 19), (33, 16), (50, 35)])
        array = samples(width, height, count, bits)
        data = tiff(array, order, rng.random() < 0.3, bits=bits, colours=colours, compression=compression, predictor=predictor, planes=planes,
                    extra=extra, **layout, **more)
        check(daemon, data, picture(array, bits, colours, count - 1 if extra else None, extra == [1], palette),
              ["CMYK was converted to RGB without a colour profile"] if colours == CMYK else [], connection)
