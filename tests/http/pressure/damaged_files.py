#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""damaged_files.py [--files 10000] [--seed 1] [--only heic,avif,gif,tiff,bmp,webp] [--keep FOLDER]
Sends FILES damaged files of each kind to a daemon on loopback, one behind the other over four connections: bytes changed, left out and put in,
ends cut off. An answer is a refusal (415, 422) or the picture that another reader makes of the same bytes: libheif and libde265 (HEIC), libavif and
dav1d (AVIF), Pillow (GIF, BMP), Pillow and libtiff (TIFF), Pillow and libwebp (every frame of an animated WebP).

    refused       by both; "refused alone": by Burin, and the other reader shows a picture
    equal         shown by both, in the same pixels (HEIC: two levels apart on average, BMP of 16 bits: one); "differ": goal 0
    shown alone   by Burin, and the other reader refuses, or warns
    other         any other answer: goal 0
    slowest       answer in ms (goal: at most 30,100, a job's time and a tenth of a second)

Exits with 0 where these goals are met. --keep: a folder for some files of each reason of the middle columns, and all of the last. Takes about half
an hour; a busy machine changes times alone."""
import argparse
import collections
import ctypes
import functools
import http.client
import io
import json
import logging
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import numpy as np
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import heif  # noqa: E402
import test_bmp_in as bmp  # noqa: E402
import test_tiff_in as tiff  # noqa: E402
from conftest import from_pnm, in_parallel, noise, smooth  # noqa: E402
from pressure.daemon import Daemon  # noqa: E402
from test_animation import frames_of, same, webp_of  # noqa: E402
from test_avif_in import avif, described  # noqa: E402
from test_gif_in import gif, indices, picture  # noqa: E402

PIXELS_MAX, CONNECTIONS, DEADLINE_MS, KEPT_EACH, NEAR = 1 << 20, 4, 30100, 5, 2
BAD = ("differ", "other")
STILL = "/brightness?shift=0&compression=0&type="


def changed(rng, data, places):
    """PLACES: a slice that holds what the file says of itself; half of the changes fall there."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        low, high, _ = places.indices(len(data)) if rng.random() < 0.5 else (4, len(data), 1)
        at, what = rng.randrange(low, max(high, low + 1)), rng.randrange(8)
        if what < 3:
            data[at:at + 1] = bytes([rng.choice([0, 1, 8, 255, rng.randrange(256)])])
        elif what < 6 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif what == 6:
            del data[at:at + rng.randint(1, 5)]
        else:
            data[at:at] = rng.randbytes(rng.randint(1, 5))
    if rng.random() < 0.1:
        del data[rng.randrange(min(20, len(data)), len(data) + 1):]
    return bytes(data)


# ---- other readers: None where they refuse; and whether an answer is what they show

def by_pillow(data, strict=False):
    """STRICT: it refuses where it warns."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error" if strict else "ignore")
            image = Image.open(io.BytesIO(data))
            if image.width * image.height > PIXELS_MAX:
                return None
            image.load()
            return image
    except Exception:  # Pillow raises almost anything for a damaged file
        return None


def by_pillow_with_bits(data):
    image = by_pillow(data)
    return image and (image, int(data[28] == 16))


def by_libtiff(data):
    return by_pillow(data, strict=True)


def by_libwebp(data):
    try:
        return by_pillow(data) and frames_of(data)
    except Exception:
        return None


def rgba(data):
    return np.array(Image.open(io.BytesIO(data)).convert("RGBA"))


def beyond_palette(ours, theirs):
    """Such an index is black here, and in Pillow the gray of that number."""
    return (np.ptp(theirs[..., :3], axis=2) == 0) & ~ours[..., :3].any(axis=2)


def as_gif(theirs, answer):
    """Outside the frame Pillow shows the colour of index 0."""
    x0, y0, x1, y1 = getattr(theirs, "dispose_extent", (0, 0, *theirs.size))
    ours, theirs = rgba(answer), np.array(theirs.convert("RGBA"))
    if ours.shape != theirs.shape:
        return False
    ours, theirs = ours[y0:y1, x0:x1], theirs[y0:y1, x0:x1]
    off = (theirs[..., 3] > 0) & (ours[..., :3] != theirs[..., :3]).any(axis=2) | (ours[..., 3] != theirs[..., 3])
    return not (off & ~beyond_palette(ours, theirs)).any()


def as_bmp(theirs, answer):
    """Pillow rounds five bits down."""
    image, few_bits = theirs
    ours, theirs = rgba(answer), np.array(image.convert("RGBA"))
    if ours.shape != theirs.shape:
        return False
    off = np.abs(ours.astype(int) - theirs).max(axis=2)
    return not (off * ~beyond_palette(ours, theirs) > few_bits).any()


def as_tiff(theirs, answer):
    """Of a tag that stands twice libtiff takes the first, and Pillow, which reads the sides itself, the last: then nothing can be said."""
    ours, theirs = rgba(answer)[..., :3], np.array(theirs.convert("RGB"))
    return None if ours.shape != theirs.shape else np.array_equal(ours, theirs)


def as_webp(theirs, answer):
    """Pillow shows no alpha where the file's head denies it; libwebp and Burin have that of the frames."""
    ours, opaque = frames_of(answer), all((frame[..., 3] == 255).all() for frame in theirs[0])
    if len(ours[0]) != len(theirs[0]) or any(a.shape != b.shape for a, b in zip(ours[0], theirs[0])):
        return False
    shown = [np.dstack([b[..., :3], a[..., 3]]) if opaque else b for a, b in zip(ours[0], theirs[0])]
    return same(ours[0], shown) and (len(shown) == 1 or ours[1] == theirs[1])


# ---- libheif, in a process of its own that may die; libavif's program

class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("subcode", ctypes.c_int), ("message", ctypes.c_char_p)]


