# SPDX-License-Identifier: Apache-2.0
"""negate, contrast, levels, normalize, matrix, sepia, saturation, hue and tint against Pillow, OpenCV and scikit-image. Alone:
BURIN=build/burin /usr/bin/python3 -m pytest tests/reference/test_colour.py"""
import cv2
import numpy as np
from PIL import Image, ImageEnhance, ImageOps
import pytest
from skimage import color, exposure

from service import photograph, service  # noqa: F401
from test_edge import picture, run

RGB = picture((66, 123), 8, 3)
WIDE = picture((66, 123), 16, 3)
SEPIA = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])


def check(got, wanted, levels):
    """Within LEVELS of the other's result, which rounds or cuts in its own way."""
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    assert np.abs(got.astype(int) - wanted).max() <= levels


def text(matrix):
    return "matrix:matrix=" + " ".join(f"{number:g}" for number in np.ravel(matrix))


def test_negate():
    check(run(RGB, "negate"), ImageOps.invert(Image.fromarray(RGB)), 0)
    check(run(WIDE, "negate"), 65535 - WIDE, 0)


@pytest.mark.parametrize("factor", [0, 0.5, 1.337, 10])
def test_contrast(factor):
    for image, maximum in ((RGB, 255), (WIDE, 65535)):
        white = np.full_like(image, maximum)
        check(run(image, f"contrast:factor={factor}"), cv2.addWeighted(image, factor, white, (1 - factor) / 2, 0, dtype=-1), 1)


@pytest.mark.parametrize("black,white,gamma", [(0, 255, 1), (30, 200, 1), (16, 235, 2.2), (100, 101, 0.4)])
def test_levels(black, white, gamma):
    for image, scale in ((RGB, 1), (WIDE, 257)):
        part = exposure.rescale_intensity(image.astype(float), (black * scale, white * scale), (0, 1))
        wanted = np.floor(exposure.adjust_gamma(part, 1 / gamma) * 255 * scale + 0.5).astype(image.dtype)
        check(run(image, f"levels:black={black},white={white},gamma={gamma}"), wanted, 1 if scale > 1 else 0)
        green = image.copy()
        green[..., 1] = wanted[..., 1]
        check(run(image, f"levels:black={black},white={white},gamma={gamma},channel=green"), green, 1 if scale > 1 else 0)


@pytest.mark.parametrize("depth", [8, 16])
def test_normalize(depth):
    image = picture((66, 123), depth, 3, "waves") // 2 + 5
    image[..., 2] //= 2
    each = [exposure.rescale_intensity(plane.astype(float), tuple(np.percentile(plane, [2, 97], method="inverted_cdf")),
                                       (0, 2**depth - 1)) for plane in np.moveaxis(image, -1, 0)]
    check(run(image, "normalize:lower=2,upper=97,channel=each"), np.floor(np.stack(each, axis=-1) + 0.5), 0)
    if depth == 8:
        check(run(image, "normalize:lower=0,upper=100,channel=each"), ImageOps.autocontrast(Image.fromarray(image.astype(np.uint8))), 1)
    low, high = (np.percentile(run(image, "grayscale"), share, method="inverted_cdf") for share in (1, 99))
    luma = exposure.rescale_intensity(image.astype(float), (low, high), (0, 2**depth - 1))
    check(run(image, "normalize"), np.floor(luma + 0.5), 0)


@pytest.mark.parametrize("seed", range(3))
def test_matrix(seed):
    matrix = np.random.default_rng(seed).integers(-1500, 1500, (3, 4)) / 1000
    levels = matrix * [1, 1, 1, 255]  # Pillow's offsets are in levels
    check(run(RGB, text(matrix)), Image.fromarray(RGB).convert("RGB", tuple(levels.ravel())), 1)
    check(run(WIDE, text(matrix[:, :3])), cv2.transform(WIDE, matrix[:, :3]), 25)


def test_gray_is_red_green_and_blue():
    gray = RGB[..., 0]
    check(run(gray, "sepia"), run(np.stack([gray] * 3, axis=-1), "sepia"), 0)
    check(run(gray, "saturation:factor=3"), gray, 0)
    check(run(gray, "hue:degrees=77"), gray, 0)


@pytest.mark.parametrize("amount", [1, 0.3])
def test_sepia(amount):
    matrix = (1 - amount) * np.eye(3) + amount * SEPIA
    check(run(RGB, f"sepia:amount={amount}"), cv2.transform(RGB, matrix), 1)
    check(run(WIDE, f"sepia:amount={amount}"), cv2.transform(WIDE, matrix), 25)


@pytest.mark.parametrize("factor", [0, 0.4, 1.5, 3])
def test_saturation(factor):
    check(run(RGB, f"saturation:factor={factor}"), ImageEnhance.Color(Image.fromarray(RGB)).enhance(factor), 3)


@pytest.mark.parametrize("degrees", [-60, 30, 90, 180])
def test_hue(degrees):
    """In NTSC's YIQ, whose luma is ours within 1/500. Red turns towards green, against I towards Q."""
    soft = (RGB // 4 + 96).astype(np.uint8)  # nothing is clamped
    y, i, q = np.moveaxis(color.rgb2yiq(soft / 255), -1, 0)
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turned = color.yiq2rgb(np.stack([y, cos * i + sin * q, cos * q - sin * i], axis=-1))
    check(run(soft, f"hue:degrees={degrees}"), np.rint(turned * 255).astype(np.uint8), 2)


def test_tint():
    gray = run(RGB, "grayscale").astype(np.uint8)
    brown = ImageOps.colorize(Image.fromarray(gray), "black", "#a06030")
    check(run(RGB, "tint:color=a06030,amount=1"), brown, 1)
    check(run(RGB, "tint:color=a06030,amount=0.25"), Image.blend(Image.fromarray(RGB), brown, 0.25), 2)
