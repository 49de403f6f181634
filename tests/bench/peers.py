#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peers.py [BURIN] - histogram equalization on one core: burin beside OpenCV, in turns, in one run.

Gray: cv2.equalizeHist. Colour: RGB to HSV, equalizeHist of V, back (OpenCV's 8-bit HSV loses hue precision, ours does not
go there). Prints medians as a table; --json for machines."""
import json
import statistics
import subprocess
import sys
import time

import cv2
import numpy as np

SIZES = [(1920, 1080), (3840, 2160), (7680, 4320), (8192, 8192)]
ROUNDS = 3


def median_ms(work, repeats=7):
    times = []
    work()
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def opencv(width, height, channels):
    rng = np.random.default_rng(1)
    if channels == 1:
        image = rng.integers(0, 256, (height, width), dtype=np.uint8)
        out = np.empty_like(image)
        return median_ms(lambda: cv2.equalizeHist(image, out))
    image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)

    def by_value():
        hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
        hsv[..., 2] = cv2.equalizeHist(np.ascontiguousarray(hsv[..., 2]))
        cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB, image)

    return median_ms(by_value)


def burin(program):
    pixels_max = max(w * h for w, h in SIZES)
    out = subprocess.run([program, "bench", "histeq", "--json", "--device", "cpu", "--pixels-max", str(pixels_max),
                          "--repeats", "7"], check=True, capture_output=True).stdout
    rows = json.loads(out)["rows"]
    return {(r["width"], r["height"], r["channels"]): r["compute_ms"] for r in rows if r["device"] == "cpu, 1 core"}


def main():
    if "--help" in sys.argv or "-h" in sys.argv:
        sys.exit(__doc__)
    program = next((a for a in sys.argv[1:] if not a.startswith("-")), "build/burin")
    cv2.setNumThreads(1)
    ours, theirs = {}, {}
    for _ in range(ROUNDS):
        for key, ms in burin(program).items():
            ours.setdefault(key, []).append(ms)
        for width, height in SIZES:
            for channels in (1, 3):
                theirs.setdefault((width, height, channels), []).append(opencv(width, height, channels))
    rows = []
    for key in sorted(theirs, key=lambda k: (k[2], k[0] * k[1])):
        pixels = key[0] * key[1] / 1e6
        a, b = statistics.median(ours[key]), statistics.median(theirs[key])
        rows.append({"width": key[0], "height": key[1], "channels": key[2], "burin_ms": round(a, 3),
                     "opencv_ms": round(b, 3), "burin_gpx_s": round(pixels / a, 3), "opencv_gpx_s": round(pixels / b, 3),
                     "ratio": round(b / a, 2)})
    if "--json" in sys.argv:
        print(json.dumps({"bench": "peers", "opencv": cv2.__version__, "rows": rows}, indent=1))
        return
    print(f"one core, medians; OpenCV {cv2.__version__}\n      size  channels  burin ms  Gpx/s  OpenCV ms  Gpx/s  ratio")
    for r in rows:
        print(f"{r['width']:5}x{r['height']:<5} {r['channels']:6} {r['burin_ms']:10.2f} {r['burin_gpx_s']:6.2f} "
              f"{r['opencv_ms']:10.2f} {r['opencv_gpx_s']:6.2f} {r['ratio']:6.1f}")


main()