def libheif_picture(library, data):
    """RGB, or gray where that was coded; None: refused."""
    context, handle, image = ctypes.c_void_p(library.heif_context_alloc()), ctypes.c_void_p(), ctypes.c_void_p()
    as_coded, stride, planes = 99, ctypes.c_int(), []
    if not (library.heif_context_read_from_memory_without_copy(context, data, ctypes.c_size_t(len(data)), None).code
            or library.heif_context_get_primary_image_handle(context, ctypes.byref(handle)).code
            or library.heif_decode_image(handle, ctypes.byref(image), as_coded, as_coded, None).code):
        for channel in (0,) if library.heif_image_has_channel(image, 0) else (3, 4, 5):
            width, height = library.heif_image_get_width(image, channel), library.heif_image_get_height(image, channel)
            bits = library.heif_image_get_bits_per_pixel_range(image, channel)
            start = library.heif_image_get_plane_readonly(image, channel, ctypes.byref(stride))
            rows = np.frombuffer(ctypes.string_at(start, stride.value * height), "<u2" if bits > 8 else np.uint8)
            planes.append(rows.reshape(height, -1)[:, :width] * (255 / (2 ** bits - 1)))
    library.heif_image_release(image)
    library.heif_image_handle_release(handle)
    library.heif_context_free(context)
    return np.dstack(planes) if planes else None


def serve_libheif(pipe):
    library = ctypes.CDLL("libheif.so.1")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libde265 prints a line for some files
    for name in ("context_read_from_memory_without_copy", "context_get_primary_image_handle", "decode_image"):
        getattr(library, "heif_" + name).restype = Error
    for name in ("context_alloc", "image_get_plane_readonly"):
        getattr(library, "heif_" + name).restype = ctypes.c_void_p
    while True:
        pipe.send(libheif_picture(library, pipe.recv()))


class Libheif:
    def __init__(self):
        self.lock, self.process = threading.Lock(), None

    def picture(self, data):
        with self.lock:
            if not self.process:
                self.pipe, other = multiprocessing.Pipe()
                self.process = multiprocessing.Process(target=serve_libheif, args=(other,), daemon=True)
                self.process.start()
                other.close()
            try:
                self.pipe.send(data)
                return self.pipe.recv() if self.pipe.poll(60) else None
            except (EOFError, OSError):  # the library has killed its process
                self.process = None
                return None


def by_libavif(data):
    with tempfile.TemporaryDirectory() as folder:
        try:
            planes, text = described(pathlib.Path(folder), data)
        except subprocess.CalledProcessError:
            return None
    bits, of_range, matrix = (re.search(rf" {name} *: (\w+)", text)[1] for name in ("Bit Depth", "Range", r"Matrix Coeffs\."))
    return planes, int(bits), int(matrix), of_range == "Limited"


def as_heic(theirs, answer):
    """libheif repeats chroma where Burin puts it between two, stretches no gray of limited range, and goes by the range that a tile says of itself."""
    ours = from_pnm(answer)
    ours = np.atleast_3d(ours) / (257 if ours.dtype == np.uint16 else 1)
    if ours.shape != theirs.shape:
        return False
    ranges = theirs, (theirs - 16) * 255 / 219, theirs * 219 / 255 + 16
    return np.mean(np.min([np.abs(ours - np.clip(one, 0, 255)) for one in ranges], axis=0)) <= NEAR


