# SPDX-License-Identifier: Apache-2.0
"""Resampling in numpy, written from its definition alone: windows and integer weights of an axis, and both passes.

Images are (height, width, channels) arrays of uint8 or uint16. To print the digests that tests/pipeline/rows/resample_weights.c
compares with: /usr/bin/python3 tests/reference/resample.py"""
import functools

import numpy as np
from PIL import Image

KERNELS = ("lanczos3", "cubic", "linear", "box")
REACH = {"lanczos3": 3.0, "cubic": 2.0, "linear": 1.0, "box": 0.5}
PILLOW = {"lanczos3": "LANCZOS", "cubic": "BICUBIC", "linear": "BILINEAR", "box": "BOX"}
ONE = 1 << 22


def weigh(kernel, x):
    """The kernel at every x, in double."""
    away = np.abs(x)
    if kernel == "box":
        return ((x > -0.5) & (x <= 0.5)).astype(float)
    if kernel == "linear":
        return np.where(away < 1, 1 - away, 0.0)
    if kernel == "cubic":
        a = -0.5
        near = ((a + 2) * away - (a + 3)) * away * away + 1
        return np.where(away < 1, near, np.where(away < 2, (((away - 5) * away + 8) * away - 4) * a, 0.0))
    return np.where((x >= -3) & (x < 3), np.sinc(x) * np.sinc(x / 3), 0.0)


@functools.lru_cache(64)
def windows(source, target, kernel):
    """First pixel and weights of each target pixel, as integers in units of 2^-22."""
    made = []
    scale = source / target
    stretch = max(1.0, scale)
    reach = REACH[kernel] * stretch
    for i in range(target):
        centre = (i + 0.5) * scale
        first = max(0, int(centre - reach + 0.5))
        end = min(source, int(centre + reach + 0.5))
        real = weigh(kernel, (np.arange(first, end) - centre + 0.5) * (1 / stretch))
        real /= np.cumsum(real)[-1]  # summed from left to right
        made.append((first, np.trunc(real * ONE + np.copysign(0.5, real)).astype(np.int64)))
    return made


def along(image, target, kernel, axis):
    """One pass: rounded half up, clamped, with the image's own depth. Its sums are below 2^53, which double holds exactly."""
    if image.shape[axis] == target:
        return image
    samples = np.moveaxis(image, axis, 0).astype(float)
    rows = [np.tensordot(q.astype(float), samples[first:first + len(q)], 1) for first, q in windows(image.shape[axis], target, kernel)]
    result = np.clip((np.array(rows).astype(np.int64) + ONE // 2) >> 22, 0, np.iinfo(image.dtype).max).astype(image.dtype)
    return np.moveaxis(result, 0, axis)


def resized(image, width, height, kernel):
    return along(along(image, width, kernel, 1), height, kernel, 0)


# ---- with alpha

def sums(counts, target, kernel, axis):
    """Whole sums of weight * count along an axis. Double holds those of small counts exactly, and is multiplied faster."""
    if counts.shape[axis] == target:
        return counts * ONE
    if counts.dtype == np.int64 and abs(counts).max() < 1 << 30:
        return sums(counts.astype(float), target, kernel, axis).astype(np.int64)
    samples = np.moveaxis(counts, axis, 0)
    rows = [np.tensordot(q.astype(samples.dtype), samples[first:first + len(q)], 1) for first, q in windows(counts.shape[axis], target, kernel)]
    return np.moveaxis(np.array(rows), 0, axis)


def weighed(image, width, height, kernel):
    """Pixels whose last channel is alpha, as pipeline/rows/resample_alpha.h defines them."""
    top, half = np.iinfo(image.dtype).max, (np.iinfo(image.dtype).max + 1) // 2
    colours, alpha = np.split(image.astype(np.int64), [-1], 2)
    counts = np.concatenate([(colours - half) * alpha, half * alpha], 2)
    across = (sums(counts, width, kernel, 1) + (1 << 17)) >> 18
    c, a = np.split((sums(across, height, kernel, 0) + ONE // 2) >> 22, [-1], 2)
    alpha = np.clip((a + 8 * half) // (16 * half), 0, top)
    colours = np.clip((2 * half * c + (2 * half + 1) * a) // np.maximum(2 * a, 1), 0, top)
    return np.concatenate([np.where(alpha > 0, colours, 0), alpha], 2).astype(image.dtype)


def divided(image, width, height, kernel):
    """The same in reals: colours times alpha, both passes with the same weights, the quotient, and only then rounded and clamped."""
    top = float(np.iinfo(image.dtype).max)
    colours, alpha = np.split(image.astype(float), [-1], 2)
    total = np.concatenate([colours * alpha, alpha], 2)
    for axis, target in ((1, width), (0, height)):
        total = sums(total, target, kernel, axis) / ONE
    c, a = np.split(total, [-1], 2)
    alpha = np.floor(np.clip(a, 0, top) + 0.5)
    with np.errstate(all="ignore"):
        colours = np.clip(np.floor(c / a + 0.5), 0, top)
    return np.concatenate([np.where(alpha > 0, colours, 0), alpha], 2).astype(int)


def scaled(image, size, kernel):
    """A Pillow image of 8 bits: as Pillow scales it, but for alpha."""
    if image.mode not in ("LA", "RGBA"):
        return image.resize(size, getattr(Image.Resampling, PILLOW[kernel]))
    return image.copy() if image.size == size else Image.fromarray(weighed(np.asarray(image), *size, kernel), image.mode)


# ---- digests of many tables

def noise(state):
    while True:
        state = (state * 1664525 + 1013904223) & 0xffffffff
        yield state >> 16


def pairs(count):
    """Source and target sizes of all magnitudes up to 2^13."""
    numbers = noise(1)
    side = lambda: 1 + next(numbers) % (1 << (2 + next(numbers) % 12))
    return [(side(), side()) for _ in range(count)]


def mixed(words, start):
    """A sum over all words that depends on each word and its place in the row."""
    golden, odd = np.uint64(0x9e3779b97f4a7c15), np.uint64(0xbf58476d1ce4e5b9)
    value = (words.astype(np.uint32).astype(np.uint64) + (np.arange(len(words), dtype=np.uint64) + np.uint64(start)) * golden) * odd
    return int((value ^ (value >> np.uint64(29))).sum())


def digest(kernel, sizes):
    """A digest of every window's first pixel, length and weights, one after the other."""
    total = place = 0
    for source, target in sizes:
        words = np.concatenate([np.concatenate([[first, len(q)], q]) for first, q in windows(source, target, kernel)])
        total += mixed(words, place)
        place += len(words)
    return total % 2**64


if __name__ == "__main__":
    for name in KERNELS:
        print(f"{name:8} 0x{digest(name, pairs(2000)):016x}")
