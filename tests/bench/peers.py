#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peers.py [BURIN] - histogram equalization, whole and of tiles, and Sobel edges on one core: burin beside OpenCV, in turns, in one run.

Equalization, gray: cv2.equalizeHist. Colour: RGB to HSV, equalizeHist of V, back (OpenCV's 8-bit HSV loses hue precision, ours does not
go there). Edges, gray, 3x3: cv2.Sobel twice in float, cv2.magnitude, to 8 bit; or Sobel in 16 bit and cv2.magnitude of that; the
faster of the two. Tiles: cv2.createCLAHE(2, (8, 8)), with the same bytes as Burin's; Burin's by clahe_ways, both by the thread's own clock; left out
where that program is not built. Prints medians in ms, gigapixels a second and the ratio as a table; --json for machines."""
import json
import pathlib
import statistics
import subprocess
import sys
import time

import cv2
import numpy as np

SIZES = [(1920, 1080), (3840, 2160), (7680, 4320), (8192, 8192)]
EDGE_SIZES = [(729, 480), (1166, 768), (1639, 1080), (7881, 5192), (20000, 13176)]
ROUNDS = 3


def median_ms(work, repeats=7, clock=time.perf_counter):
    times = []
    work()
    for _ in range(repeats):
        start = clock()
        work()
        times.append((clock() - start) * 1e3)
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


def opencv_edge(width, height):
    image = np.random.default_rng(1).integers(0, 256, (height, width), dtype=np.uint8)
    border = cv2.BORDER_REPLICATE

    def in_float():
        gx = cv2.Sobel(image, cv2.CV_32F, 1, 0, borderType=border)
        gy = cv2.Sobel(image, cv2.CV_32F, 0, 1, borderType=border)
        cv2.convertScaleAbs(cv2.magnitude(gx, gy))

    def in_words():
        gx, gy = cv2.spatialGradient(image, borderType=border)
        cv2.convertScaleAbs(cv2.magnitude(gx.astype(np.float32), gy.astype(np.float32)))

    repeats = 7 if width * height < 100e6 else 3  # its floats take seconds
    return min(median_ms(in_float, repeats), median_ms(in_words, repeats))


def opencv_clahe(width, height):
    image = np.random.default_rng(1).integers(0, 256, (height, width), dtype=np.uint8)
    out, equalizer = np.empty_like(image), cv2.createCLAHE(2, (8, 8))
    return median_ms(lambda: equalizer.apply(image, out), clock=time.thread_time)


def clahe_ways(program):
    """The program's path after make, or in a bundle."""
    for path in (pathlib.Path("build/cpu/tests/bench/clahe_ways"), pathlib.Path(program).parent / "bin/clahe_ways"):
        if path.exists():
            printed = subprocess.run([path, "7"], check=True, capture_output=True, text=True).stdout
            return {("clahe", r["width"], r["height"], 1): r["best_ms"][0] for r in map(json.loads, printed.splitlines())
                    if r["plan"] == "clahe" and r["channels"] == 1 and r["depth"] == 8}
    return {}


def bench(program, name, sizes):
    pixels_max = max(w * h for w, h in sizes)
    out = subprocess.run([program, "bench", name, "--json", "--device", "cpu", "--pixels-max", str(pixels_max),
                          "--repeats", "7"], check=True, capture_output=True).stdout
    return json.loads(out)["rows"]


def burin(program):
    times = {("histeq", r["width"], r["height"], r["channels"]): r["compute_ms"]
             for r in bench(program, "histeq", SIZES) if r["device"] == "cpu, 1 core"}
    for r in bench(program, "edge", EDGE_SIZES):
        if r["way"] == "cpu, 1 core":
            times["edge", r["width"], r["height"], 1] = r["compute_ms"]
    return times | clahe_ways(program)


def peer(keys):
    times = {("histeq", w, h, channels): opencv(w, h, channels) for w, h in SIZES for channels in (1, 3)}
    times.update({("edge", w, h, 1): opencv_edge(w, h) for w, h in EDGE_SIZES})
    times.update({key: opencv_clahe(*key[1:3]) for key in keys if key[0] == "clahe"})
    return times


def main():
    if "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__)
        return
    program = next((a for a in sys.argv[1:] if not a.startswith("-")), "build/burin")
    cv2.setNumThreads(1)
    ours, theirs = {}, {}
    for _ in range(ROUNDS):
        for key, ms in burin(program).items():
            ours.setdefault(key, []).append(ms)
        for key, ms in peer(ours).items():
            theirs.setdefault(key, []).append(ms)
    rows = []
    for key in sorted(theirs, key=lambda k: (["histeq", "clahe", "edge"].index(k[0]), k[3], k[1] * k[2])):
        name, width, height, channels = key
        pixels = width * height / 1e6
        a, b = statistics.median(ours[key]), statistics.median(theirs[key])
        rows.append({"operator": name, "width": width, "height": height, "channels": channels, "burin_ms": round(a, 3),
                     "opencv_ms": round(b, 3), "burin_gpx_s": round(pixels / a, 3), "opencv_gpx_s": round(pixels / b, 3),
                     "ratio": round(b / a, 2)})
    if "--json" in sys.argv:
        print(json.dumps({"bench": "peers", "opencv": cv2.__version__, "rows": rows}, indent=1))
        return
    print(f"one core, medians; OpenCV {cv2.__version__}\noperator       size  channels  burin ms  Gpx/s  OpenCV ms  Gpx/s  ratio")
    for r in rows:
        print(f"{r['operator']:8} {r['width']:5}x{r['height']:<5} {r['channels']:6} {r['burin_ms']:10.2f} {r['burin_gpx_s']:6.2f} "
              f"{r['opencv_ms']:10.2f} {r['opencv_gpx_s']:6.2f} {r['ratio']:6.1f}")


main()
