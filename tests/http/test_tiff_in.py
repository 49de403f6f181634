# SPDX-License-Identifier: Apache-2.0
"""TIFF in: every depth, colour, compression, predictor, plane and block by a plain writer in numpy, which Pillow, tifffile and
libtiff's tools check in turn; pages, orientations, profiles; what is refused by its name; bombs and damage.

covers: pipeline/codecs/tiff.c pipeline/codecs/tiff/decoder.c pipeline/codecs/tiff/stream.c"""
import io
import itertools
import json
import random
import struct
import subprocess
import zlib

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from conftest import BURIN, check_problem, noise, png, smooth

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
    blocks = blocks_of(array, rows, tile, planes)
    if compression == PACKBITS:  # each row of its own; readers need not take others
        packed = [b"".join(packbits(rows_of(block[y:y + 1], bits, order, False)) for y in range(len(block))) for block in blocks]
    else:
        packed = [(packer or PACKERS[compression])(rows_of(block, bits, order, predictor == 2)) for block in blocks]
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


# ---- other writers and readers

def saved(image, **options):
    out = io.BytesIO()
    image.save(out, "TIFF", **options)
    return out.getvalue()


def run_tool(tmp_path, data, tool, *options):
    source, out = tmp_path / "from.tif", tmp_path / "to.tif"
    source.write_bytes(data)
    out.unlink(missing_ok=True)
    subprocess.run([tool, *options, str(source), str(out)], check=True, timeout=60, capture_output=True)
    return out.read_bytes()


def test_the_writer(tmp_path):
    """tifffile reads what this file's writer makes; of LZW and PackBits what libtiff has unpacked of it."""
    rng = random.Random(2)
    for compression, bits, planes, layout, order in itertools.product(PACKERS, (8, 16), (1, 2), LAYOUTS, "<>"):
        array = samples(*rng.choice([(17, 19), (50, 35)]), 3, bits)
        predictor = 2 if compression not in (RAW, PACKBITS) and rng.random() < 0.5 else 1
        data = tiff(array, order, rng.random() < 0.3, bits=bits, compression=compression, predictor=predictor, planes=planes, **layout)
        if compression in (LZW, PACKBITS):
            if planes == 2 and "tile" in layout:
                continue  # more than tiffcp can
            data = run_tool(tmp_path, data, "tiffcp", "-c", "none")
        read = tifffile.imread(io.BytesIO(data))
        assert np.array_equal(read if read.shape[-1] == 3 else np.moveaxis(read, 0, 2), array)


@pytest.mark.parametrize("packing", ["none", "lzw:1", "lzw:2", "zip:1", "zip:2", "packbits"])
def test_as_libtiff_writes_it(daemon, tmp_path, packing):
    for bits, count in itertools.product((8, 16), (1, 3, 4)):
        array = samples(101, 67, count, bits)
        extra = [2] if count == 4 else None
        for options in (["-s", "-r", "7", "-B"], ["-s", "-r", "67", "-L", "-8"], ["-t", "-w", "48", "-l", "32", "-L"],
                        ["-s", "-p", "separate", "-L"], ["-t", "-w", "16", "-l", "64", "-p", "separate", "-B"]):
            if bits == 16 and "separate" in options:
                continue  # more than tiffcp can
            data = run_tool(tmp_path, tiff(array, bits=bits, extra=extra), "tiffcp", "-c", packing, *options)
            check(daemon, data, array.astype(np.uint16 if bits == 16 else np.uint8))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "RGBX", "I;16", "I;16B", "CMYK"])
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits"])
def test_as_pillow_writes_and_reads_it(daemon, mode, compression):
    """CMYK is one less or more there."""
    for width, height in ((1, 1), (300, 1), (41, 67)):
        if mode.startswith("I;16"):
            image = Image.frombytes(mode, (width, height), samples(width, height, 1, 16).astype(">u2" if mode[-1] == "B" else "<u2").tobytes())
        elif mode == "1":
            image = Image.fromarray(samples(width, height, 1, 8)[..., 0].astype(np.uint8)).convert("1")
        else:
            count = len(mode) if mode != "P" else 1
            image = Image.frombytes(mode, (width, height), samples(width, height, count, 8).astype(np.uint8).tobytes())
            if mode == "P":
                image.putpalette(noise(256, 1, 3).tobytes())
        data = saved(image, compression=compression)
        shown = Image.open(io.BytesIO(data))
        shown = np.array(shown if mode in ("L", "LA", "RGB", "RGBA") else shown.convert("L") if mode == "1" else shown)
        if mode in ("P", "RGBX", "CMYK"):
            shown = np.array(Image.open(io.BytesIO(data)).convert("RGB"))
        expected = shown.reshape(height, width, -1).astype(np.uint16 if mode.startswith("I;16") else np.uint8)
        answer = daemon.post(SAME, data)
        assert answer.status == 200, answer.body
        off = np.abs(pixels(answer.body, expected.shape[2]).astype(int) - expected)
        assert off.max() <= (1 if mode == "CMYK" else 0)


