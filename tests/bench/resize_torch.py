#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resize_torch.py [--batch N] - scaling RGB on a GPU by PyTorch: torch.nn.functional.interpolate with antialias=True, which has no
Lanczos; bicubic reads two thirds of the pixels that Lanczos reads. 8-bit pixels in and out, so a conversion each way, and float32
pixels alone, which no decoder yields. Beside kernels/resize, which times the operator. CV-CUDA's HQResize, the fair rival,
is in no package of Debian's.

Needs torch with CUDA. Prints us between two events, the median of 50, alone and for each picture of a batch."""
import argparse
import statistics

import torch
from torch.nn.functional import interpolate

CASES = [((2160, 3840), (180, 320)), ((1080, 1920), (180, 320)), ((1080, 1920), (540, 960)), ((3000, 4000), (768, 1024)),
         ((8192, 8192), (1024, 1024))]


def median_us(work):
    for _ in range(5):
        work()
    times = []
    for _ in range(50):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times)


def scale(pixels, size):
    return interpolate(pixels, size=size, mode="bicubic", antialias=True, align_corners=False)


def bytes_scaled(pixels, size):
    return scale(pixels.float(), size).round_().clamp_(0, 255).to(torch.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for size, to in CASES:
        row = []
        for count in (1, options.batch if size[0] < 8192 else 1):
            pixels = torch.randint(0, 256, (count, 3, *size), dtype=torch.uint8, device="cuda")
            wide = pixels.float()
            row += [median_us(lambda: bytes_scaled(pixels, to)) / count, median_us(lambda: scale(wide, to)) / count]
            del pixels, wide
        print(f"{size[1]}x{size[0]} to {to[1]}x{to[0]}: bytes {row[0]:.1f}, float {row[1]:.1f}; in batches {row[2]:.1f}, {row[3]:.1f} us", flush=True)


if __name__ == "__main__":
    main()
