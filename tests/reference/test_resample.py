# SPDX-License-Identifier: Apache-2.0
"""Both passes of resampling against Pillow, byte for byte, and 16 bit and alpha against numpy; weights against numpy.
covers: pipeline/rows/resample.c, pipeline/rows/resample_weights.c, pipeline/rows/resample_alpha.h
covers: pipeline/rows/resample_alpha_plain.c, pipeline/rows/resample_alpha_avx2.c, pipeline/rows/resample_alpha_vnni.c
Alone: make reference PYTEST=tests/reference/test_resample.py"""
import ctypes
import pathlib
import random
import sys

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import resample  # noqa: E402
from service import library  # noqa: E402, F401

FILTERS = {"lanczos3": Image.Resampling.LANCZOS, "cubic": Image.Resampling.BICUBIC, "linear": Image.Resampling.BILINEAR,
           "box": Image.Resampling.BOX}
# (width, height) of source and target.
SIZES = [((1, 1), (1, 1)), ((1, 1), (7, 5)), ((1, 29), (1, 4)), ((31, 1), (9, 1)), ((13, 42), (42, 13)), ((123, 66), (40, 66)),
         ((123, 66), (123, 20)), ((4097, 3), (320, 7)), ((333, 777), (332, 776)), ((1920, 1080), (320, 180)),
         ((640, 480), (1000, 700)), ((50, 40), (51, 41)), ((257, 129), (1, 1)), ((640, 427), (224, 224))]
WAYS = {"plain": 0, "AVX2": 1, "best": 2}


class Shape(ctypes.Structure):
    _fields_ = [("pixels", ctypes.c_void_p), ("stride", ctypes.c_size_t), ("width", ctypes.c_uint32), ("height", ctypes.c_uint32),
                ("channels", ctypes.c_uint8), ("depth", ctypes.c_uint8)]


class Axis(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("source", "target", "first", "count")] + [("kernel", ctypes.c_int)]


class Job(ctypes.Structure):
    _fields_ = [("input", Shape), ("output", Shape), ("x", Axis), ("y", Axis), ("depth", ctypes.c_uint),
                ("prepare", ctypes.c_void_p), ("alpha", ctypes.c_bool),
                *((name, ctypes.c_void_p) for name in ("finish", "argument", "pool", "progress", "scratch"))]


def shape(array):
    return Shape(array.ctypes.data, array.strides[0], array.shape[1], array.shape[0], array.shape[2], 8 * array.itemsize)


def resized(library, image, size, kernel, window=None, way="best", alpha=False):
    """WINDOW is the wanted part of the result: left, top, width, height."""
    left, top, width, height = window or (0, 0, *size)
    image = np.ascontiguousarray(image)
    out = np.full((height, width, image.shape[2]), 77, image.dtype)
    number = resample.KERNELS.index(kernel)
    job = Job(shape(image), shape(out), Axis(image.shape[1], size[0], left, width, number), Axis(image.shape[0], size[1], top, height, number),
              8 * image.itemsize, None, alpha)
    library.resample_bytes.restype = ctypes.c_size_t
    scratch = np.full(library.resample_bytes(ctypes.byref(job)) + 64, 0xa5, np.uint8)
    job.scratch = (scratch.ctypes.data + 63) // 64 * 64
    library.simd_limit(WAYS[way])
    assert library.resample_run(ctypes.byref(job)) == 0
    return out


def picture(size, channels, kind, dtype=np.uint8):
    rng = np.random.default_rng(size[0] * 7919 + size[1] + channels)
    top = np.iinfo(dtype).max
    if kind == "noise":
        return rng.integers(0, top + 1, (size[1], size[0], channels)).astype(dtype)
    if kind == "extremes":  # the largest overshoot
        return rng.integers(0, 2, (size[1], size[0], channels), dtype) * dtype(top)
    y, x = np.mgrid[:size[1], :size[0]]
    wave = 0.5 + 0.3 * np.sin(x / 9) + 0.2 * np.cos(y / 7)
    return np.clip(np.repeat(wave[..., None] * top, channels, 2), 0, top).astype(dtype)


