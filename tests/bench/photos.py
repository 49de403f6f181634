#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""photos.py OUT [PHOTOGRAPH]... - make the pictures that the service benchmarks send: JPEG quality 85, 4:2:0, of 320x240
and 1920x1080, and three of 4032x3024 and quality 92, as a phone's, cut from the photographs given (or from those of the package
mate-backgrounds), and a 64x64 P5. Where the backgrounds of Debian are installed (mate-backgrounds, lomiri-wallpapers-*), twelve photographs of up to 21 megapixels go to
OUT/twelve: eleven as they are, and, since none of them is that small, one scaled to 0.3 megapixels. The photograph that takes
the most bytes is also saved in the ways a JPEG can be, to OUT/kinds: gray, each sampling that Pillow writes, progressive, CMYK,
optimized tables, an odd size, qualities 30 and 98; with noise, that clamps more than any photograph."""
import glob
import os
import shutil
import sys

import numpy as np
from PIL import Image

SIZES = {"small": (320, 240), "large": (1920, 1080), "phone": (4032, 3024)}
QUALITY = {"phone": 92}  # some 1.6 MB each, of which there are few
PHONES = range(1, 4)


def cut(image, width, height):
    scale = max(width / image.width, height / image.height)
    image = image.resize((max(width, round(image.width * scale)), max(height, round(image.height * scale))),
                         Image.LANCZOS)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def twelve(out):
    """Spread over the sizes there are; of two alike the one of fewer bytes."""
    found = []
    for path in glob.glob("/usr/share/backgrounds/**/*.jpg", recursive=True):
        with Image.open(path) as image:
            found.append((image.width * image.height, os.path.getsize(path), path))
    found = sorted(f for f in found if 3e5 <= f[0] <= 21e6 and f[1] < 5e6)
    if len(found) < 12:
        return
    shutil.rmtree(f"{out}/twelve", ignore_errors=True)
    os.makedirs(f"{out}/twelve")
    for i in range(1, 12):
        shutil.copy(found[round(i * (len(found) - 1) / 11)][2], f"{out}/twelve")
    name = os.path.basename(found[0][2])
    cut(Image.open(found[0][2]).convert("RGB"), 640, 480).save(f"{out}/twelve/small-{name}", quality=92)


def kinds(out, photograph):
    os.makedirs(f"{out}/kinds", exist_ok=True)
    photo = cut(photograph, *SIZES["large"])
    odd = cut(photograph, 1283, 717)
    noise = Image.fromarray(np.random.default_rng(2).integers(0, 256, (480, 640, 3), dtype=np.uint8))
    saved = {
        "noise_420": (noise, {"subsampling": 2}),
        "noise_444": (noise, {"subsampling": 0}),
        "gray": (photo.convert("L"), {}),
        "odd_gray": (odd.convert("L"), {}),
        "444": (photo, {"subsampling": 0}),
        "422": (photo, {"subsampling": 1}),
        "420": (photo, {"subsampling": 2}),
        "odd_444": (odd, {"subsampling": 0}),
        "odd_422": (odd, {"subsampling": 1}),
        "odd_420": (odd, {"subsampling": 2}),
        "420_quality30": (photo, {"subsampling": 2, "quality": 30}),
        "420_quality98": (photo, {"subsampling": 2, "quality": 98}),
        "444_quality98": (photo, {"subsampling": 0, "quality": 98}),
        "420_optimized": (photo, {"subsampling": 2, "optimize": True}),
        "420_progressive": (photo, {"subsampling": 2, "progressive": True}),
        "444_progressive": (photo, {"subsampling": 0, "progressive": True}),
        "gray_progressive": (photo.convert("L"), {"progressive": True}),
        "cmyk": (photo.convert("CMYK"), {}),
    }
    for name, (image, options) in saved.items():
        image.save(f"{out}/kinds/{name}.jpg", **{"quality": 85, **options})


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return
    out, photographs = sys.argv[1], sys.argv[2:]
    photographs = photographs or sorted(glob.glob("/usr/share/backgrounds/mate/nature/*.jpg"))[:12]
    if not photographs:
        sys.exit("photos.py: no photograph; name some, or install mate-backgrounds")
    os.makedirs(out, exist_ok=True)
    for i, path in enumerate(photographs):
        image = Image.open(path).convert("RGB")
        for name, size in SIZES.items():
            if name != "phone" or i in PHONES:
                cut(image, *size).save(f"{out}/{name}{i}.jpg", quality=QUALITY.get(name, 85), subsampling=2)
    richest = max(range(len(photographs)), key=lambda i: os.path.getsize(f"{out}/large{i}.jpg"))
    kinds(out, Image.open(photographs[richest]).convert("RGB"))
    pixels = np.random.default_rng(1).integers(0, 256, 64 * 64, dtype=np.uint8)
    with open(f"{out}/tiny.pgm", "wb") as f:
        f.write(b"P5\n64 64\n255\n" + pixels.tobytes())
    twelve(out)


main()
