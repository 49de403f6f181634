#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""resample_peers.py [PROGRAM] [--sharp] [--json] - scaling on one core: build/cpu/tests/bench/resample beside Pillow, OpenCV and sharp.

Pillow: Image.resize, the same filter, whose bytes are ours; OpenCV: INTER_AREA, which is a box and less sharp; sharp (npm install in
tests/bench/sharp): raw pixels in and out, one thread, lanczos3 after its own box. All 8 bit; gray, RGB, and four channels without
premultiplying and, where the case has alpha, with it, where the peer can. Medians in ms of the thread's own clock; of sharp, which works
in another, by the wall."""
import json
import pathlib
import statistics
import subprocess
import sys
import time

import cv2
import numpy as np
from PIL import Image

FILTERS = {"lanczos3": Image.Resampling.LANCZOS, "cubic": Image.Resampling.BICUBIC, "linear": Image.Resampling.BILINEAR,
           "box": Image.Resampling.BOX}
MODES = {1: "L", 3: "RGB", 4: "RGBX"}
REPEATS = 7
SHARP = """
import sharp from 'sharp';
sharp.concurrency(1); sharp.cache(false);
const [width, height, w, h, channels, repeats] = process.argv.slice(1).map(Number);
const pixels = Buffer.alloc(width * height * channels);
let state = 1;
for (let i = 0; i < pixels.length; i++) pixels[i] = (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 24;
const once = () => sharp(pixels, { raw: { width, height, channels } }).resize(w, h, { fit: 'fill', kernel: 'lanczos3' }).raw().toBuffer();
await once();
for (let i = 0; i < repeats; i++) { const start = performance.now(); await once(); console.log(performance.now() - start); }
"""


def median_ms(work):
    times = []
    work()
    for _ in range(REPEATS):
        start = time.thread_time()
        work()
        times.append((time.thread_time() - start) * 1e3)
    return statistics.median(times)


def sharp_ms(case):
    numbers = [*case["from"], *case["to"], case["channels"], REPEATS]
    printed = subprocess.run(["node", "--input-type=module", "-e", SHARP, *map(str, numbers)], check=True, capture_output=True,
                             text=True, cwd=pathlib.Path(__file__).parent / "sharp").stdout
    return statistics.median(map(float, printed.split()))


def peers(case, with_sharp):
    width, height = case["from"]
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, case["channels"]), np.uint8)
    mode = "RGBA" if case["alpha"] else MODES[case["channels"]]
    image = Image.frombytes(mode, (width, height), pixels.tobytes())
    size, kernel = tuple(case["to"]), FILTERS[case["kernel"]]
    rows = {"pillow_ms": median_ms(lambda: image.resize(size, kernel)),
            "opencv_area_ms": median_ms(lambda: cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))}
    if with_sharp and case["kernel"] == "lanczos3":
        rows["sharp_ms"] = sharp_ms(case)
    return rows


def main():
    if "-h" in sys.argv or "--help" in sys.argv:
        print(__doc__)
        return
    plain = [a for a in sys.argv[1:] if not a.startswith("-")]
    cv2.setNumThreads(1)
    printed = subprocess.run([plain[0] if plain else "build/cpu/tests/bench/resample", str(REPEATS)], check=True, capture_output=True, text=True).stdout
    for case in map(json.loads, printed.splitlines()):
        if case["depth"] == 16:
            continue
        row = case | peers(case, "--sharp" in sys.argv)
        if "--json" in sys.argv:
            print(json.dumps(row))
            continue
        times = [f"{name[:-3]} {np.atleast_1d(row[name])[0]:8.2f}" for name in row if name.endswith("_ms")]
        sizes = "{}x{}".format(*row["from"]) + " -> {}x{}".format(*row["to"])
        print(f"{sizes:24} {row['channels']}{'a' if row['alpha'] else ' '} {row['kernel']:8}  " + "  ".join(times), flush=True)


if __name__ == "__main__":
    main()
