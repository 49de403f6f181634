#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""folder.py BURIN [--count N] [--rounds N] [--keep FOLDER] - a folder of photographs of 1920x1080 to JPEG thumbnails of 320 pixels, quality 85:
`burin run`, vipsthumbnail and mogrify, on the same cores (taskset chooses others), wall clock, round by round, so that what else
runs on the machine meets all of them. vipsthumbnail and mogrify shrink while they decode a JPEG (other pixels); burin decodes
all of it. "a process a core" is vipsthumbnail with a share of the files for each core, and one thread each.

The photographs are parts of those of the packages mate-backgrounds and python3-skimage, each part another file. They are made
once in FOLDER. Prints every round and the medians, files a second. Checks that each result has 320 pixels."""
import argparse
import glob
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from PIL import Image

SOURCES = ["/usr/share/backgrounds/**/*.jpg", "/usr/lib/python3/dist-packages/skimage/data/*.png"]
SIZE, WIDTH, QUALITY = (1920, 1080), 320, 85


def photographs():
    found = [path for pattern in SOURCES for path in sorted(glob.glob(pattern, recursive=True))]
    images = []
    for path in found:
        with Image.open(path) as image:
            if image.width * image.height > 200_000 and image.mode in ("RGB", "RGBA"):
                images.append(image.convert("RGB"))
    return images or sys.exit("folder.py: there are no photographs; install mate-backgrounds or python3-skimage")


def make(folder, count):
    """COUNT parts, each of a random place and scale, the same in every run."""
    os.makedirs(folder, exist_ok=True)
    chance, images = random.Random(1), None
    for i in range(count):
        path = f"{folder}/photo-{i:04}.jpg"
        at = [chance.random() for _ in range(3)]
        if os.path.exists(path):
            continue
        images = images or photographs()
        image = images[i % len(images)]
        scale = (0.7 + 0.3 * at[0]) * min(image.width / SIZE[0], image.height / SIZE[1])
        width, height = round(SIZE[0] * scale), round(SIZE[1] * scale)
        left, top = int(at[1] * (image.width - width)), int(at[2] * (image.height - height))
        image.resize(SIZE, Image.BICUBIC, (left, top, left + width, top + height)).save(path, quality=90)
    return [f"{folder}/photo-{i:04}.jpg" for i in range(count)]


def one_burin(burin):
    return lambda files, out: [[burin, "run", "-q", "--device", "cpu", f"resize:width={WIDTH}", *files, "--out-dir", out, "--quality", str(QUALITY)]]


def one_vips(files, out):
    return [["vipsthumbnail", *files, "--size", f"{WIDTH}x", "-o", f"{out}/%s.jpg[Q={QUALITY}]"]]


def many_vips(files, out):
    cores = len(os.sched_getaffinity(0))
    return [["env", "VIPS_CONCURRENCY=1", *one_vips(files[core::cores], out)[0]] for core in range(cores) if files[core::cores]]


def mogrify(files, out):
    return [["mogrify", "-path", out, "-define", f"jpeg:size={2 * WIDTH}x", "-thumbnail", f"{WIDTH}x", "-quality", str(QUALITY), *files]]


def run(way, files):
    """Files a second."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.dirname(files[0])) or ".") as out:
        start = time.monotonic()
        running = [subprocess.Popen(command) for command in way(files, out)]
        failed = [process.args[0] for process in running if process.wait()]
        seconds = time.monotonic() - start
        results = sorted(os.listdir(out))
        if failed or len(results) != len(files):
            sys.exit(f"folder.py: {failed} failed; {len(results)} results of {len(files)} files")
        for name in (results[0], results[-1]):
            with Image.open(f"{out}/{name}") as image:
                if image.width != WIDTH:
                    sys.exit(f"folder.py: {name} is {image.width} pixels wide")
    return len(files) / seconds


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("burin", type=os.path.abspath)
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--keep", default="build/photos/folder", help="where the photographs are made; default %(default)s")
    options = arguments.parse_args()
    files = make(options.keep, options.count)
    ways = {"burin run": one_burin(options.burin)}
    if shutil.which("vipsthumbnail"):
        ways.update({"vipsthumbnail": one_vips, "vipsthumbnail, a process a core": many_vips})
    if shutil.which("mogrify"):
        ways["mogrify"] = mogrify
    rates = {name: [] for name in ways}
    for number in range(options.rounds):
        for name in list(ways)[number % 2 * (len(ways) - 1)::1 - number % 2 * 2]:
            rates[name].append(run(ways[name], files))
        print("  ".join(f"{name} {rate[-1]:.1f}" for name, rate in rates.items()), flush=True)
    medians = {name: statistics.median(rate) for name, rate in rates.items()}
    for name, median in medians.items():
        print(f"{name}: median {median:.1f} files a second; burin makes {medians['burin run'] / median:.2f} times as many")


if __name__ == "__main__":
    main()