def by_pillow(image, size, kernel):
    planes = [np.asarray(Image.fromarray(image[..., c]).resize(size, FILTERS[kernel])) for c in range(image.shape[2])]
    return np.stack(planes, 2)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_pillow(library, sizes):  # noqa: F811
    source, target = sizes
    kinds = [(kind, channels) for kind in ("noise", "waves", "extremes") for channels in (1, 3)]
    large = source[0] * source[1] > 500000
    for i, (kind, channels) in enumerate(kinds):
        image = picture(source, channels, kind)
        for kernel in [list(FILTERS)[(i + i // 4) % 4]] if large else FILTERS:
            wanted = by_pillow(image, target, kernel)
            for way in WAYS:
                assert np.array_equal(resized(library, image, target, kernel, way=way), wanted), (kind, channels, kernel, way)


@pytest.mark.parametrize("kernel", FILTERS)
def test_pillow_random_sizes(library, kernel):  # noqa: F811
    random.seed(kernel)
    for _ in range(250):
        source, target = ([random.randint(1, random.choice([3, 20, 90, 300])) for _ in range(2)] for _ in range(2))
        image = picture(source, random.randint(1, 4), random.choice(["noise", "extremes"]))
        way = random.choice(list(WAYS))
        assert np.array_equal(resized(library, image, target, kernel, way=way), by_pillow(image, target, kernel)), (source, target, way)


@pytest.mark.parametrize("kernel", FILTERS)
def test_16_bit(library, kernel):  # noqa: F811
    random.seed(kernel)
    for i in range(60):
        source, target = ([random.randint(1, random.choice([3, 20, 120])) for _ in range(2)] for _ in range(2))
        image = picture(source, i % 4 + 1, ["noise", "extremes", "waves"][i % 3], np.uint16)
        expected = resample.resized(image, *target, kernel)
        for way in WAYS:
            assert np.array_equal(resized(library, image, target, kernel, way=way), expected), (source, target, way)


def test_16_bit_is_near_pillow():
    """The definition itself is close to Pillow's 32-bit integers, which are summed in double."""
    image = picture((200, 150), 1, "noise", np.uint16)
    pillow = np.asarray(Image.fromarray(image[..., 0].astype(np.int32)).resize((61, 47), Image.Resampling.LANCZOS))
    assert abs(resample.resized(image, 61, 47, "lanczos3")[..., 0].astype(int) - np.clip(pillow, 0, 65535)).max() <= 2


def test_parts(library):  # noqa: F811
    """A part of the result equals that part of the whole."""
    random.seed(5)
    for _ in range(120):
        source, target = ([random.randint(1, 90) for _ in range(2)] for _ in range(2))
        if random.random() < 0.3:
            target[random.randint(0, 1)] = source[0]
        left, top = (random.randrange(side) for side in target)
        width, height = random.randint(1, target[0] - left), random.randint(1, target[1] - top)
        image = picture(source, random.randint(1, 4), "noise", random.choice([np.uint8, np.uint16]))
        alpha = image.shape[2] % 2 == 0 and random.random() < 0.8
        whole = resized(library, image, target, "lanczos3", way="plain", alpha=alpha)
        part = resized(library, image, target, "lanczos3", (left, top, width, height), random.choice(list(WAYS)), alpha)
        assert np.array_equal(part, whole[top:top + height, left:left + width])


# ---- alpha

def with_alpha(rng, size, channels, dtype, turn):
    """A picture of noise or extremes; alpha of all levels, of the two ends, of both, next to nothing, or a clear edge."""
    top = int(np.iinfo(dtype).max)
    image = picture(size, channels, ("noise", "extremes")[turn % 2], dtype)
    wide, few, ends = (rng.integers(low, high, size[::-1]) for low, high in ((-top // 2, top + top // 2), (0, 4), (0, 2)))
    edge = np.zeros(size[::-1], int)
    edge[size[1] // 3:, size[0] // 4:] = top
    image[..., -1] = [rng.integers(0, top + 1, size[::-1]), ends * top, np.clip(wide, 0, top), few, edge][turn % 5]
    return image


def alpha_cases(count, seed):
    random.seed(seed)
    rng = np.random.default_rng(seed)
    for turn in range(count):
        source, target = ([random.randint(1, random.choice([3, 20, 90, 200])) for _ in range(2)] for _ in range(2))
        if turn % 7 == 0:
            target[turn % 2] = source[turn % 2]
        if turn % 31 == 0:  # windows of more cells than are summed without a carry
            source, target = [20000, 3], [random.randint(1, 5), 2]
        dtype, kernel = random.choice([np.uint8, np.uint16]), random.choice(list(FILTERS))
        yield with_alpha(rng, source, random.choice([2, 4]), dtype, turn), target, kernel


def test_alpha(library):  # noqa: F811
    """Every way is the definition byte for byte; that is at most one level from reals, where both see alpha."""
    for image, target, kernel in alpha_cases(120, 3):
        expected, real = resample.weighed(image, *target, kernel), resample.divided(image, *target, kernel)
        seen = (expected[..., -1] > 0) & (real[..., -1] > 0)
        assert abs(expected[..., -1] - real[..., -1]).max() <= 1
        assert not seen.any() or abs(expected[seen].astype(int) - real[seen]).max() <= 1, (image.shape, target, kernel)
        for way in WAYS:
            made = resized(library, image, target, kernel, way=way, alpha=True)
            assert np.array_equal(made, expected), (image.shape, image.dtype, target, kernel, way)


def test_one_colour_stays(library):  # noqa: F811
    for image, target, kernel in alpha_cases(250, 4):
        colour = [random.choice([0, 1, random.randint(0, 255), 255]) * (np.iinfo(image.dtype).max // 255) for _ in range(image.shape[2] - 1)]
        image[..., :-1] = colour
        made = resized(library, image, target, kernel, way=random.choice(list(WAYS)), alpha=True)
        clear = made[..., -1] == 0
        assert (made[~clear][:, :-1] == colour).all() and not made[clear].any(), (image.shape, image.dtype, target, kernel, colour)


def test_hidden_colours_move_nothing(library):  # noqa: F811
    for turn, (image, target, kernel) in enumerate(alpha_cases(60, 5)):
        clear, made = image[..., -1] == 0, []
        for filling in (0, np.iinfo(image.dtype).max, np.iinfo(image.dtype).max // 3):
            image[clear, :-1] = filling
            made.append(resized(library, image, target, kernel, way=list(WAYS)[turn % 3], alpha=True))
        assert np.array_equal(made[0], made[1]) and np.array_equal(made[0], made[2]), (image.shape, target, kernel)
