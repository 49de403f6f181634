# SPDX-License-Identifier: Apache-2.0
"""composite against Pillow, bit for bit, and W3C's formulas in numpy. Alone:
BURIN=build/burin /usr/bin/python3 -m pytest tests/reference/test_composite.py"""
import io

import numpy as np
import pytest
from PIL import Image

from service import burin, service  # noqa: F401

cv2 = pytest.importorskip("cv2")


def rgba(height, width, depth=8, seed=0):
    """Noise in which each alpha of 8 bits occurs, 0 and the largest often."""
    top = 2 ** depth - 1
    rng = np.random.default_rng(seed)
    image = rng.integers(0, top + 1, (height, width, 4))
    image[..., 3] = np.where(rng.integers(0, 4, (height, width)) < 3, image[..., 3], rng.integers(0, 2, (height, width)) * top)
    return image.astype(f"u{depth // 8}")


def pillow(array, mode):
    """ARRAY, RGBA, as a picture of MODE."""
    return Image.fromarray(array).convert(mode)


def file_of(picture):
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def png(array):
    return cv2.imencode(".png", array[..., [2, 1, 0, 3][:array.shape[2]]])[1].tobytes()


def composite(picture, overlay, text=""):
    """The result as an array."""
    made = cv2.imdecode(np.frombuffer(burin(picture, "composite" + text, {"overlay": overlay}, type="png"), np.uint8), cv2.IMREAD_UNCHANGED)
    return made[..., [2, 1, 0, 3][:made.shape[2]]]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "RGB", "L"])
def test_over_is_pillows(mode):
    below, above = pillow(rgba(256, 256, seed=1), mode), rgba(256, 256, seed=2)
    above[..., 3] = np.arange(256)[:, None]
    expected = np.asarray(Image.alpha_composite(below.convert("RGBA"), Image.fromarray(above)))
    assert np.array_equal(composite(file_of(below), file_of(Image.fromarray(above))), expected if mode in ("RGBA", "LA") else expected[..., :3])


def rounded(numerator, denominator):
    return (2 * numerator + denominator) // (2 * denominator)


def blends(d, s, top):
    """B(d, s) of W3C's Compositing and Blending, 1 as TOP, each quotient rounded half up."""
    def screen(a, b):
        return a + b - rounded(a * b, top)
    light = np.where(4 * d <= top, rounded(((16 * d - 12 * top) * d + 4 * top ** 2) * d, top ** 2), np.rint(np.sqrt(d * float(top))).astype(np.int64))
    return {"multiply": rounded(d * s, top), "screen": screen(d, s),
            "overlay": np.where(2 * d <= top, rounded(2 * d * s, top), screen(2 * d - top, s)),
            "soft-light": np.where(2 * s <= top, d - rounded((top - 2 * s) * d * (top - d), top ** 2), d + rounded((2 * s - top) * (light - d), top))}


def over(d, b, s, a, top):
    """Pillow's alpha_composite with TOP in place of 255."""
    bits, e = top.bit_length(), np.maximum(a * top + b * (top - a), 1)
    f = a * top * top * 128 // e
    t = s * f[..., None] + d * (128 * top - f)[..., None] + 64 * (top + 1)
    colours = ((t >> bits) + t) >> bits >> 7
    seen = a > 0
    return np.dstack([np.where(seen[..., None], colours, d), np.where(seen, rounded(e, top), b)])


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("channels", [3, 4])
def test_blends_are_w3cs(depth, channels):
    top = 2 ** depth - 1
    below, above = rgba(128, 128, depth, 3)[..., :channels], rgba(128, 128, depth, 4)
    d, s, a = below[..., :3].astype(np.int64), above[..., :3].astype(np.int64), above[..., 3].astype(np.int64)
    b = below[..., 3].astype(np.int64) if channels == 4 else np.full_like(a, top)
    for name, blended in {"over": s, **blends(d, s, top)}.items():
        mixed = rounded((top - b)[..., None] * s + b[..., None] * blended, top)
        expected = over(d, b, mixed, a, top)[..., :channels]
        assert np.array_equal(composite(png(below), png(above), f":blend={name}"), expected), name


def test_soft_light_is_near_the_real_formula():
    d, s = np.meshgrid(np.arange(256) / 255, np.arange(256) / 255)
    light = np.where(d <= 0.25, ((16 * d - 12) * d + 4) * d, np.sqrt(d))
    real = 255 * np.where(s <= 0.5, d - (1 - 2 * s) * d * (1 - d), d + (2 * s - 1) * (light - d))
    below, above = (np.rint(255 * np.dstack([v] * 3)).astype(np.uint8) for v in (d, s))
    assert np.abs(composite(png(below), png(above), ":blend=soft-light")[..., 0] - real).max() < 1.01


def test_places_tiles_opacity_scale_and_depth():
    below, above = rgba(37, 53, seed=5)[..., :3], rgba(10, 21, seed=6)
    laid = np.zeros((37, 53, 4), np.uint8)
    laid[37 - 10 - 3:37 - 3, 53 - 21 + 4:53] = above[:, :17]
    assert np.array_equal(composite(png(below), png(above), ":position=southeast,x=-4,y=3"), composite(png(below), png(laid)))
    tiles = np.roll(np.tile(above, (9, 5, 1)), (13, 16), (0, 1))[:37, :53]  # the centre's corner is at 16, 13
    assert np.array_equal(composite(png(below), png(above), ":tile=true"), composite(png(below), png(tiles)))
    faint = above.copy()
    faint[..., 3] = (above[..., 3].astype(int) * 300 + 500) // 1000
    assert np.array_equal(composite(png(below), png(above), ":opacity=0.3"), composite(png(below), png(faint)))
    half = burin(png(above), "resize:width=27,height=13,fit=fill", type="png")  # 26.5 and 12.9
    assert np.array_equal(composite(png(below), png(above), ":scale=50"), composite(png(below), half))
    deep, narrow = above.astype(np.uint16) * 257, rgba(10, 21, 16, 7)
    assert np.array_equal(composite(png(below), png(deep)), composite(png(below), png(above)))
    cut = ((narrow.astype(int) + 128) // 257).astype(np.uint8)
    assert np.array_equal(composite(png(below), png(narrow)), composite(png(below), png(cut)))
