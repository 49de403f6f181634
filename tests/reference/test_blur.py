# SPDX-License-Identifier: Apache-2.0
"""blur against OpenCV's GaussianBlur where that is installed, and against numpy where alpha weighs colours, which OpenCV
cannot: weights of every sigma in steps of 0.01, pictures at many. Alone:
make reference PYTEST=tests/reference/test_blur.py"""
import ctypes

import numpy as np
import pytest

from service import burin, library, photograph, service  # noqa: F401

try:
    import cv2
except ImportError:
    cv2 = None

needs_cv2 = pytest.mark.skipif(cv2 is None, reason="OpenCV is not installed")
SHAPES = [(1, 1), (1, 17), (19, 1), (2, 2), (42, 13), (66, 123), (3, 4097), (513, 3)]
SIGMAS = ["0.3", "0.5", "0.795", "0.8", "1", "1.5", "2.25", "3", "5.5", "10", "31.4", "64"]


class Gaussian(ctypes.Structure):
    _fields_ = [("depth", ctypes.c_uint32), ("reach", ctypes.c_uint32), ("weight", ctypes.c_uint16 * 257)]


@pytest.fixture
def make(library):  # noqa: F811
    """Makes the weights for thousandths of sigma and a depth."""
    function = library.gaussian_make
    function.argtypes = [ctypes.POINTER(Gaussian), ctypes.c_long, ctypes.c_uint]

    def weights(sigma, depth):
        gaussian = Gaussian()
        function(ctypes.byref(gaussian), sigma, depth)
        return np.array(gaussian.weight, np.int64)
    return weights


def gaussian_blur(image, sigma):
    return cv2.GaussianBlur(image, (0, 0), float(sigma), borderType=cv2.BORDER_REFLECT_101)


@needs_cv2
@pytest.mark.parametrize("depth", [8, 16])
def test_weights(make, depth):
    """Weights are read from a white sample in a row of black ones, which keeps 1 - 1/M of a weight. Sigmas alternate between the
    depths: both have one rule, which differs in M."""
    row = np.zeros((1, 601), np.uint8 if depth == 8 else np.uint16)
    row[0, 300] = white = 2**depth - 1
    for sigma in range(300 if depth == 8 else 310, 64001, 20):
        weights = make(sigma, depth)
        assert weights[0] + 2 * weights[1:].sum() == white + 1
        expected = (weights * white + (white + 1) // 2) >> depth
        got = gaussian_blur(row, sigma / 1000)[0, 300:557]
        assert np.array_equal(got, expected), sigma


# ---- pictures


def to_png(image):
    """PNG where PNM cannot have alpha."""
    ok, data = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 0])
    assert ok
    return data.tobytes()


def run(image, step):
    """The order of channels does not matter: all are treated alike."""
    return cv2.imdecode(np.frombuffer(burin(to_png(image), step, type="png", compression=0), np.uint8), cv2.IMREAD_UNCHANGED)


def picture(shape, depth, channels, kind="noise"):
    rng = np.random.default_rng(shape[0] * 7919 + shape[1] + depth + channels)
    size = shape if channels == 1 else (*shape, channels)
    maximum = 2**depth - 1
    if kind == "noise":
        values = rng.integers(0, maximum + 1, size)
    else:  # black and white: the largest sums
        values = rng.integers(0, 2, size) * maximum
    return values.astype(np.uint8 if depth == 8 else np.uint16)


@needs_cv2
@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("depth", [8, 16])
def test_small(depth, sigma):
    for i, shape in enumerate(SHAPES):  # each shape in one and in three channels, of both kinds over all sigmas
        for channels in (1, 3):
            image = picture(shape, depth, channels, ("noise", "ends")[(i + channels // 2 + SIGMAS.index(sigma)) % 2])
            np.testing.assert_array_equal(run(image, f"blur:sigma={sigma}"), gaussian_blur(image, sigma))


@needs_cv2
@pytest.mark.parametrize("depth", [8, 16])
def test_many_sigmas(depth):
    image = picture((23, 61), depth, 3)
    for sigma in range(300, 64001, 830 if depth == 8 else 1190):
        np.testing.assert_array_equal(run(image, f"blur:sigma={sigma / 1000}"), gaussian_blur(image, sigma / 1000))


@needs_cv2
@pytest.mark.parametrize("depth,channels,sigma", [(8, 1, "3"), (8, 1, "64"), (8, 3, "1"), (8, 3, "10.5"), (16, 3, "1"), (16, 3, "10.5")])
def test_large(depth, channels, sigma):
    image = picture((719, 1283), depth, channels)
    np.testing.assert_array_equal(run(image, f"blur:sigma={sigma}"), gaussian_blur(image, sigma))


@needs_cv2
@pytest.mark.parametrize("name", ["rocket", "coffee", "camera"])
def test_photograph(name):
    image = photograph(name)
    for sigma in ("0.7", "2", "12"):
        np.testing.assert_array_equal(run(image, f"blur:sigma={sigma}"), gaussian_blur(image, sigma))


# ---- alpha


def weigh(image):
    """Pillow's RGBa: c a + 128 = t, (t + (t >> 8)) >> 8; for 16 bits (c a + 32767) / 65535."""
    wide = image.astype(np.int64)
    product = wide[..., :-1] * wide[..., -1:]
    if image.dtype == np.uint8:
        product += 128
        product = (product + (product >> 8)) >> 8
    else:
        product = (product + 32767) // 65535
    return np.concatenate([product, wide[..., -1:]], -1).astype(image.dtype)


def take_back(image):
    maximum = np.iinfo(image.dtype).max
    wide = image.astype(np.int64)
    colours, alpha = wide[..., :-1], wide[..., -1:]
    divided = np.minimum(maximum, maximum * colours // np.maximum(alpha, 1))
    colours = np.where((alpha == 0) | (alpha == maximum), colours, divided)
    return np.concatenate([colours, alpha], -1).astype(image.dtype)


@needs_cv2
@pytest.mark.parametrize("sigma", ["0.3", "1", "4.5", "20"])
@pytest.mark.parametrize("depth", [8, 16])
def test_alpha(depth, sigma):
    for shape in SHAPES + [(300, 401)]:
        image = picture(shape, depth, 4)
        image[..., 3] = np.where(image[..., 0] % 4 == 0, 0, np.where(image[..., 0] % 4 == 1, np.iinfo(image.dtype).max, image[..., 3]))
        np.testing.assert_array_equal(run(image, f"blur:sigma={sigma}"), take_back(gaussian_blur(weigh(image), sigma)))


@needs_cv2
def test_opaque_alpha_changes_nothing():
    image = picture((66, 123), 8, 4)
    image[..., 3] = 255
    np.testing.assert_array_equal(run(image, "blur:sigma=2"), gaussian_blur(image, 2))