def as_avif(theirs, answer):
    planes, bits, matrix, limited = theirs
    ours, exact = from_pnm(answer), heif.exact_colours(planes, bits, matrix, limited)
    return ours.shape == exact.shape and np.max(np.abs(ours - np.clip(exact, 0, 65535 if bits > 8 else 255))) <= 0.501


# ---- sound files of each kind

def avifs():
    picture = np.kron(noise(14, 10, 3), np.ones((4, 4, 1), np.uint8))[:36, :52]
    with tempfile.TemporaryDirectory() as folder:
        return [avif(pathlib.Path(folder), picture, *options) for options in (
            ("-y", "420"), ("-y", "444", "-d", "10"), ("-y", "400"), ("-y", "422", "-r", "l", "--cicp", "1/13/1"), ("-y", "444", "-l"))]


def heics():
    full = heif.nclx(1, 6, True)

    def of(width, height, *properties, kind="420", bits=8, options=(), columns=1):
        """Chroma without edges: what libheif repeats is near what Burin puts between. libheif wants a tile's own nclx."""
        file, tiles = heif.Heif(), []
        for seed in range(columns):
            planes = [plane if not p else (np.add.outer(np.arange(plane.shape[0]), np.arange(plane.shape[1])) // 2 + 60 * p << bits - 8)
                      for p, plane in enumerate(heif.planes_like(width, height, kind, bits, seed))]
            units, _ = heif.hevc(planes, kind, bits, *options)
            tiles.append(file.picture(units, width, height, *(properties if columns == 1 else properties[:1])))
        return file.file(tiles[0] if columns == 1 else file.grid(tiles, columns, width * columns - 8, height, *properties))

    return [of(64, 48, full), of(64, 48, full, bits=10), of(64, 64, full, kind="444"), of(64, 48, full, kind="400"),
            of(64, 64, full, heif.irot(1), columns=2), of(64, 64, heif.clap(60, 40, (0, 1), (0, 1)), full, heif.imir(1)),
            of(128, 128, full, options=("--slices", "2"))]


def gifs():
    found = [gif(picture(indices(30, 20, c, k)), interlace=i, **o) for c in (2, 16, 256) for k in ("noise", "steps") for i in (0, 1)
             for o in ({}, {"transparency": 1})]
    return found + [gif(picture(indices(20, 20, 4)), save_all=True, append_images=[picture(indices(20, 20, 4, seed=2))])]


def bmps():
    found = [bmp.file(30, 20, bits, bmp.rows(bmp.packed(bmp.indices_of(30, 20, bits), bits)), palette=bmp.stored_palette(1 << bits))
             for bits in (1, 4, 8)]
    found += [bmp.file(30, 20, bits, bmp.rows(noise(30 * bits // 8, 20, 1).reshape(20, -1))) for bits in (16, 24, 32)]
    return found + [bmp.file(30, 20, 32, bmp.rows(noise(120, 20, 1).reshape(20, -1)), 124, 3, masks=(0xff0000, 0xff00, 0xff, 0xff000000))]


def tiffs():
    array = tiff.samples(40, 30, 3, 8)
    return [tiff.tiff(array, order, big, compression=compression, predictor=predictor, **layout) for compression, predictor, layout, order, big in (
        (tiff.RAW, 1, {}, "<", False), (tiff.LZW, 2, {"rows": 7}, ">", False), (tiff.LZW, 1, {}, "<", False),
        (tiff.DEFLATE, 2, {"tile": (16, 16)}, "<", True), (tiff.PACKBITS, 1, {"rows": 9}, ">", False),
        (tiff.DEFLATE, 1, {"planes": 2, "rows": 10}, ">", False))]


def webps():
    def of(channels, **options):
        arrays = [smooth(30, 20, channels).copy() for _ in range(4)]
        for i, array in enumerate(arrays):
            array[3 + i:9 + i, 4 * i:4 * i + 8] = noise(8, 6, channels, seed=i)
        return webp_of(arrays, duration=40, **options)
    return [of(3), of(4), of(3, minimize_size=True), of(4, lossless=False), of(3, lossless=False, kmax=0)]


class Kind:
    """PLACES: a slice that holds what the file says of itself."""

    def __init__(self, files, path, places, read, agrees):
        self.files, self.path, self.places, self.read, self.agrees = functools.lru_cache(None)(files), STILL + path, places, read, agrees


KINDS = {"heic": Kind(heics, "pnm", slice(8, 500), Libheif().picture, as_heic),
         "avif": Kind(avifs, "pnm", slice(8, 320), by_libavif, as_avif),
         "gif": Kind(gifs, "png", slice(6, 20), by_pillow, as_gif),
         "tiff": Kind(tiffs, "png", slice(-260, None), by_libtiff, as_tiff),
         "bmp": Kind(bmps, "png", slice(2, 70), by_pillow_with_bits, as_bmp),
         "webp": Kind(webps, "webp&lossless=true&animation=keep", slice(8, 90), by_libwebp, as_webp)}


# ---- the load

class Found:
    def __init__(self, folder=None):
        self.counts, self.slowest_ms, self.bad, self.folder, self.lock = collections.Counter(), 0, [], folder, threading.Lock()

    def add(self, name, data, took_ms, what, says):
        with self.lock:
            self.slowest_ms = max(self.slowest_ms, took_ms)
            self.counts[what] += 1
            self.counts[what, says] += 1
            if what in BAD:
                self.bad.append((says, data))
            if self.folder and what not in ("equal", "refused") and self.counts[what, says] <= KEPT_EACH:
                (self.folder / f"{name}-{what}-{re.sub(r'[^a-z]+', '-', says.lower())[:60]}-{self.counts[what, says]}").write_bytes(data)


def judged(kind, data, status, body):
    """Burin's answer against the other reader's: a word of the table's head, and why."""
    if status not in (200, 415, 422):
        return "other", f"{status} {body[:200]!r}"
    theirs = kind.read(data)
    if status != 200:
        message = re.sub(r"[0-9]+", "N", json.loads(body)["message"])
        return ("refused" if theirs is None else "refused alone"), message
    if theirs is None:
        return "shown alone", ""
    agrees = kind.agrees(theirs, body)
    return ("shown alone" if agrees is None else "equal" if agrees else "differ"), ""


def press(address, name, files, seed, folder=None):
    """What became of FILES damaged files of a kind."""
    kind, found = KINDS[name], Found(folder)
    sound = kind.files()

    def client(number):
        rng, connection = random.Random(f"{name} {seed} {number}"), http.client.HTTPConnection(*address, timeout=120)
        begin = time.monotonic()
        for _ in range(number, files, CONNECTIONS):
            data, idle_since, begin = changed(rng, rng.choice(sound), kind.places), begin, time.monotonic()
            if begin - idle_since > 5:  # the daemon may close a connection while a large picture is compared
                connection.close()
            connection.request("POST", kind.path, data)
            response = connection.getresponse()
            body = response.read()
            took_ms = 1000 * (time.monotonic() - begin)
            found.add(name, data, took_ms, *judged(kind, data, response.status, body))
        connection.close()

    in_parallel(CONNECTIONS, client)
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--files", type=int, default=10000, help="of each kind")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default=",".join(KINDS))
    arguments.add_argument("--keep", type=pathlib.Path)
    arguments.add_argument("--reasons", action="store_true", help="print how often Burin alone refuses, for each reason")
    options = arguments.parse_args()
    logging.disable()  # Pillow's
    for handler in ("TIFFSetErrorHandler", "TIFFSetWarningHandler"):  # a line for each damaged file
        getattr(ctypes.CDLL("libtiff.so.6"), handler)(None)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    daemon, good = Daemon("--pixels-max", str(PIXELS_MAX)), True
    columns = ("equal", "refused", "refused alone", "shown alone", *BAD)
    print(f"{'':6}" + "".join(f"{column:>15}" for column in columns) + f"{'slowest ms':>12}")
    for name in options.only.split(","):
        found = press(daemon.address, name, options.files, options.seed, options.keep)
        print(f"{name:6}" + "".join(f"{found.counts[column]:15}" for column in columns) + f"{found.slowest_ms:12.0f}", flush=True)
        for key, count in found.counts.most_common():
            if isinstance(key, tuple) and (key[0] == "other" or options.reasons and key[0] == "refused alone"):
                print(f"       {count:6} {key[0]}: {key[1]}")
        good = good and not any(found.counts[column] for column in BAD) and found.slowest_ms <= DEADLINE_MS
    sys.exit(0 if daemon.stop() == 0 and good else 1)


if __name__ == "__main__":
    main()
