#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heic_files.py FOLDER [--large] - HEICs of many kinds that a video engine takes, coded by x265; with --large, some of the size of a
phone's: 48 tiles of 512 x 512, and 12 megapixels in one piece. tests/fuzz/corpus/heic_still has the small ones."""
import os
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../http")]
import heif  # noqa: E402
from heif import ALPHA, Heif, hevc, nclx, planes_like, plain, tiled  # noqa: E402

SMALL = ("--qp", "40", "--no-info")
FULL, LIMITED = nclx(1, 6, True), nclx(1, 1, False)


def with_alpha(columns, bits, multiplied):
    """144 x 160 in one piece, or a grid whose last tile stands out."""
    file, numbers = Heif(), []
    for layer in range(2):
        tiles = []
        for i in range(columns):
            units, _ = hevc(planes_like(144, 160, "420", bits, 1 + 4 * layer + i), "420", bits, *SMALL)
            tiles.append(file.picture(units, 144, 160, *([] if columns > 1 else [ALPHA] if layer else [FULL])))
        numbers.append(file.grid(tiles, columns, 144 * columns - 33, 151, ALPHA if layer else FULL) if columns > 1 else tiles[0])
    file.refer(b"auxl", numbers[1], numbers[0])
    if multiplied:
        file.refer(b"prem", numbers[0], numbers[1])
    return file.file(numbers[0])


def small():
    """-> names and files"""
    yield "one", plain(160, 146, FULL, options=SMALL)[0]
    yield "one_ten", plain(160, 146, FULL, bits=10, options=SMALL)[0]
    yield "window", plain(146, 150, LIMITED, options=SMALL)[0]
    yield "sps_colours", plain(144, 144, options=SMALL + ("--range", "full", "--colormatrix", "bt709", "--colorprim", "bt2020"))[0]
    yield "sps_unknown_primaries", plain(144, 144, options=SMALL + ("--range", "limited", "--colorprim", "smpte432"))[0]
    yield "no_colours", plain(144, 144, options=SMALL)[0]
    yield "primaries", plain(144, 144, nclx(12, 6, True), options=SMALL)[0]
    yield "bt2020", plain(144, 144, nclx(9, 9, True), heif.icc(b"profile" * 20), bits=10, options=SMALL)[0]
    yield "grid", tiled(2, 2, 160, 301, 253, LIMITED, options=SMALL)[0]
    yield "grid_ten", tiled(3, 1, 144, 431, 143, FULL, bits=10, options=SMALL)[0]
    yield "grid_of_one", tiled(1, 1, 256, 31, 77, FULL, options=SMALL)[0]
    yield "cropped", tiled(2, 1, 144, 280, 140, FULL, heif.clap(201, 111, (1, 2), (3, 2)), heif.irot(1), options=SMALL)[0]
    yield "cropped_even", plain(160, 146, FULL, heif.clap(140, 120, (1, 1), (-2, 1)), heif.imir(1), bits=10, options=SMALL)[0]
    for orientation, (angle, mirror) in enumerate([(0, 0), (0, 1), (1, None), (1, 0), (1, 1), (2, None), (3, None)]):
        more = ([heif.irot(angle)] if angle else []) + ([heif.imir(mirror)] if mirror is not None else [])
        yield f"turned{orientation}", tiled(2, 1, 144, 250, 144, FULL, *more, options=SMALL)[0]
    for name, columns, bits, multiplied in (("alpha", 1, 8, False), ("alpha_grid", 2, 8, False), ("alpha_ten", 1, 10, False),
                                            ("multiplied", 2, 8, True), ("multiplied_ten", 1, 10, True)):
        yield name, with_alpha(columns, bits, multiplied)


def large():
    yield "phone", tiled(8, 6, 512, 4032, 3024, FULL, heif.irot(3), options=("--qp", "32"))[0]
    yield "phone_ten", tiled(8, 6, 512, 4032, 3024, FULL, bits=10, options=("--qp", "32"))[0]
    yield "whole", plain(4032, 3024, FULL, options=("--qp", "32"))[0]


if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, data in large() if "--large" in sys.argv else small():
        with open(os.path.join(folder, f"{name}.heic"), "wb") as f:
            f.write(data)
