# SPDX-License-Identifier: Apache-2.0
"""Writes HEIC files box by box, after ISO/IEC 14496-12, 14496-15 and 23008-12, from pictures that x265 codes; and computes
in fractions what colours their planes are, as server/README.md says. x265 writes the planes that a decoder must have, or their digest beside the slices, which libde265's program compares."""
import os
import subprocess
import tempfile

import numpy as np

CSP = {"400": "i400", "420": "i420", "422": "i422", "444": "i444"}
PARAMETER_SETS = (32, 33, 34)


def widened(plane, height, width):
    """Three parts of the nearest sample and one of the next, in each halved direction; rounded half up once."""
    def both(length, samples):
        at = np.arange(length)
        if length == samples:
            return at, at
        return at // 2, np.clip(np.where(at % 2, at // 2 + 1, at // 2 - 1), 0, samples - 1)

    (near_y, next_y), (near_x, next_x) = both(height, plane.shape[0]), both(width, plane.shape[1])
    rows = 3 * plane[near_y] + plane[next_y]
    return (3 * rows[:, near_x] + rows[:, next_x] + 8) // 16


def exact_colours(found, bits, matrix, limited):
    """R, G, B or gray as real numbers of 0..255 or 0..65535, not clipped."""
    white, unit = (65535 if bits > 8 else 255), 1 << (bits - 8)
    black, luma, chroma = (16 * unit, 219 * unit, 224 * unit) if limited else (0, 2 ** bits - 1, 2 ** bits - 1)
    y = (found[0] - black) / luma
    if len(found) == 1:
        return y * white
    cb, cr = (widened(plane, *found[0].shape) for plane in found[1:])
    if matrix == 0:
        return np.dstack([(plane - black) / luma for plane in (cr, found[0], cb)]) * white
    red, blue = {1: (0.2126, 0.0722), 2: (0.299, 0.114), 4: (0.30, 0.11), 5: (0.299, 0.114), 6: (0.299, 0.114), 7: (0.212, 0.087),
                 9: (0.2627, 0.0593)}[matrix]
    cb, cr = (cb - 128 * unit) / chroma, (cr - 128 * unit) / chroma
    r, b = y + 2 * (1 - red) * cr, y + 2 * (1 - blue) * cb
    return np.dstack([r, (y - red * r - blue * b) / (1 - red - blue), b]) * white


# ---- HEVC