@pytest.mark.parametrize("kind", ["gray", "white is zero", "palette", "rgb"])
def test_as_libtiff_shows_it(daemon, tmp_path, kind):
    for bits in (1, 2, 4, 8):
        colours, count, extra = KINDS[kind]
        if kind == "rgb" and bits < 8:
            continue
        more = {"t320": (3, list(COLOUR_MAP[:1 << bits].T.ravel()))} if colours == PALETTE else {}
        data = tiff(samples(37, 21, count, bits), ">", bits=bits, colours=colours, **more)
        theirs = tifffile.imread(io.BytesIO(run_tool(tmp_path, data, "tiff2rgba", "-c", "none")))[..., :3]
        answer = daemon.post(SAME, data)
        ours = pixels(answer.body, 3 if colours in (PALETTE, RGB) else 1)
        assert np.array_equal(np.broadcast_to(ours, theirs.shape), theirs)


def test_old_codes(daemon):
    """LZW before TIFF 5.0, which Pillow reads by libtiff; tables that are cleared late, and that are never cleared."""
    array = samples(150, 120, 1, 8)
    for packer in (lambda data: lzw(data, old=True), lambda data: lzw(data, old=True, clear_at=300), lambda data: lzw(data, clear_at=300),
                   lambda data: lzw(data, clear_at=4095)):
        data = tiff(array, compression=LZW, packer=packer, rows=70)
        assert np.array_equal(np.array(Image.open(io.BytesIO(data))), array[..., 0])
        check(daemon, data, array.astype(np.uint8))


