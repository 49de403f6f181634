#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""palette.py [--compression 1] [--repeat 3] build/burin
PNGs with a palette beside pngquant at its default (256 colours, speed 4, Floyd-Steinberg) and without dither: bytes, PSNR and SSIM, and the processor's
milliseconds of the whole program, the least of REPEAT. Ten pictures: photographs of python3-skimage and mate-backgrounds, drawings of mate-backgrounds,
icons with alpha of adwaita-icon-theme, and 12 megapixels, of which the middle 1.2 are judged. PSNR is of red, green and blue multiplied by alpha, and alpha; SSIM that of scikit-image over the same
channels in 0..255. "seen" is the PSNR after a blur of sigma 2 on both: at a distance a pattern is the colour between. The last rows are the sum of the bytes and the
means of the rest, and how often Burin's file is the smaller one."""
import argparse
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter
from skimage.metrics import structural_similarity

SKIMAGE = pathlib.Path("/usr/lib/python3/dist-packages/skimage/data")
MATE = pathlib.Path("/usr/share/backgrounds/mate")
ICONS = pathlib.Path("/usr/share/icons/Adwaita/512x512")
PICTURES = {"astronaut": SKIMAGE / "astronaut.png", "chelsea": SKIMAGE / "chelsea.png", "coffee": SKIMAGE / "coffee.png",
            "FreshFlower": MATE / "nature/FreshFlower.jpg", "12 MP": MATE / "nature/TwoWings.jpg", "Waves": MATE / "abstract/Waves.png",
            "Arc-Colors": MATE / "abstract/Arc-Colors-Transparent-Wallpaper.png", "headset": ICONS / "devices/audio-headset.png",
            "document": ICONS / "mimetypes/x-office-document.png", "image": ICONS / "mimetypes/image-x-generic.png"}
TWELVE = (4032, 3024)
QUANT = ["/usr/bin/pngquant", "--force", "--output"]


def processor_ms(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def multiplied(path):
    image = Image.open(path)
    if image.size == TWELVE:
        image = image.crop((1400, 1000, 2680, 1960))
    array = np.asarray(image.convert("RGBA")).astype(np.float32)
    array[..., :3] *= array[..., 3:] / 255
    return array


def psnr(a, b):
    error = np.mean((a - b) ** 2, dtype=np.float64)
    return 10 * np.log10(255 ** 2 / error) if error else 99.0


def judged(wanted, path):
    got = multiplied(path)
    channels = 4 if wanted[..., 3].min() < 255 else 3
    a, b = wanted[..., :channels], got[..., :channels]
    seen = psnr(*(gaussian_filter(x, (2, 2, 0)) for x in (a, b)))
    return psnr(a, b), structural_similarity(a, b, channel_axis=2, data_range=255), seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("burin")
    parser.add_argument("--compression", default="1")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    burin = [os.path.abspath(options.burin), "run", "--device", "cpu", "--compression", options.compression, "--palette", "true"]
    version = subprocess.run(["/usr/bin/pngquant", "--version"], capture_output=True, text=True, check=True).stdout.split()[0]
    cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    print(f"{cpu}; pngquant {version}; bytes, PSNR, SSIM, seen, ms\n")
    ways = {"pngquant": lambda source, out: QUANT + [out, source], "pngquant --nofs": lambda source, out: QUANT + [out, "--nofs", source],
            "burin": lambda source, out: burin + [source, out], "burin dither": lambda source, out: burin + ["--dither", "true", source, out]}
    print("| picture |", " | ".join(ways), "|\n|---|" + "---|" * len(ways))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in PICTURES.items():
            picture = Image.open(path)
            picture = picture.convert("RGBA" if picture.mode in ("RGBA", "LA") else "RGB")
            if name == "12 MP":
                picture = picture.resize(TWELVE, Image.LANCZOS)
            source, out = f"{folder}/in.png", f"{folder}/out.png"
            picture.save(source, compress_level=1, icc_profile=None)
            wanted, row = multiplied(source), []
            for way in ways.values():
                ms = min(processor_ms(way(source, out)) for _ in range(options.repeat))
                row.append((os.path.getsize(out), *judged(wanted, out), ms))
            rows.append(row)
            print(f"| {name} {picture.width}x{picture.height} |", " | ".join("{:,}, {:.2f}, {:.4f}, {:.2f}, {:.0f}".format(*cell) for cell in row), "|", flush=True)
    table = np.array(rows)
    total = [(cells[:, 0].sum(), *cells[:, 1:].mean(axis=0)) for cells in table.transpose(1, 0, 2)]
    print("| all |", " | ".join("{:,.0f}, {:.2f}, {:.4f}, {:.2f}, {:.0f}".format(*cell) for cell in total), "|")
    for way, cells in list(zip(ways, table.transpose(1, 0, 2)))[2:]:
        ratio = cells[:, 0] / table[:, 0, 0]
        print(f"\n{way}: {total[list(ways).index(way)][0] / total[0][0]:.3f} of pngquant's bytes in all, {ratio.min():.3f} to {ratio.max():.3f} each, "
              f"{(ratio <= 1).sum()} of {len(rows)} no larger; PSNR {np.min(cells[:, 1] - table[:, 0, 1]):+.2f} to {np.max(cells[:, 1] - table[:, 0, 1]):+.2f} dB")


if __name__ == "__main__":
    sys.exit(main())
