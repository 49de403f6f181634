#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""corpus.py [--burin BURIN] FOLDER... - JPEG, PNG, PNM, WebP, GIF, BMP and TIFF files of others' test sets, through a daemon and through Pillow and OpenCV:
which files Burin refuses and another reader shows, and where its pixels are not Pillow's. Prints a line for each, and sums; a file that
stands there several times counts once. The sets of libraries are in their Debian sources (apt-get source libjpeg-turbo ...).

Ends 0. tests/README.md says what the last run found, and why."""
import argparse
import hashlib
import io
import os
import subprocess
import sys
import warnings

import cv2
import numpy as np
from PIL import Image, ImageOps

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "http"))
MAGIC = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"RIFF": "WebP", b"GIF8": "GIF", b"BM": "BMP"} | {b"P%d" % n: "PNM" for n in range(1, 8)} | {
    b"II*\0": "TIFF", b"MM\0*": "TIFF", b"II+\0": "TIFF", b"MM\0+": "TIFF"}
PIXELS_MAX = 64 << 20


def kind_of(data):
    for magic, kind in MAGIC.items():
        if data.startswith(magic) and (kind != "PNM" or data[2:3].isspace()) and (kind != "WebP" or data[8:12] == b"WEBP"):
            return kind
    return None


def files(folders):
    seen = set()
    for folder in folders:
        for top, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = os.path.join(top, name)
                if os.path.islink(path) or os.path.getsize(path) > 64 << 20:
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                digest = hashlib.sha256(data).digest()
                if kind_of(data) and digest not in seen:
                    seen.add(digest)
                    yield os.path.relpath(path, folder), kind_of(data), data


def by_pillow(data):
    """RGBA of 8 bits, upright, and None; or None and why Pillow refuses the file; or twice None: it shows other samples than the
    file has (16 bits)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data))
            if image.width * image.height > PIXELS_MAX:
                return None, "too many pixels"
            image.load()
            mode = image.mode
            upright = ImageOps.exif_transpose(image)
            return (np.asarray(upright.convert("RGBA")) if mode in ("1", "L", "LA", "P", "RGB", "RGBA") else None), None
    except Exception as error:  # pylint: disable=broad-except
        return None, f"{type(error).__name__}: {error}"


def by_opencv(data):
    try:
        return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED) is not None
    except cv2.error:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--burin", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/burin"))
    options = parser.parse_args()
    os.environ["BURIN"] = options.burin
    from conftest import Daemon  # reads BURIN
    daemon, sums = Daemon("--body-bytes-max", "64MiB"), {}
    try:
        for path, kind, data in files(options.folders):
            answer = daemon.post("/brightness?type=png&shift=0", data)
            pillow, why = by_pillow(data)
            shown = (["Pillow"] if why is None else []) + (["OpenCV"] if by_opencv(data) else [])
            verdict = "refused by all" if answer.status != 200 and not shown else "refused" if answer.status != 200 else "shown"
            if verdict == "refused":
                print(f"refused  {kind:4} {path}: {answer.status} {answer.json['message']}; shown by {' and '.join(shown)}", flush=True)
            if verdict == "shown" and not shown:
                verdict = "shown by Burin alone"
            if verdict == "shown" and pillow is not None:
                ours = np.asarray(Image.open(io.BytesIO(answer.body)).convert("RGBA"))
                seen = pillow[..., 3:] > 0
                if ours.shape != pillow.shape or not np.array_equal(ours * seen, pillow * seen):
                    off = "size" if ours.shape != pillow.shape else int(np.abs((ours * seen).astype(int) - pillow * seen).max())
                    print(f"differs  {kind:4} {path}: {off}, notes {answer.timing['notes']}", flush=True)
                    verdict = "shown, other pixels than Pillow's"
            sums[kind, verdict] = sums.get((kind, verdict), 0) + 1
    finally:
        daemon.stop()
    for (kind, verdict), count in sorted(sums.items()):
        print(f"{count:5} {kind:4} {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
