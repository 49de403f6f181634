#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""formats.py [--rounds 7] [--repeat 3] [--program build/cpu/tests/bench/codec]
The processor's milliseconds to decode files of several formats, Pillow's beside them, in REPEAT turns: of each the least of the medians of ROUNDS. The
pictures are a drawn photograph and noise, so that files differ in bytes and not in pixels. The last columns are the costs of a format's record (pipeline/format.h): ms of a file,
of a megabyte of it and of a megabyte of pixels, by least squares of relative errors, none below zero."""
import argparse
import collections
import io
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/http"))
import heif  # noqa: E402
from conftest import noise, smooth  # noqa: E402

LARGE, MIDDLE, SMALL, TINY = (4032, 3024), (1280, 800), (320, 200), (64, 64)


def encoded(picture, kind, **options):
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def avif(picture, folder):
    encoded(picture, "PNG")
    source, out = folder / "in.png", folder / "out.avif"
    picture.save(source, compress_level=1)
    subprocess.run(["avifenc", "-s", "10", "--min", "20", "--max", "30", str(source), str(out)], check=True, capture_output=True)
    return out.read_bytes()


def heic(width, height, qp, kind):
    options = ("--qp", str(qp))
    if width >= 1024:
        return heif.tiled(width // 512 + (width % 512 > 0), height // 512 + (height % 512 > 0), 512, width, height, heif.nclx(1, 6, True), kind=kind,
                          options=options)[0]
    return heif.plain(width // 8 * 8, height // 8 * 8, heif.nclx(1, 6, True), kind=kind, options=options)[0]


def files(folder):
    """(format, name, bytes)"""
    for width, height in (LARGE, MIDDLE, SMALL, TINY):
        for look in ("photo", "noise"):
            array = smooth(width, height) if look == "photo" else noise(width, height, 3)
            picture, name = Image.fromarray(array), f"{width}x{height}-{look}"
            palette = Image.fromarray(array[..., 0] // (4 if look == "photo" else 1), "P")
            palette.putpalette(noise(256, 1, 3).tobytes())
            yield "gif", name, encoded(palette, "GIF")
            yield "bmp", name, encoded(picture, "BMP")
            for packing in ("raw", "tiff_lzw", "tiff_adobe_deflate"):
                yield f"tiff {packing}", name, encoded(picture, "TIFF", compression=None if packing == "raw" else packing)
            if width <= MIDDLE[0] or look == "photo":
                yield "avif", name, avif(picture, folder)
        for qp in (26, 38):
            if width != TINY[0] or qp == 26:
                yield "heic", f"{width}x{height}-qp{qp}", heic(width, height, qp, "420")


def by_pillow(path, rounds):
    """The median of the processor's ms; None: Pillow does not read it."""
    found = []
    for _ in range(rounds):
        begin = time.process_time_ns()
        try:
            Image.open(path).convert("RGB")
        except OSError:
            return None
        found.append((time.process_time_ns() - begin) / 1e6)
    return sorted(found)[rounds // 2]


def fitted(rows):
    """Three costs that are not below zero."""
    terms, ms = np.array([[1, size / 1e6, pixels / 1e6] for size, pixels, _ in rows]), np.array([took for *_, took in rows])
    best = None
    for used in range(1, 8):
        columns = [i for i in range(3) if used >> i & 1]
        costs = np.zeros(3)
        costs[columns] = np.linalg.lstsq(terms[:, columns] / ms[:, None], np.ones(len(ms)), rcond=None)[0]
        error = np.sum((terms @ costs / ms - 1) ** 2)
        if (costs >= 0).all() and (best is None or error < best[0]):
            best = error, costs
    return best[1]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--only", default="", help="formats whose names begin so")
    arguments.add_argument("--program", default=str(TOP / "build/cpu/tests/bench/codec"))
    options = arguments.parse_args()
    rows = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'format':24}{'picture':20}{'bytes':>10}{'Burin ms':>10}{'Pillow ms':>10}{'share':>7}")
        for kind, name, data in files(pathlib.Path(folder)):
            if not kind.startswith(options.only):
                continue
            path = pathlib.Path(folder) / f"file.{kind.split()[0]}"
            path.write_bytes(data)
            ours, theirs = [], []
            for _ in range(options.repeat):
                text = subprocess.run([options.program, "--decode", "--rounds", str(options.rounds), path], check=True, capture_output=True, text=True)
                size, pixels, middle, _ = text.stdout.split()[1:]
                ours.append(float(middle))
                theirs.append(by_pillow(path, options.rounds))
            rows[kind].append((int(size), int(pixels), min(ours)))
            pillow = f"{min(theirs):10.2f}{min(ours) / min(theirs):7.2f}" if theirs[0] is not None else ""
            print(f"{kind:24}{name:20}{len(data):10}{min(ours):10.3f}{pillow}", flush=True)
    for kind in rows:
        print(f"{kind:24} {{ {', '.join(f'{cost:.3g}' for cost in fitted(rows[kind]))} }}")


if __name__ == "__main__":
    main()
