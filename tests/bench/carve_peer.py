#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""carve_peer.py [BURIN] [PHOTOGRAPH]... - seam carving on the CPU: burin beside liblqr, in turns, in one run.

liblqr 0.4 (package liblqr-1-0) with its defaults: energy LQR_EF_GRAD_XABS, one thread; timed are making, initialising and resizing
its carver, not reading the result. burin is timed as it reports itself: the operator, from RGB to RGB. Medians; --json for
machines; --rounds N, default 5. Photographs default to those of the package mate-backgrounds."""
import ctypes
import ctypes.util
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

CASES = [(1024, 1024, -35, 0), (1024, 1024, 35, 0), (1920, 1080, -480, 0), (1920, 1080, 0, -100), (3840, 2160, -100, 0), (3840, 2160, 0, -50)]
OURS = [("gradient", 1), ("gradient", 2), ("sobel3", 2), ("sobel5", 2)]


def library():
    name = ctypes.util.find_library("lqr-1") or "liblqr-1.so.0"
    lqr = ctypes.CDLL(name)
    lqr.lqr_carver_new.restype = ctypes.c_void_p
    lqr.lqr_carver_new.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    lqr.lqr_carver_init.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_float]
    lqr.lqr_carver_resize.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    lqr.lqr_carver_destroy.argtypes = [ctypes.c_void_p]
    lqr.lqr_carver_get_width.argtypes = lqr.lqr_carver_get_height.argtypes = [ctypes.c_void_p]
    return lqr


def liblqr(lqr, pixels, dx, dy):
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    height, width, _ = pixels.shape
    memory = libc.malloc(pixels.size)  # the carver's from now on
    ctypes.memmove(memory, pixels.ctypes.data, pixels.size)
    start = time.perf_counter()
    carver = lqr.lqr_carver_new(memory, width, height, 3)
    lqr.lqr_carver_init(carver, 1, 0.0)
    lqr.lqr_carver_resize(carver, width + dx, height + dy)
    ms = (time.perf_counter() - start) * 1e3
    if (lqr.lqr_carver_get_width(carver), lqr.lqr_carver_get_height(carver)) != (width + dx, height + dy):
        sys.exit("carve_peer.py: liblqr did not carve")
    lqr.lqr_carver_destroy(carver)
    return ms


def burin(program, path, size, dx, dy, energy, threads):
    with tempfile.NamedTemporaryFile(suffix=".ppm") as out:
        step = f"carve:dx={dx},dy={dy},energy={energy}"
        report = subprocess.run([program, "run", "--device", "cpu", "--timing", "--threads", str(threads), step, path, out.name],
                                check=True, capture_output=True).stdout
        if Image.open(out.name).size != (size[0] + dx, size[1] + dy):
            sys.exit("carve_peer.py: burin did not carve")
    return next(op["ms"] for op in json.loads(report)["ms"]["operators"] if op["name"] == "carve")


def main():
    arguments = sys.argv[1:]
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return
    rounds = int(arguments[arguments.index("--rounds") + 1]) if "--rounds" in arguments else 5
    plain = [a for i, a in enumerate(arguments) if not a.startswith("-") and arguments[i - 1] != "--rounds"]
    program = plain[0] if plain else "build/burin"
    photographs = plain[1:] or sorted(glob.glob("/usr/share/backgrounds/mate/nature/*.jpg"))[:2]
    if not photographs:
        sys.exit("carve_peer.py: no photograph; name some, or install mate-backgrounds")
    lqr, rows = library(), []
    with tempfile.TemporaryDirectory() as folder:
        for photograph in photographs:
            for width, height, dx, dy in CASES:
                path = os.path.join(folder, "in.ppm")
                image = Image.open(photograph).convert("RGB").resize((width, height), Image.LANCZOS)
                image.save(path)
                pixels, times = np.ascontiguousarray(image), {}
                for _ in range(rounds):
                    times.setdefault("liblqr", []).append(liblqr(lqr, pixels, dx, dy))
                    for energy, threads in OURS:
                        ms = burin(program, path, (width, height), dx, dy, energy, threads)
                        times.setdefault(f"{energy}, {threads} thread{'s' * (threads > 1)}", []).append(ms)
                for name, ms in times.items():
                    median = statistics.median(ms)
                    rows.append({"photograph": os.path.basename(photograph), "width": width, "height": height, "dx": dx,
                                 "dy": dy, "program": name, "ms": round(median, 1), "least_ms": round(min(ms), 1),
                                 "ms_a_seam": round(median / (abs(dx) + abs(dy)), 3),
                                 "liblqr_by": round(statistics.median(times["liblqr"]) / median, 1)})
    if "--json" in arguments:
        print(json.dumps({"bench": "carve_peer", "rows": rows}, indent=1))
        return
    print(f"medians of {rounds}\nphotograph              size     dx    dy  program                  ms    least  ms a seam  liblqr /")
    for r in rows:
        print(f"{r['photograph']:18} {r['width']:5}x{r['height']:<5} {r['dx']:5} {r['dy']:5}  {r['program']:20} {r['ms']:8.1f} "
              f"{r['least_ms']:8.1f} {r['ms_a_seam']:9.3f} {r['liblqr_by']:8.1f}")


main()