def test_long_strings(daemon):
    """A flat picture has strings of all lengths up to 900 bytes, which begin and end anywhere in rows of 7 to 1000."""
    for width in (7, 61, 1000):
        array = np.zeros((400000 // width, width, 1), np.uint16)
        array[-1] = noise(width, 1, 1)[..., None]
        for old in (False, True):
            check(daemon, tiff(array, compression=LZW, packer=lambda data: lzw(data, old=old)), array.astype(np.uint8))


def test_tables_that_stay_full(daemon):
    """A writer may go on with twelve bits."""
    array = noise(200, 120, 1)[..., None].astype(np.uint16)
    bits, table, word, width, count = Bits(False), {bytes([i]): i for i in range(256)}, b"", 9, 258
    bits.add(256, 9)
    for byte in array.astype(np.uint8).tobytes():
        if word + bytes([byte]) in table:
            word += bytes([byte])
            continue
        bits.add(table[word], width)
        if count < 4096:
            table[word + bytes([byte])] = count
            count += 1
            width = min(12, (count).bit_length())
        word = bytes([byte])
    bits.add(table[word], width)
    check(daemon, tiff(array, compression=LZW, packer=lambda _: bits.bytes()), array.astype(np.uint8))


def test_codes_behind_the_last_byte(daemon):
    """Four strings of four bytes end the only row; the next code means nothing, and nobody needs it."""
    array, bits = np.frombuffer(b"abcd" * 7, np.uint8).reshape(1, 28, 1), Bits(False)
    for code in (256, *b"abcd", 258, 260, 262, *b"d", 264, 264, 264, 264, *[511] * 16):
        bits.add(code, 9)
    check(daemon, tiff(array.astype(np.uint16), compression=LZW, packer=lambda _: bits.bytes()), array)


# ---- pages, orientations, profiles, samples that are left out

FIRST_PAGE = "only the first frame of the animation, or the first page, was taken"
LEFT_OUT = "samples of the TIFF that are neither colours nor transparency were left out"


@pytest.mark.parametrize("order,big", [("<", False), (">", True)])
def test_pages(daemon, order, big):
    """A smaller copy and a mask are no pages; if there is nothing else, the first is taken."""
    arrays = [samples(10 + i, 7, 1, 8) for i in range(3)]

    def files(*kinds):
        pages = [page(array, order=order) for array in arrays]
        for (tags, _), kind in zip(pages, kinds):
            tags.update(kind)
        return directories(pages[:len(kinds)], order, big)

    small, mask, old_small, plain, one_of_many = {254: (4, [1])}, {254: (4, [4])}, {255: (3, [2])}, {}, {254: (4, [2])}
    for kinds, chosen, notes in (((plain,), 0, []), ((plain, plain), 0, [FIRST_PAGE]), ((small, plain), 1, []), ((old_small, mask, plain), 2, []),
                                 ((plain, small), 0, []), ((small, plain, one_of_many), 1, [FIRST_PAGE]), ((small, mask), 0, [])):
        check(daemon, files(*kinds), arrays[chosen].astype(np.uint8), notes)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("orientation", range(10))
def test_orientations(daemon, layout, orientation):
    for width, height, bits, count in ((1, 1, 8, 1), (37, 50, 8, 3), (50, 37, 16, 4), (3, 70, 16, 2)):
        array = samples(width, height, count, bits)
        data = tiff(array, bits=bits, extra=[2] if count in (2, 4) else None, t274=(3, [orientation]), **layout)
        swap = array.swapaxes(0, 1)
        turned = {2: array[:, ::-1], 3: array[::-1, ::-1], 4: array[::-1], 5: swap, 6: swap[:, ::-1], 7: swap[::-1, ::-1], 8: swap[::-1]}
        check(daemon, data, turned.get(orientation, array).astype(np.uint16 if bits == 16 else np.uint8))


def test_profiles(daemon):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    array = samples(20, 10, 3, 8)
    for data in (tiff(array, t34675=(7, profile)), tiff(array, ">", True, t34675=(1, profile)), saved(Image.fromarray(array.astype(np.uint8)), icc_profile=profile)):
        answer = daemon.post(SAME, data)
        assert Image.open(io.BytesIO(answer.body)).info["icc_profile"] == profile and not answer.timing["notes"]
    cmyk = daemon.post(SAME, tiff(samples(20, 10, 4, 8), colours=CMYK, t34675=(7, profile)))
    assert "icc_profile" not in Image.open(io.BytesIO(cmyk.body)).info and len(cmyk.timing["notes"]) == 2


def test_extra_samples(daemon):
    """The first that is alpha counts, wherever it stands; the others are left out."""
    for planes, layout in itertools.product((1, 2), LAYOUTS):
        array = samples(37, 21, 6, 8)
        for extra, alpha, premultiplied in (([0, 0, 0], None, False), ([0, 2, 1], 4, False), ([0, 0, 1], 5, True), ([2], 3, False), (None, None, False)):
            data = tiff(array, planes=planes, extra=extra, compression=DEFLATE, colours=RGB, **layout)
            check(daemon, data, picture(array, 8, RGB, alpha, premultiplied), [LEFT_OUT])
        for colours, more in ((PALETTE, {"t320": (3, list(COLOUR_MAP.T.ravel()))}), (CMYK, {}), (WHITE, {})):
            count = COLOURS[colours] + 1
            answer = daemon.post(SAME, tiff(array[..., :count], colours=colours, extra=[2], planes=planes, **layout, **more))
            assert np.array_equal(pixels(answer.body, 2 if colours == WHITE else 4), picture(array[..., :count], 8, colours, count - 1, palette=COLOUR_MAP))


def test_rows_below_the_picture(daemon):
    """Tiles have them, and some writers' last strips; they are not read."""
    array = noise(128, 64, 3).astype(np.uint16)
    for compression, predictor in ((RAW, 1), (LZW, 2), (DEFLATE, 1), (PACKBITS, 1)):
        for rows in (1, 3, 50):
            check(daemon, tiff(array, tile=(64, 64), compression=compression, predictor=predictor, t257=(4, [rows])), array[:rows].astype(np.uint8))
        for rows in (33, 40, 63):
            check(daemon, tiff(array, rows=32, compression=compression, predictor=predictor, t257=(4, [rows])), array[:rows].astype(np.uint8))


def test_palettes_of_eight_bits(daemon):
    """Their numbers are all below 256; with one above, the higher byte counts."""
    array, colours = samples(20, 10, 1, 8), noise(256, 1, 3).reshape(256, 3).astype(np.uint16)
    check(daemon, tiff(array, colours=PALETTE, t320=(3, list(colours.T.ravel()))), colours[array[..., 0]].astype(np.uint8))
    colours[0, 0] = 256
    check(daemon, tiff(array, colours=PALETTE, t320=(3, list(colours.T.ravel()))), (colours[array[..., 0]] >> 8).astype(np.uint8))


def test_tags_that_may_be_missing_or_of_another_type(daemon):
    array = samples(20, 10, 1, 8)
    shown = array.astype(np.uint8)
    for more in ({"t259": None}, {"t277": None}, {"t284": None}, {"t278": None}, {"t279": None}, {"t256": (3, [20]), "t257": (1, [10])},
                 {"t339": (3, [1])}, {"t339": (3, [4])}, {"t317": (3, [2])}, {"t258": (4, [8])}, {"t266": (3, [1])},
                 {"t278": (4, [2 ** 32 - 1])}, {"t279": (4, [10 ** 9])}):
        check(daemon, tiff(array, **more), shown)
    check(daemon, tiff(array, big=True, t278=(16, [2 ** 63]), t279=(16, [2 ** 63])), shown)
    check(daemon, tiff(array >> 7, bits=1, t258=None), (array >> 7).astype(np.uint8) * 255)
    check(daemon, tiff(array, compression=LZW, rows=3, t279=None), shown)


# ---- what is refused

GRAY = samples(20, 10, 1, 8)
COLOUR = samples(20, 10, 3, 8)


@pytest.mark.parametrize("data,words", [
    *[(tiff(GRAY, t259=(3, [number])), name) for number, name in (
        (2, "CCITT"), (3, "CCITT fax"), (4, "CCITT fax"), (6, "JPEG compression"), (7, "JPEG compression"), (32809, "ThunderScan"), (34712, "JPEG 2000"),
        (34887, "LERC"), (34925, "LZMA"), (50000, "ZSTD"), (50001, "WebP"), (50002, "JPEG XL"), (12345, "unknown compression"))],
    *[(tiff(COLOUR, t262=(3, [number])), name) for number, name in (
        (4, "mask"), (6, "YCbCr"), (8, "CIELAB"), (9, "ICC Lab"), (32803, "raw samples of a camera"), (32845, "LogLuv"), (99, "unknown colours"))],
    (tiff(GRAY, t339=(3, [2])), "sign"), (tiff(GRAY, t339=(3, [3]), t258=(3, [32])), "floating point"), (tiff(GRAY, t339=(3, [6])), "no whole numbers"),
    (tiff(GRAY, t258=(3, [12])), "samples of 12 bits"), (tiff(GRAY, t258=(3, [32])), "samples of 32 bits"), (tiff(COLOUR, t258=(3, [8, 8, 16])), "different bits"),
    (tiff(GRAY, t266=(3, [2])), "FillOrder 2"), (tiff(GRAY, compression=DEFLATE, t317=(3, [3])), "predictor for floating point"),
    (tiff(GRAY >> 7, bits=1, compression=LZW, t317=(3, [2])), "fewer than 8 bits"), (tiff(samples(20, 10, 4, 8), colours=CMYK, t332=(3, [2])), "inks"),
    (tiff(samples(20, 10, 1, 16), bits=16, colours=PALETTE, t320=(3, [0] * 3 * 65536)), "palette of 16 bits"),
    (tiff(GRAY, t50706=(1, [1, 4, 0, 0])), "raw samples of a camera"), (tiff(GRAY, t254=(4, [1]), t330=(4, [8])), "cameras"),
    (tiff(GRAY, t277=(3, [65])), "64 samples"),
    (tiff(GRAY, t256=(4, [1025]), t257=(4, [1024]), tile=(16, 16), t322=(3, [1]), t323=(3, [1])), "1048576"), (tiff(GRAY, tile=(16, 4200)), "far wider")], ids=str)
def test_refused_by_name(daemon, data, words):
    check_problem(daemon.post(SAME, data), 415, "this is a TIFF with", words, "convert it with")
    assert daemon.works()


def loop(data, target):
    """The link behind the only directory leads to TARGET."""
    at = struct.unpack_from("<I", data, 4)[0]
    end = at + 2 + 12 * struct.unpack_from("<H", data, at)[0]
    return data[:end] + struct.pack("<I", target(at)) + data[end + 4:]


def test_chains_that_break_or_loop(daemon):
    """They end there."""
    for target in (lambda at: at, lambda at: 2 ** 32 - 1, lambda at: at + 1, lambda at: 1):
        answer = daemon.post(SAME, loop(tiff(GRAY), target))
        assert answer.status == 200 and np.array_equal(pixels(answer.body, 1), GRAY)
    small = loop(tiff(GRAY, t254=(4, [1])), lambda at: at)
    check(daemon, small, GRAY.astype(np.uint8))
    check_problem(daemon.post(SAME, tiff(GRAY)[:4] + struct.pack("<I", 2 ** 32 - 1) + tiff(GRAY)[8:]), 422, "first directory")


@pytest.mark.parametrize("data,word", [
    (tiff(GRAY, t256=(4, [65535]), t257=(4, [65535]), t278=None), "pixels_max"), (tiff(GRAY, t256=(4, [70000])), "side_max"),
    (tiff(GRAY, t256=(4, [2 ** 32 - 1]), t257=(4, [2 ** 32 - 1])), "4294967295 x 4294967295"), (tiff(GRAY, t256=(4, [0])), "a side"),
    (tiff(GRAY, t256=None), "a side"), (tiff(GRAY, t262=None), "what its samples mean"), (tiff(GRAY, t273=None), "too few strips"),
    (tiff(GRAY, t278=(4, [1])), "too few strips"), (tiff(GRAY, t278=(4, [0])), "a side of its strips"), (tiff(GRAY, tile=(16, 16), t322=(3, [0])), "strips or tiles is 0"),
    (tiff(GRAY, tile=(16, 16), t322=(3, [1]), t323=(3, [1])), "too few strips"), (tiff(GRAY, colours=PALETTE), "palette"),
    (tiff(GRAY, colours=PALETTE, t320=(3, [0] * 767)), "palette"), (tiff(GRAY, t262=(3, [2])), "too few samples"),
    (tiff(GRAY, t256=(4, [8000]), t257=(4, [8000])), "cut off"), (tiff(GRAY, compression=DEFLATE, t256=(4, [8000]), t257=(4, [8000])), "cut off"),
    (tiff(GRAY, compression=LZW, t256=(4, [8000]), t257=(4, [8000])), "cut off"),
    (tiff(GRAY, compression=PACKBITS, t256=(4, [8000]), t257=(4, [8000])), "cut off"),
    (tiff(GRAY, t273=(4, [10 ** 9])), "cut off"), (tiff(GRAY, t279=(4, [199])), "cut off"),
    (tiff(GRAY, t257=(4, [8000]), t256=(4, [8000]), t278=(4, [1]), t273=(4, [8] * 8000), t279=(4, [8000] * 8000), compression=PACKBITS), "broken"),
    (tiff(GRAY, compression=DEFLATE, packer=lambda data: zlib.compress(data)[:-1] + b"x"), "checksum"),
    (tiff(GRAY, compression=DEFLATE, packer=lambda data: zlib.compress(data)[:-1]), "cut off"),
    (tiff(GRAY, compression=DEFLATE, packer=lambda data: b"\x78\x9c" + bytes(90)), "unpacked"),
    (tiff(GRAY, compression=LZW, packer=lambda data: lzw(data[:-1])), "too few bytes"),
    (tiff(GRAY, compression=LZW, packer=lambda data: b"\x80\x00\x20" + bytes([255]) * 90), "no meaning"),
    (tiff(GRAY, t274=(11, [6.0])), "no whole numbers"), (tiff(GRAY)[:60], "first directory"), (b"II*\0", "first directory")], ids=lambda value: value if isinstance(value, str) else "")
def test_broken(daemon, data, word):
    check_problem(daemon.post(SAME, data), 422, word)


def test_counts_of_four_billion(daemon):
    """Of a tag's values, and of a directory's entries."""
    for tag in (256, 258, 262, 273, 277, 278, 279, 338, 339, 34675):
        data = bytearray(tiff(GRAY, t338=(3, [0]), t339=(3, [1]), t34675=(7, bytes(9))))
        at = data.index(struct.pack("<H", tag), struct.unpack_from("<I", data, 4)[0])
        struct.pack_into("<I", data, at + 4, 2 ** 32 - 1)
        assert daemon.post(SAME, bytes(data)).status == (200 if tag == 34675 else 422), tag
    big = bytearray(tiff(GRAY, big=True))
    struct.pack_into("<Q", big, struct.unpack_from("<Q", big, 8)[0], 2 ** 64 - 1)
    check_problem(daemon.post(SAME, bytes(big)), 422, "first directory")


def test_bombs(daemon):
    """What unpacks to more than the pixels, or takes far more bytes than they do, is not read to its end; blocks may share bytes."""
    check(daemon, tiff(GRAY, compression=DEFLATE, packer=lambda data: zlib.compress(data + bytes(1 << 26))), GRAY.astype(np.uint8))
    empty = b"\x78\x9c" + b"\0\0\0\xff\xff" * 1000000
    check_problem(daemon.post(SAME, tiff(GRAY, compression=DEFLATE, packer=lambda data: empty)), 422, "cut off")
    clears = Bits(False)
    for _ in range(8000):
        clears.add(256, 9)
    check_problem(daemon.post(SAME, tiff(GRAY, compression=LZW, packer=lambda data: clears.bytes())), 422, "too few bytes")
    check_problem(daemon.post(SAME, tiff(GRAY, compression=LZW, t317=None, packer=lambda data: b"\x80" * 5000000)), 422, "broken")
    check_problem(daemon.post(SAME, tiff(GRAY, t259=(3, [PACKBITS]), packer=lambda data: b"\x80" * 5000000)), 422, "too few bytes")
    row = noise(1000, 1, 1).tobytes()
    shared = tiff(noise(1000, 1, 1)[..., None].astype(np.uint16), t257=(4, [300]), t278=(4, [1]), t273=(4, [8] * 300), t279=(4, [1000] * 300))
    check(daemon, shared, np.tile(np.frombuffer(row, np.uint8), (300, 1))[..., None])
    few = tiff(GRAY, t256=(4, [8000]), t257=(4, [8000]), t278=(4, [8000]), t273=(4, [8] * 1), compression=DEFLATE, t279=(4, [10 ** 6]))
    check_problem(daemon.post(SAME, few), 422, "cut off")


# ---- damage

@pytest.mark.parametrize("compression", PACKERS)
def test_short_strips(daemon, compression):
    """Rows before the damage stay, also in later strips; the others are black. In all orientations."""
    array = samples(30, 44, 3, 8)
    for orientation, planes in ((1, 1), (4, 1), (6, 1), (8, 2)):
        tags, blocks = page(array, compression=compression, rows=8, planes=planes, t274=(3, [orientation]))
        whole = directories([(tags, blocks)])
        packed = list(blocks)
        packed[3] = blocks[3][:len(blocks[3]) // 2]
        tags[279] = (4, [len(block) for block in packed])
        cut = directories([(tags, packed)])
        check_problem(daemon.post(SAME, cut), 422, "send ")
        answer, sound = daemon.post(f"{SAME}&damaged=accept", cut), daemon.post(SAME, whole)
        assert answer.status == 200 and "damaged" in answer.timing["notes"][0]
        back = {1: lambda a: a, 4: lambda a: a[::-1], 6: lambda a: a[:, ::-1].swapaxes(0, 1), 8: lambda a: a[::-1].swapaxes(0, 1)}[orientation]
        ours, theirs = back(pixels(answer.body, 3)), back(pixels(sound.body, 3))
        assert np.array_equal(theirs, array)
        same = [np.array_equal(ours[y], theirs[y]) for y in range(44)]
        assert all(same[:24]) and all(same[32:]) and not same[31]
        first = same.index(False)
        assert not ours[first:32].any() and (compression != RAW or first == 28)


def test_a_short_tile(daemon):
    array = samples(40, 40, 1, 8)
    tags, packed = page(array, tile=(16, 16))
    packed[4] = packed[4][:16 * 5 + 3]
    tags[325] = (4, [len(block) for block in packed])
    data = directories([(tags, packed)])
    check_problem(daemon.post(SAME, data), 422, "cut off")
    answer = daemon.post(f"{SAME}&damaged=accept", data)
    expected = array.astype(np.uint8)
    expected[16 + 5:32, 16:32] = 0
    assert np.array_equal(pixels(answer.body, 1), expected)


# ---- what comes back

def test_results_are_png_unless_the_request_says_otherwise(daemon, tmp_path):
    data = saved(Image.fromarray(smooth(60, 40)))
    assert daemon.post("/brightness?shift=0", data).headers["Content-Type"] == "image/png"
    assert daemon.post("/brightness?shift=0", data, headers={"Accept": "image/tiff"}).headers["Content-Type"] == "image/png"
    assert daemon.post("/brightness?shift=0&type=jpeg", data).headers["Content-Type"] == "image/jpeg"
    check_problem(daemon.post("/brightness?shift=0&type=tiff", data), 400, "type", "png, jpeg")
    info = daemon.post("/info", tiff(samples(60, 40, 3, 16), bits=16, t274=(3, [6]))).json
    assert (info["type"], info["mime_type"], info["width"], info["height"], info["space"], info["depth"]) == ("tiff", "image/tiff", 40, 60, "rgb", 16)
    source = tmp_path / "in.tif"
    source.write_bytes(data)
    written = subprocess.run([BURIN, "run", "--device", "cpu", str(source), "-"], check=True, timeout=60, capture_output=True).stdout
    assert written[1:4] == b"PNG" and np.array_equal(np.array(Image.open(io.BytesIO(written))), smooth(60, 40))


def test_masks(daemon):
    """As PNGs of the same samples are."""
    keep = np.zeros((40, 60, 1), np.uint16)
    keep[5:20, 5:25] = 1
    image = ("image", png(smooth(60, 40)), "a")
    masks = tiff(keep, bits=1, compression=PACKBITS), png((keep[..., 0] * 255).astype(np.uint8))
    one, other = (daemon.post_form("/carve?dx=-12&type=png", [image, ("mask", mask, "m")]) for mask in masks)
    assert one.status == other.status == 200 and one.body == other.body
    assert one.body != daemon.post_form("/carve?dx=-12&type=png", [image]).body
    broken = daemon.post_form("/carve?dx=-12", [image, ("mask", tiff(GRAY, t259=(3, [7])), "m")])
    check_problem(broken, 400, "mask", "JPEG compression")


def test_the_largest_pictures_fit_between_runs(start):
    """Pixels of 8 bytes are left in the slot twice: by the cell that decodes, and for the one that encodes."""
    side = 1600
    file = tiff(np.full((side, side, 4), 0xc0c0, np.uint16), bits=16, extra=[2], compression=DEFLATE)
    daemon = start("--pixels-max", str(side * side), "--body-bytes-max", str(len(file)))
    answer = daemon.post("/brightness?shift=0&type=avif&effort=0", file)
    if answer.status == 400:
        pytest.skip(answer.json["message"])
    assert answer.status == 200, answer.body
    small = daemon.post("/resize?width=16&type=png", answer.body)
    assert small.image.shape == (16, 16, 4) and np.all(np.abs(small.image.astype(int) - 0xc0) < 2)
