#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""photos.py OUT [PHOTOGRAPH]... - make the pictures that the service benchmarks send: JPEG quality 85, 4:2:0, of 320x240
and 1920x1080, cut from the photographs given (or from those of the package mate-backgrounds), and a 64x64 P5. Where the
backgrounds of Debian are installed (mate-backgrounds, lomiri-wallpapers-*), twelve photographs of 0.3 to 21 megapixels are copied
to OUT/twelve as they are."""
import glob
import os
import shutil
import sys

import numpy as np
from PIL import Image

SIZES = {"small": (320, 240), "large": (1920, 1080)}


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
    os.makedirs(f"{out}/twelve", exist_ok=True)
    for i in range(12):
        shutil.copy(found[round(i * (len(found) - 1) / 11)][2], f"{out}/twelve")


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    out, photographs = sys.argv[1], sys.argv[2:]
    photographs = photographs or sorted(glob.glob("/usr/share/backgrounds/mate/nature/*.jpg"))[:8]
    if not photographs:
        sys.exit("photos.py: no photograph; name some, or install mate-backgrounds")
    os.makedirs(out, exist_ok=True)
    for i, path in enumerate(photographs):
        image = Image.open(path).convert("RGB")
        for name, size in SIZES.items():
            cut(image, *size).save(f"{out}/{name}{i}.jpg", quality=85, subsampling=2)
    pixels = np.random.default_rng(1).integers(0, 256, 64 * 64, dtype=np.uint8)
    with open(f"{out}/tiny.pgm", "wb") as f:
        f.write(b"P5\n64 64\n255\n" + pixels.tobytes())
    twelve(out)


main()
