# SPDX-License-Identifier: Apache-2.0
"""edge, brightness, threshold, median and convolve against numpy written from their definitions, and against OpenCV and scikit-image
where they are installed. Alone: BURIN=build/burin /usr/bin/python3 -m pytest tests/reference/test_edge.py"""
import re

import numpy as np
import pytest

from service import burin, service  # noqa: F401

try:
    import cv2
except ImportError:
    cv2 = None

SHAPES = [(1, 1), (1, 29), (31, 1), (42, 13), (66, 123), (3, 4097), (240, 320)]


def to_pnm(image):
    kind = b"P5" if image.ndim == 2 else b"P6"
    maximum = np.iinfo(image.dtype).max
    header = kind + b"\n%d %d\n%d\n" % (image.shape[1], image.shape[0], maximum)
    return header + image.astype(">u2" if maximum > 255 else "u1").tobytes()


def from_pnm(data):
    match = re.match(rb"(P[56])\s+(\d+)\s+(\d+)\s+(\d+)\s", data)
    kind, width, height, maximum = match[1], int(match[2]), int(match[3]), int(match[4])
    samples = np.frombuffer(data[match.end():], ">u2" if maximum > 255 else "u1")
    shape = (height, width) if kind == b"P5" else (height, width, 3)
    return samples.reshape(shape).astype(np.int64)


def run(image, step):
    return from_pnm(burin(to_pnm(image), step, type="pnm"))


def picture(shape, depth, channels, kind="noise"):
    rng = np.random.default_rng(shape[0] * 7919 + shape[1] + depth + channels)
    size = shape if channels == 1 else (*shape, channels)
    maximum = 2**depth - 1
    if kind == "noise":
        values = rng.integers(0, maximum + 1, size)
    else:  # slow waves with a little noise: every small magnitude
        y, x = np.mgrid[:shape[0], :shape[1]]
        wave = 0.5 + 0.3 * np.sin(x / 9) + 0.2 * np.cos(y / 7)
        values = (wave if channels == 1 else wave[..., None]) * maximum + rng.integers(0, 3, size)
    return np.clip(values, 0, maximum).astype(np.uint8 if depth == 8 else np.uint16)


PICTURES = [picture(shape, depth, channels, kind) for shape in SHAPES for depth in (8, 16) for channels in (1, 3)
            for kind in ("noise", "waves")]


def name(image):
    return "x".join(map(str, image.shape)) + f"-{image.dtype}-{int(image.ravel()[0])}"


# ---- definitions


def correlate(values, kernel):
    """Window centred, not mirrored, border replicated; integers."""
    kernel = np.asarray(kernel, np.int64)
    reach = kernel.shape[0] // 2
    padded = np.pad(values.astype(np.int64), [(reach, reach)] * 2 + [(0, 0)] * (values.ndim - 2), "edge")
    height, width = values.shape[:2]
    return sum(kernel[i, j] * padded[i:i + height, j:j + width]
               for i in range(kernel.shape[0]) for j in range(kernel.shape[1]))


def integer_root(n):
    root = np.sqrt(n.astype(np.float64)).astype(np.int64)
    root -= root * root > n
    return root + ((root + 1) ** 2 <= n)