def chroma_shape(height, width, kind):
    return (height // 2 if kind == "420" else height, width // 2 if kind in ("420", "422") else width)


def planes_like(width, height, kind, bits, seed=1):
    """Waves with a little noise, in as many planes as KIND has."""
    rng, found = np.random.default_rng(seed), []
    for p in range(1 if kind == "400" else 3):
        rows, columns = (height, width) if not p else chroma_shape(height, width, kind)
        y, x = np.arange(rows)[:, None], np.arange(columns)
        wave = 0.5 + 0.3 * np.sin((x + 40 * seed) / (9 + p)) * np.cos(y / (7 + p)) + rng.normal(0, 0.03, (rows, columns))
        found.append((np.clip(wave, 0, 1) * (2 ** bits - 1)).astype(np.int64))
    return found


def hevc(found, kind, bits, *options):
    """-> NAL units, planes as x265 reconstructs them"""
    height, width = found[0].shape
    exact = bits > 8 and kind == "400"  # libde265's program cannot write these
    options += ("--lossless",) if exact else ()
    sample = "<u2" if bits > 8 else np.uint8
    with tempfile.TemporaryDirectory() as folder:
        source, out, back = (os.path.join(folder, name) for name in ("in.yuv", "out.hevc", "back.yuv"))
        with open(source, "wb") as f:
            f.write(b"".join(plane.astype(sample).tobytes() for plane in found))
        subprocess.run(["x265", "--input", source, "--input-res", f"{width}x{height}", "--fps", "1", "--frames", "1", "--input-csp",
                        CSP[kind], "--input-depth", str(bits), "-D", str(bits), "--preset", "ultrafast", "--qp", "20", "--pools", "1",
                        "--frame-threads", "1", "--hash", "1", *options, "-o", out, "-r", back], check=True, capture_output=True, timeout=60)
        if exact:
            found[0].astype(sample).tofile(back)
        elif bits > 8:  # x265 writes planes of 8 bits alone
            decoded = subprocess.run(["libde265-dec265", "-q", "-c", "-o", back, out], check=True, capture_output=True, timeout=60)
            assert b"mismatch" not in (decoded.stdout + decoded.stderr).lower(), decoded
        with open(out, "rb") as f:
            stream = f.read()
        with open(back, "rb") as f:
            samples = np.frombuffer(f.read(), sample).astype(np.int64)
    units = [unit.rstrip(b"\0") for unit in stream.split(b"\0\0\1")[1:]]
    planes, at = [], 0
    for plane in found:
        planes.append(samples[at:at + plane.size].reshape(plane.shape))
        at += plane.size
    return units, planes


def kind_of(unit):
    return unit[0] >> 1 & 63


def coded(units):
    """The bytes of an item: what is no parameter set, each behind its length."""
    return b"".join(len(unit).to_bytes(4, "big") + unit for unit in units if kind_of(unit) not in PARAMETER_SETS)


# ---- boxes

def box(kind, *parts):
    body = b"".join(parts)
    return (len(body) + 8).to_bytes(4, "big") + kind + body


def full(kind, version, *parts, flags=0):
    return box(kind, bytes([version]) + flags.to_bytes(3, "big"), *parts)


def u16(*numbers):
    return b"".join(number.to_bytes(2, "big") for number in numbers)


def u32(*numbers):
    return b"".join((number & 0xffffffff).to_bytes(4, "big") for number in numbers)


def ispe(width, height):
    return full(b"ispe", 0, u32(width, height))


def hvcc(units):
    arrays = [[unit for unit in units if kind_of(unit) == kind] for kind in PARAMETER_SETS]
    return box(b"hvcC", b"\1" + bytes(20) + b"\3", bytes([len(arrays)]),
               *(bytes([0x80 | kind]) + u16(len(array)) + b"".join(u16(len(unit)) + unit for unit in array)
                 for kind, array in zip(PARAMETER_SETS, arrays)))


def nclx(primaries, matrix, full_range):
    return box(b"colr", b"nclx", u16(primaries, 13, matrix), bytes([full_range << 7]))


def icc(profile):
    return box(b"colr", b"prof", profile)


def clap(width, height, x, y):
    """X and Y: pairs, the offsets of the middles."""
    return box(b"clap", u32(width, 1, height, 1, *x, *y))


def irot(angle):
    return box(b"irot", bytes([angle]))


def imir(axis):
    return box(b"imir", bytes([axis]))


ALPHA = full(b"auxC", 0, b"urn:mpeg:hevc:2015:auxid:1\0")


class Heif:
    def __init__(self):
        self.items, self.references, self.properties = [], [], []

    def add(self, kind, data, *properties, idat=False):
        """-> the item's number"""
        for prop in properties:
            if prop not in self.properties:
                self.properties.append(prop)
        self.items.append((kind, data, [self.properties.index(prop) + 1 for prop in properties], idat))
        return len(self.items)

    def picture(self, units, width, height, *properties):
        return self.add(b"hvc1", coded(units), ispe(width, height), hvcc(units), *properties)

    def grid(self, tiles, columns, width, height, *properties, rows=None):
        rows = len(tiles) // columns if rows is None else rows
        number = self.add(b"grid", bytes([0, 0, rows - 1, columns - 1]) + u16(width, height), ispe(width, height), *properties, idat=True)
        self.refer(b"dimg", number, *tiles)
        return number

    def refer(self, kind, item, *others):
        self.references.append(box(kind, u16(item, len(others), *others)))

    def file(self, primary, ftyp=b"heic\0\0\0\0mif1heic", tail=b""):
        mdat = b"".join(data for _, data, _, idat in self.items if not idat)
        idat = b"".join(data for _, data, _, idat in self.items if idat)
        infe = [full(b"infe", 2, u16(i, 0), kind, b"\0") for i, (kind, *_) in enumerate(self.items, 1)]

        def meta(start):
            places, at, inside = [], start, 0
            for i, (_, data, _, in_idat) in enumerate(self.items, 1):
                places.append(u16(i, int(in_idat), 0, 1) + u32(inside if in_idat else at, len(data)))
                inside, at = (inside + len(data), at) if in_idat else (inside, at + len(data))
            ipma = [u16(i) + bytes([len(properties)]) + u16(*properties) for i, (_, _, properties, _) in enumerate(self.items, 1)]
            return full(b"meta", 0, full(b"hdlr", 0, bytes(4), b"pict", bytes(13)), full(b"pitm", 0, u16(primary)),
                        full(b"iloc", 1, b"\x44\0", u16(len(places)), *places), full(b"iinf", 0, u16(len(infe)), *infe),
                        full(b"iref", 0, *self.references), box(b"idat", idat),
                        box(b"iprp", box(b"ipco", *self.properties), full(b"ipma", 0, u32(len(ipma)), *ipma, flags=1)))

        head = box(b"ftyp", ftyp)
        start = len(head) + len(meta(0)) + 8
        return head + meta(start) + box(b"mdat", mdat) + tail


def plain(width, height, *properties, kind="420", bits=8, seed=1, options=()):
    """-> the file of a picture in one piece, and its planes"""
    units, planes = hevc(planes_like(width, height, kind, bits, seed), kind, bits, *options)
    heif = Heif()
    return heif.file(heif.picture(units, width, height, *properties)), planes


def tiled(columns, rows, side, width, height, *properties, kind="420", bits=8, options=()):
    """-> the file of a grid of COLUMNS x ROWS tiles, and the planes of its WIDTH x HEIGHT pixels"""
    whole = planes_like(columns * side, rows * side, kind, bits)
    heif, tiles, parts = Heif(), [], []
    for i in range(columns * rows):
        part = []
        for plane in whole:
            down, across = plane.shape[0] // rows, plane.shape[1] // columns
            part.append(plane[i // columns * down:(i // columns + 1) * down, i % columns * across:(i % columns + 1) * across])
        units, planes = hevc(part, kind, bits, *options)
        tiles.append(heif.picture(units, side, side))
        parts.append(planes)
    joined = [np.block([[parts[y * columns + x][p] for x in range(columns)] for y in range(rows)]) for p in range(len(whole))]
    down, across = chroma_shape(height + (height % 2 if kind == "420" else 0), width + (width % 2 if kind in ("420", "422") else 0), kind)
    joined = [plane[:height, :width] if not p else plane[:down, :across] for p, plane in enumerate(joined)]
    return heif.file(heif.grid(tiles, columns, width, height, *properties)), joined