def level(image, brightness=0):
    maximum = np.iinfo(image.dtype).max
    gray = image.astype(np.int64)
    if image.ndim == 3:
        gray = (77 * gray[..., 0] + 150 * gray[..., 1] + 29 * gray[..., 2] + 128) >> 8
    return np.clip(gray + brightness * (maximum // 255), 0, maximum)


def edge(image, gradients, brightness=0, threshold=0, binary=False, zero=0):
    maximum = np.iinfo(image.dtype).max
    gx, gy = gradients(level(image, brightness))
    m = np.minimum(integer_root(gx * gx + gy * gy), maximum)
    out = np.where(m > threshold * (maximum // 255), maximum if binary else m, 0)
    if zero:
        inside = np.zeros(out.shape, bool)
        inside[zero:-zero, zero:-zero] = True
        out = np.where(inside, out, 0)
    return out


def median(image, size):
    filters = pytest.importorskip("scipy.ndimage")
    return filters.median_filter(image, (size, size) + (1,) * (image.ndim - 2), mode="nearest")


ALONG = {3: [-1, 0, 1], 5: [-1, -2, 0, 2, 1]}
ACROSS = {3: [1, 2, 1], 5: [1, 4, 6, 4, 1]}


def by_numpy(taps):
    kernel = np.outer(ACROSS[taps], ALONG[taps])
    return lambda levels: (correlate(levels, kernel), correlate(levels, kernel.T))


def by_opencv(taps):
    def gradients(levels):
        source = levels.astype(np.float64)
        return tuple(np.rint(cv2.Sobel(source, cv2.CV_64F, dx, 1 - dx, ksize=taps, borderType=cv2.BORDER_REPLICATE))
                     .astype(np.int64) for dx in (1, 0))
    return gradients


def by_skimage(levels):
    """scikit-image's weights are Burin's over 4, its differences have the opposite sign; the squares are the same."""
    filters = pytest.importorskip("skimage.filters")  # imported here, only where this runs: it takes seconds
    return tuple(np.rint(4 * filters.sobel(levels.astype(np.float64), axis=axis, mode="nearest")).astype(np.int64)
                 for axis in (1, 0))


EDGES = [("edge", 3, {}),
         ("edge:kernel=sobel5", 5, {}),
         ("edge:brightness=60,threshold=90", 3, {"brightness": 60, "threshold": 90}),
         ("edge:kernel=sobel5,brightness=-50,threshold=120,binary=true,border=zero", 5,
          {"brightness": -50, "threshold": 120, "binary": True, "zero": 2}),
         ("edge:border=zero,binary=true", 3, {"zero": 1, "binary": True})]


@pytest.mark.parametrize("step,taps,values", EDGES)
@pytest.mark.parametrize("image", PICTURES, ids=name)
def test_edge(image, step, taps, values):
    got = run(image, step)
    np.testing.assert_array_equal(got, edge(image, by_numpy(taps), **values))
    if cv2:
        np.testing.assert_array_equal(got, edge(image, by_opencv(taps), **values))


@pytest.mark.parametrize("image", PICTURES, ids=name)
def test_edge_skimage(image):
    np.testing.assert_array_equal(run(image, "edge"), edge(image, by_skimage))


@pytest.mark.parametrize("shift", [-255, -40, 0, 33, 255])
@pytest.mark.parametrize("image", PICTURES[-8:], ids=name)
def test_brightness(image, shift):
    maximum = np.iinfo(image.dtype).max
    expected = np.clip(image.astype(np.int64) + shift * (maximum // 255), 0, maximum)
    np.testing.assert_array_equal(run(image, f"brightness:shift={shift}"), expected)


@pytest.mark.parametrize("cut", [0, 100, 128, 255])
@pytest.mark.parametrize("image", PICTURES[-8:], ids=name)
def test_threshold(image, cut):
    maximum = np.iinfo(image.dtype).max
    got = run(image, f"threshold:level={cut}")
    np.testing.assert_array_equal(got, np.where(image > cut * (maximum // 255), maximum, 0))
    if cv2:
        _, theirs = cv2.threshold(image, cut * (maximum // 255), maximum, cv2.THRESH_BINARY)
        np.testing.assert_array_equal(got, theirs)


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("image", PICTURES[::3], ids=name)
def test_median(image, size):
    got = run(image, f"median:size={size}")
    np.testing.assert_array_equal(got, median(image, size))
    if cv2 and min(image.shape[:2]) > 1:
        np.testing.assert_array_equal(got, cv2.medianBlur(image, size))


KERNELS = [([1, 2, 1, 2, 4, 2, 1, 2, 1], {}),
           ([-1, 0, 1, -2, 0, 2, -1, 0, 1], {"divisor": 3, "offset": 90}),
           ([0, -1, 0, -1, 5, -1, 0, -1, 0], {}),
           (list(range(-12, 13)), {"divisor": 17, "abs": True})]


@pytest.mark.parametrize("taps,values", KERNELS)
@pytest.mark.parametrize("image", PICTURES[::3], ids=name)
def test_convolve(image, taps, values):
    side = 3 if len(taps) == 9 else 5
    maximum = np.iinfo(image.dtype).max
    kernel = np.reshape(taps, (side, side))
    divisor = values.get("divisor") or max(sum(taps), 0) or 1

    def finish(r):
        r = np.abs(r) if values.get("abs") else r
        return np.clip((2 * r + divisor) // (2 * divisor) + values.get("offset", 0) * (maximum // 255), 0, maximum)

    text = "".join(f",{key}={str(value).lower()}" for key, value in values.items())
    got = run(image, "convolve:taps=" + " ".join(map(str, taps)) + text)
    np.testing.assert_array_equal(got, finish(correlate(image, kernel)))
    if cv2:
        theirs = cv2.filter2D(image.astype(np.float64), cv2.CV_64F, kernel.astype(np.float64),
                              borderType=cv2.BORDER_REPLICATE)
        np.testing.assert_array_equal(got, finish(np.rint(theirs).astype(np.int64)))
